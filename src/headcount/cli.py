"""The command line: one sub-command per question."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount import __version__, terminal
from headcount.backtest_cli import backtest
from headcount.bench.cli import bench_app
from headcount.capacity_cli import capacity
from headcount.command_options import (
    AsCsv,
    AsJson,
    Classes,
    Confidence,
    ErrorRate,
    Intervals,
    Jobs,
    Method,
    Plot,
    Report,
    Seed,
    check_error_rate,
    check_plot,
    check_report,
    numbers_of,
    one_format,
    write_page,
)
from headcount.compare_cli import compare
from headcount.errors import HeadcountError, listening
from headcount.gate_cli import gate
from headcount.pilot_options import PilotFiles, reads_pilot
from headcount.plan_cli import plan
from headcount.risk_cli import risk
from headcount.wording import counted, percent, percent_range

if TYPE_CHECKING:
    from headcount.answers import Forecast
    from headcount.pilot import Pilot

app = typer.Typer(
    name="headcount",
    help="How well will your recogniser do when there are many more classes?",
    epilog="Start with: headcount demo",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.add_typer(bench_app, name="bench")


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
    method: Method = "auto",
    confidence: Confidence = 0.9,
    intervals: Intervals = True,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
    report: Report = None,
    error_rate: ErrorRate = False,
) -> None:
    """Forecast accuracy at numbers of classes you have not measured.

    For example:

    headcount forecast scores.npz --classes 1000,10000

    headcount forecast probes.npy --labels who.txt --gallery enrolled.npy --metric cosine
    --classes 50000

    headcount forecast run.trec --qrels qrels.txt --n-classes 100000 --classes 1000000

    headcount forecast scores.npz --classes 10000 --report forecast.html
    """
    from headcount.forecasting import forecast as make_forecast

    asked = numbers_of(classes)
    one_format(as_json, as_csv)
    check_error_rate(error_rate, plot, report)
    check_plot(plot, pilot.inputs)
    check_report(report, pilot.inputs)
    with terminal.progress(), listening() as heard:
        data = pilot.load()
        result = make_forecast(
            data,
            classes=asked,
            method=method,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
            intervals=intervals,
        )
        write_page(report, context, pilot.inputs, result, warnings=heard, error_rate=error_rate)
    if plot is not None:
        result.save(plot, error_rate=error_rate)
    if as_json:
        answer = result.to_dict() | {"warnings": heard}
        terminal.say(json.dumps(answer, allow_nan=False, indent=2))
    elif as_csv:
        sys.stdout.write(result.to_csv())
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
    from headcount.arrays import whole_number
    from headcount.observed import observe as make_curve

    one_format(as_json, as_csv)
    top = whole_number(top, "--top", 1)
    asked = None if classes is None else numbers_of(classes)
    with terminal.progress():
        data = pilot.load()
        curve = make_curve(data)
        asked = asked or _ladder(curve.n_classes)
        columns = {
            "classes": [float(k) for k in asked],
            "accuracy": curve.accuracy(asked).tolist(),
            f"top_{top}": curve.top(top, asked).tolist(),
            "mean_reciprocal_rank": curve.mean_reciprocal_rank(asked).tolist(),
            "median_rank": curve.median_rank(asked).tolist(),
        }
        if curve.censored:
            lower, upper = curve.bounds(asked)
            columns |= {"lower": lower.tolist(), "upper": upper.tolist()}
        summary = data.summary() if not (as_json or as_csv) else None
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row in rows:
        row["classes"] = int(row["classes"])
        row["median_rank"] = int(row["median_rank"])
    if as_json:
        terminal.say(json.dumps(_observed_json(data, rows), allow_nan=False, indent=2))
    elif as_csv:
        lines = [",".join(columns), *(",".join(str(v) for v in row.values()) for row in rows)]
        sys.stdout.write("\n".join(lines) + "\n")
    else:
        terminal.say(str(summary))
        _show_observed(rows, top)


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
) -> None:
    """Forecast 11,172 Korean syllables from a pilot of 500, and compare with the truth."""
    import numpy as np

    from headcount.datasets import load_hangul
    from headcount.forecasting import forecast as make_forecast
    from headcount.observed import observe as make_curve

    check_plot(plot, [])
    with terminal.progress():
        everything = load_hangul()
        drawn = np.random.default_rng(seed).choice(everything.class_names, 500, replace=False)
        sizes = [1000, 2000, 5000, everything.n_classes]
        result = make_forecast(everything.subset(drawn), classes=sizes)
        truth = make_curve(everything).accuracy(sizes)
    measured = percent(float(result.accuracy(500)))
    terminal.say(
        "Recognising Korean syllables in one font from how they look in another.\n"
        f"A pilot of 500 of the 11,172 syllables gets {measured} of them right. "
        "How well will it do on more?\n"
    )
    rows = [
        [
            f"{k:,}",
            percent(float(result.accuracy(k))),
            percent_range(*(float(limit) for limit in result.interval(k) or ())),
            percent(float(value)),
        ]
        for k, value in zip(sizes, truth, strict=True)
    ]
    terminal.show_table(["classes", "forecast from 500", "90% interval", "truth"], rows)
    lower, upper = result.interval(sizes) or (truth, truth)
    held = int(((lower <= truth) & (truth <= upper)).sum())
    terminal.say(
        f"\n{held} of the {len(sizes)} intervals hold{'s' * (held == 1)} the truth; "
        "for most pilots all should. "
        f"Another pilot: headcount demo --seed {seed + 1}"
        "\nYour own data: headcount forecast scores.npz --classes 10000"
    )
    if plot is not None:
        result.save(plot)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 when done, 2 for bad input."""
    try:
        with terminal.spoken_warnings():
            code = app(args=argv, prog_name="headcount", standalone_mode=False)
        return int(code or 0)
    except HeadcountError as error:
        terminal.complain("error", str(error))
        return 2
    except typer.Abort:
        terminal.complain("error", "interrupted.")
        return 130
    except Exception as error:
        # Typer's own usage errors: a missing option, an unknown command.
        if not hasattr(error, "format_message"):
            raise
        message = str(error.format_message()).strip().rstrip(".")
        if not message:  # no command at all: the help has been printed
            return 0
        terminal.complain("error", f"{message}; see headcount --help.")
        return 2


