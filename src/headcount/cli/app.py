"""The command line: one sub-command per question."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount import __version__
from headcount.cli import terminal
from headcount.cli.backtest import backtest
from headcount.cli.capacity import capacity
from headcount.cli.compare import compare
from headcount.cli.gate import gate
from headcount.cli.options import (
    AsCsv,
    AsJson,
    Classes,
    Confidence,
    ErrorRate,
    Intervals,
    Jobs,
    Method,
    MetricName,
    Note,
    PilotFiles,
    Plot,
    Report,
    Seed,
    Title,
    check_error_rate,
    check_plot,
    check_report,
    numbers_of,
    one_format,
    reads_pilot,
    write_page,
)
from headcount.cli.plan import plan
from headcount.cli.risk import risk
from headcount.errors import HeadcountError, ParameterError, listening
from headcount.support.words import counted, near_one, percent
from headcount.support.workers import doing

if TYPE_CHECKING:
    from headcount.metrics import Metric
    from headcount.pilot.pilot import Pilot
    from headcount.questions.forecast import Forecast

NO_ANSWER, INTERRUPTED, UNREAD = 2, 130, 141
TRACEBACK = "HEADCOUNT_TRACEBACK"
_signals: list[int] = []  # that were sent to end the program

app = typer.Typer(
    name="headcount",
    help="How well will your recogniser do when there are many more classes?",
    epilog="Start with: headcount demo",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Forecast how well a recogniser will do when there are many more classes."""
    if version:
        terminal.say(f"headcount {__version__}")
        raise typer.Exit


@app.command()
@reads_pilot
def forecast(
    context: typer.Context,
    pilot: PilotFiles,
    classes: Classes,
    metric: MetricName = "accuracy",
    method: Method = "auto",
    confidence: Confidence = 0.9,
    intervals: Intervals = True,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
    report: Report = None,
    title: Title = None,
    note: Note = None,
    other_methods: Annotated[
        bool,
        typer.Option("--other-methods", help="Show what other quick methods say in the report."),
    ] = False,
    error_rate: ErrorRate = False,
) -> None:
    """Forecast accuracy, or another metric, at numbers of classes you have not measured.

    For example:

    headcount forecast scores.npz --classes 1000,10000

    headcount forecast probes.npy --labels who.txt --gallery enrolled.npy --similarity cosine
    --classes 50000

    headcount forecast run.trec --qrels qrels.txt --n-classes 100000 --classes 1000000

    headcount forecast scores.npz --classes 10000 --report forecast.html --title "Gate 1"
    --noun person/people --probe-noun photo/photos
    """
    with terminal.progress("Forecasting"), listening() as warnings:
        from headcount.questions.forecast import forecast as make_forecast

        asked = numbers_of(classes)
        one_format(as_json, as_csv)
        check_error_rate(error_rate, plot, report)
        check_plot(plot, pilot.inputs)
        check_report(report, pilot.inputs, title, note)
        if other_methods and report is None:
            raise ParameterError("--other-methods is about the report; add --report report.html.")
        data = pilot.load()
        result = make_forecast(
            data,
            classes=asked,
            metric=metric,
            method=method,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
            intervals=intervals,
            other_methods=other_methods,
        )
        write_page(
            report,
            context,
            pilot.inputs,
            result,
            warnings=warnings,
            title=title,
            note=note,
            error_rate=error_rate,
        )
        if plot is not None:
            result.save(plot, error_rate=error_rate)
    if as_json:
        terminal.show_json(result.to_dict() | {"warnings": warnings})
    elif as_csv:
        terminal.put(result.to_csv())
    else:
        _show_forecast(result)


