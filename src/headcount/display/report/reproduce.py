"""How to make a page again: the command, or a few lines of Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.display.report.contents import Reproduction
from headcount.estimators import METHODS, resolve
from headcount.questions.forecast import Forecast
from headcount.support.words import OURS, counted, plain


def typed_command(context: Any) -> str:
    """Return the command that a Typer context was made from, files by name, defaults left out."""
    words = [*context.command_path.split(), *_words(context)]
    lines = " ".join(shlex.quote(word) for word in words).split("\n")
    return "\n".join(map(plain, lines))


def of_command(context: Any, files: list[str]) -> Reproduction:
    """Return the command line that makes a page again."""
    where = ", ".join(map(plain, files))
    return Reproduction(typed_command(context), f"Run it in the folder that holds {where}.")


def of_forecast(
    result: Forecast, path: str | os.PathLike[str], saving: Mapping[str, Any]
) -> Reproduction:
    """Return Python that makes a forecast and its page again; `saving` are options of `save`."""
    name = Path(path).name
    asked = ", ".join(f"{k:_}" for k in result.classes)
    options = [f"classes=[{asked}]", f"method={_method(result)}"]
    if result.confidence != 0.9:
        options.append(f"confidence={result.confidence!r}")
    if result.random_state:
        options.append(f"random_state={result.random_state!r}")
    known = METHODS.get(result.method.split(":")[0])
    if result.backtest is None and not getattr(known, "slow", False):
        options.append("intervals=False")
    nouns = result.nouns.to_dict()
    options += [f"{k}={nouns[k]!r}" for k, usual in OURS.to_dict().items() if nouns[k] != usual]
    more = "".join(f", {option}={value!r}" for option, value in saving.items() if value)
    sizes = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    return Reproduction(
        f"import headcount\n\n"
        f"# pilot: your data, {result.nouns.rename(sizes)}\n"
        f"result = headcount.forecast(pilot, {', '.join(options)})\n"
        f"result.save({name!r}{more})"
    )


def _method(result: Forecast) -> str:
    """Return a method as code: its alias, or the class with options of its own."""
    if result._fitted is not None:
        estimator = result._fitted[1]
        usual = METHODS.get(estimator.alias)
        if usual is not type(estimator) or repr(estimator) != repr(
            resolve(estimator.alias, result.random_state)
        ):
            home = (
                "headcount.estimators" if usual is type(estimator) else type(estimator).__module__
            )
            return f"{home}.{' '.join(repr(estimator).split())}"
    return f'"{result.method}"'


def _words(context: Any) -> Iterator[str]:
    """Yield arguments first, then options that were not left at their defaults."""
    held = sorted(context.command.params, key=lambda one: one.param_type_name != "argument")
    for parameter in held:
        value = context.params.get(parameter.name)
        if value is None or value == parameter.default:
            continue
        if getattr(parameter, "is_flag", False):
            yield parameter.opts[0] if value else parameter.secondary_opts[0]
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if parameter.param_type_name != "argument":
                yield parameter.opts[0]
            yield _shown(one)


def _shown(value: Any) -> str:
    """Return an option's value; of a file, its name, which must not look like an option."""
    if not isinstance(value, Path):
        return str(value)
    return f"./{value.name}" if value.name.startswith("-") else value.name