def run() -> None:
    """Entry point of the `headcount` command."""
    sys.exit(main())


def _ladder(n_classes: int) -> list[int]:
    """Return 2, 5, 10, 20, 50 ... up to the pilot's size."""
    steps = [m * 10**e for e in range(13) for m in (1, 2, 5)]
    return [k for k in steps if 2 <= k < n_classes] + [n_classes]


def _show_forecast(result: Forecast) -> None:
    rows = []
    for k in sorted({result.n_classes, *result.classes}):
        source = "measured" if k <= result.n_classes else "forecast"
        limits = result.interval(k)
        within = [] if limits is None else [percent_range(*(float(limit) for limit in limits))]
        rows.append([f"{k:,}", percent(float(result.accuracy(k))), *within, source])
    size = f"{counted(result.n_classes, 'class')}, {counted(result.n_probes, 'probe')}"
    terminal.say(f"Pilot: {size}. Method: {result.method}.\n")
    within = [] if result.uncertainty is None else [f"{percent(result.confidence)} interval"]
    terminal.show_table(["classes", "accuracy", *within, ""], rows)
    terminal.say("\n" + result.sentences()[-1])
    if result.backtest is not None:
        for sentence in result.backtest.sentences():
            terminal.say(f"Back-test: {sentence}")
    terminal.list_checks(result.checks, result.warnings)


def _show_observed(rows: list[dict[str, float]], top: int) -> None:
    bounded = "lower" in rows[0]
    columns = ["classes", "accuracy", f"top {top}", "mean reciprocal rank", "median rank"]
    cells = [
        [
            f"{row['classes']:,}",
            percent(row["accuracy"]),
            percent(row[f"top_{top}"]),
            f"{row['mean_reciprocal_rank']:.3f}",
            f"{row['median_rank']:,}",
            *([f"{percent(row['lower'])} to {percent(row['upper'])}"] if bounded else []),
        ]
        for row in rows
    ]
    terminal.say("")
    terminal.show_table(columns + (["accuracy within"] if bounded else []), cells)


def _observed_json(data: Pilot, rows: list[dict[str, float]]) -> dict[str, Any]:
    return {"schema": 1, "n_classes": data.n_classes, "n_probes": data.n_probes, "observed": rows}