@app.command()
@reads_pilot
def observe(
    pilot: PilotFiles,
    classes: Annotated[
        str | None, typer.Option(help="Numbers of classes up to the pilot's.", metavar="K,K,...")
    ] = None,
    top: Annotated[int, typer.Option(help="Also: true class among the best so many.")] = 5,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what the pilot itself says: a summary, and exact accuracy up to its own size.

    For example:

    headcount observe scores.npz --classes 10,100,500
    """
    with terminal.progress("Looking at the pilot"), listening() as warnings:
        from headcount.curves.observed import observe as make_curve
        from headcount.metrics import ACCURACY, Top
        from headcount.support.validation import whole_number

        one_format(as_json, as_csv)
        top = whole_number(top, "--top", 1)
        asked = None if classes is None else numbers_of(classes)
        data = pilot.load()
        curve = make_curve(data)
        asked = asked or _ladder(curve.n_classes)
        metrics = [ACCURACY, Top(top)] if top > 1 else [ACCURACY]
        columns = {
            "classes": asked,
            **{metric.name: curve.value(asked, metric).tolist() for metric in metrics},
            "mean_reciprocal_rank": curve.mean_reciprocal_rank(asked).tolist(),
            "median_rank": curve.median_rank(asked).astype(int).tolist(),
        }
        if not curve.exact:
            lower, upper = curve.bounds(asked)
            columns |= {"lower": lower.tolist(), "upper": upper.tolist()}
        summary = data.summary() if not (as_json or as_csv) else None
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if as_json:
        terminal.show_json(_observed_json(data, rows) | {"warnings": warnings})
    elif as_csv:
        lines = [",".join(columns), *(",".join(str(v) for v in row.values()) for row in rows)]
        terminal.put("\n".join(lines) + "\n")
    else:
        terminal.say(str(summary))
        _show_observed(rows, metrics)


app.command()(capacity)
app.command()(backtest)
app.command()(compare)
app.command()(plan)
app.command()(gate)
app.command()(risk)


@app.command()
def methods() -> None:
    """List the forecasting methods: what each needs, costs, and when to use it."""
    from headcount.estimators.registry import DEFAULT, METHODS

    for alias, method in sorted(METHODS.items()):
        default = " (the default)" if alias == DEFAULT else ""
        terminal.say(f"{alias}{default}: {method.about}")
        terminal.say(f"    needs {method.needs}; {method.cost}")
        terminal.say(f"    {method.advice}")


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Which 500 syllables to draw.")] = 0,
    plot: Plot = None,
    error_rate: ErrorRate = False,
) -> None:
    """Forecast 11,172 Korean syllables from a pilot of 500, and compare with the truth."""
    with terminal.progress("Forecasting Korean syllables"):
        import numpy as np

        from headcount.curves.observed import observe as make_curve
        from headcount.datasets import load_hangul
        from headcount.questions.forecast import forecast as make_forecast

        check_error_rate(error_rate, plot)
        check_plot(plot, [])
        with doing("Reading all syllables"):
            everything = load_hangul()
        syllables = np.random.default_rng(seed).choice(everything.class_names, 500, replace=False)
        sizes = [1000, 2000, 5000, everything.n_classes]
        result = make_forecast(everything.subset(syllables), classes=sizes)
        with doing("Finding the truth"):
            truth = make_curve(everything).value(sizes)
        if plot is not None:
            result.save(plot, error_rate=error_rate)
    measured = percent(float(result.value(500)))
    terminal.say(
        "Recognising Korean syllables in one font from how they look in another.\n"
        f"A pilot of 500 of the 11,172 syllables gets {measured} of them right. "
        "How well will it do on more?\n"
    )
    rows = [
        [*cells[:-1], percent(float(value))]
        for cells, value in zip(result.table(sizes).cells(), truth, strict=True)
    ]
    terminal.show_table(["classes", "forecast from 500", "90% interval", "truth"], rows)
    lower, upper = result.interval(sizes) or (truth, truth)
    n_right = int(((lower <= truth) & (truth <= upper)).sum())
    terminal.say(
        f"\n{n_right} of the {len(sizes)} intervals hold{'s' * (n_right == 1)} the truth; "
        "for most pilots all should. "
        f"Another pilot: headcount demo --seed {seed + 1}"
        "\nYour own data: headcount forecast scores.npz --classes 10000"
    )


def main(argv: list[str] | None = None, commands: typer.Typer = app) -> int:
    """Run a command line and return its exit code.

    0 done, 1 the gate found it not good enough and nothing else, 2 no answer (bad input, an output
    that cannot be written, a mistake of ours), 130 interrupted, 141 nobody reads the answer any
    more: what a shell says of any program that a closed pipe has stopped.
    """
    try:
        with terminal.spoken_warnings():
            code = commands(args=argv, prog_name=commands.info.name, standalone_mode=False)
        terminal.put("", flush=True)  # an answer that cannot be printed is none
        return int(code or 0)
    except (typer.Abort, KeyboardInterrupt):
        terminal.complain("error", "interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        return UNREAD
    except SystemExit as error:
        # How rich ends where its reader has gone (help, for one): with the code of a failed gate.
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return UNREAD
    except Exception as error:
        # Compiled code that a signal interrupts may make an error of its own out of it.
        ended = 128 + _signals[0] if _signals else 0
        return ended or _failed(error, str(commands.info.name))
    finally:
        terminal.settle(sys.stdout)


def run(commands: typer.Typer = app) -> None:
    """Entry point of the `headcount` command, and of others that behave alike."""
    if sys.stderr is None:  # closed, and the next file opened would be in its place
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        terminal.complain("error", "stdout is closed, so no answer can be printed; open it.")
        sys.exit(NO_ANSWER)
    # As Python does on stderr: what a terminal cannot show must not cost the answer.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for number in _endings():
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _unwind)
    sys.exit(main(commands=commands))


def _endings() -> list[signal.Signals]:
    """Return the signals that end a program at once, of those that this system has."""
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _unwind(number: int, _: object) -> None:
    """End the program as an error would, so that it tidies up; a second signal must not disturb."""
    _signals.append(number)
    # Systems often send several kinds in a row. SIG_IGN would be told of where one waits already.
    for other in (*_endings(), signal.SIGINT):
        signal.signal(other, lambda *_: None)
    sys.exit(128 + number)


def _failed(error: Exception, name: str) -> int:
    """Say in one sentence what went wrong, whatever it was, and return the exit code."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    if hasattr(error, "format_message"):  # Typer's own: a missing option, an unknown command
        message = str(error.format_message()).strip().rstrip(".")
        if not message:  # no command at all: the help has been printed
            return 0
        terminal.complain("error", f"{message}; see {name} --help.")
    elif isinstance(error, HeadcountError):
        terminal.complain("error", str(error))
    elif isinstance(error, OSError):
        where = f" ({Path(error.filename).name})" if isinstance(error.filename, str) else ""
        terminal.complain("error", f"the system says: {error.strerror or error}{where}.")
    elif isinstance(error, MemoryError):
        terminal.complain("error", f"there is not enough memory for this ({error}).")
    else:
        terminal.complain(
            "error",
            f"this is a mistake in headcount ({type(error).__name__}: {error}); "
            f"set {TRACEBACK}=1 to see where, and report it.",
        )
    return NO_ANSWER


def _ladder(n_classes: int) -> list[int]:
    """Return 2, 5, 10, 20, 50 ... up to the pilot's size."""
    steps = [m * 10**e for e in range(13) for m in (1, 2, 5)]
    return [k for k in steps if 2 <= k < n_classes] + [n_classes]


def _show_forecast(result: Forecast) -> None:
    size = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}.\n")
    answer = result.answer
    terminal.show_table(answer.titles(result.confidence), answer.cells())
    terminal.say("\n" + "\n".join(result.sentences()[-2:]))
    if result.backtest is not None:
        for sentence in result.backtest.sentences():
            terminal.say(f"Back-test: {sentence}")
    terminal.list_checks(result.checks, result.warnings)


def _show_observed(rows: list[dict[str, float]], metrics: list[Metric]) -> None:
    bounded = "lower" in rows[0]
    labels = [metric.label for metric in metrics]
    columns = ["classes", *labels, "mean reciprocal rank", "median rank"]
    cells = [
        [
            f"{row['classes']:,}",
            *(metric.write(row[metric.name]) for metric in metrics),
            near_one(row["mean_reciprocal_rank"]),
            f"{row['median_rank']:,}",
            *([f"{percent(row['lower'])} to {percent(row['upper'])}"] if bounded else []),
        ]
        for row in rows
    ]
    terminal.say("")
    terminal.show_table(columns + ([f"{labels[0]} within"] if bounded else []), cells)


def _observed_json(data: Pilot, rows: list[dict[str, float]]) -> dict[str, Any]:
    size = {"n_classes": data.n_classes, "n_probes": data.n_probes}
    return {**size, "observed": rows}
