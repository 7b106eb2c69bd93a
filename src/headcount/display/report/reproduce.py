"""How to make a page again: the command, or a few lines of Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.display.report.contents import Reproduction
from headcount.metrics import ACCURACY
from headcount.questions.forecast import Forecast
from headcount.support.words import OURS, counted, plain


def typed_command(context: Any) -> str:
    """Return the command that a Typer context was made from, files by name, defaults left out."""
    words = [*context.command_path.split(), *_words(context)]
    lines = " ".join(shlex.quote(word) for word in words).split("\n")
    return "\n".join(map(plain, lines))


def reproduce_command(context: Any, files: list[str]) -> Reproduction:
    """Return the command line that makes a page again."""
    where = ", ".join(map(plain, files))
    return Reproduction(typed_command(context), f"Run it in the folder that holds {where}.")


def reproduce_forecast(
    result: Forecast, path: str | os.PathLike[str], saving: Mapping[str, Any]
) -> Reproduction:
    """Return Python that makes a forecast and its page again; `saving` are options of `save`."""
    sizes = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    options = [f"{option}={value!r}" for option, value in saving.items() if value]
    return Reproduction(
        f"import headcount\n\n"
        f"# pilot: your data, {result.nouns.rename(sizes)}\n"
        f"result = headcount.forecast({', '.join(['pilot', *_forecast_options(result)])})\n"
        f"result.save({', '.join([repr(Path(path).name), *options])})"
    )


def _forecast_options(result: Forecast) -> Iterator[str]:
    """Yield the options of `forecast` as code, without those at their defaults."""
    yield f"classes=[{', '.join(f'{k:_}' for k in result.classes)}]"
    if result.metric != ACCURACY:
        yield f"metric={result.metric.name!r}"
    yield f"method={result.method_code}"
    if result.mix:
        yield f"mix={result.mix!r}"
    if result.confidence != 0.9:
        yield f"confidence={result.confidence!r}"
    if result.random_state:
        yield f"random_state={result.random_state!r}"
    if result.backtest is None:
        yield "intervals=False"
    if result.others:
        yield "other_methods=True"
    usual = OURS.to_dict()
    for option, noun in result.nouns.to_dict().items():
        if noun != usual[option]:
            yield f"{option}={noun!r}"


def _words(context: Any) -> Iterator[str]:
    """Yield arguments first, then options that were not left at their defaults."""
    parameters = context.command.params
    for parameter in sorted(parameters, key=lambda each: each.param_type_name != "argument"):
        value = context.params.get(parameter.name)
        if value is None or value == parameter.default:
            continue
        if getattr(parameter, "is_flag", False):
            yield parameter.opts[0] if value else parameter.secondary_opts[0]
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if parameter.param_type_name != "argument":
                yield parameter.opts[0]
            yield _typed(item)


def _typed(value: Any) -> str:
    """Return an option's value; of a file, its name, which must not look like an option."""
    if not isinstance(value, Path):
        return str(value)
    return f"./{value.name}" if value.name.startswith("-") else value.name
