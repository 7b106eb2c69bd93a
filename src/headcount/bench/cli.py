"""`headcount bench`: the published comparisons, one sub-command each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount import terminal
from headcount.errors import ParameterError
from headcount.pilot_options import PilotFiles, reads_pilot

if TYPE_CHECKING:
    from headcount.bench.results import Results
    from headcount.bench.runner import Settings

bench_app = typer.Typer(
    name="bench",
    help="Run the published comparisons; results as JSON, CSV and pictures.",
    epilog="A run that was stopped goes on where it was when it is started again.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Output = Annotated[
    Path | None,
    typer.Option(help="Folder for the results; benchmarks/results/NAME by default."),
]
Seed = Annotated[int, typer.Option(help="All random draws follow from it.")]
Jobs = Annotated[int, typer.Option(help="Workers; 0 for one a core.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget what an earlier run finished.")]
Chosen = Annotated[
    str | None,
    typer.Option(
        "--methods",
        help="Methods, e.g. kde,probit_normal:prior_classes=1; all but CleaneX by default.",
        metavar="METHOD,METHOD,...",
    ),
]


@bench_app.command()
@reads_pilot
def table1(
    pilot: PilotFiles,
    pilot_classes: Annotated[
        str, typer.Option(help="Sizes of the random pilots.", metavar="K,K,...")
    ] = "100,200,300,400,800",
    repeats: Annotated[int, typer.Option(help="Random pilots of each size.")] = 300,
    fewer_repeats: Annotated[
        str | None,
        typer.Option(help="Repeats of slow methods.", metavar="METHOD=N,..."),
    ] = None,
    methods: Chosen = None,
    probes_per_class: Annotated[
        int | None, typer.Option(help="Keep so many probes a class, drawn once; all by default.")
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast a whole set from random pilots of it: Table 1 and figures 8-9 of paper 000.

    For example:

    headcount bench table1 faces.npz --pilot-classes 100,400 --repeats 50
    """
    from headcount.bench import table1 as experiment
    from headcount.bench.methods import chosen

    sizes = [_whole(part, "--pilot-classes") for part in _listed(pilot_classes)]
    fewer, wanted = _counts(fewer_repeats), chosen(_names(methods))
    with terminal.progress():
        whole = pilot.load()
        settings = _settings("table1", output, seed, jobs, fresh, pilot.inputs)
        results = experiment.table1(
            whole,
            settings,
            source=pilot.path.name,
            pilot_classes=sizes,
            repeats=repeats,
            fewer=fewer,
            methods=wanted,
            probes_per_class=probes_per_class,
        )
        paths = results.write(settings.output, experiment.draw)
    columns = ["method", "from", "repeats", "refused", "forecast", "bias", "sd", "RMSE"]
    names = ["method", "pilot_classes", "repeats", "refused", "mean_forecast", "bias", "sd", "rmse"]
    _show(results, columns, names, paths, 1)


@bench_app.command()
def telugu(
    folder: Annotated[Path, typer.Argument(help="Holds telugu_*.npz and telugu_truth.json.")],
    methods: Chosen = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast 400 Telugu characters from 20 and 100: Figure 2 of 003 and Table 1 of 004."""
    from headcount.bench import telugu as experiment
    from headcount.bench.methods import chosen

    wanted = experiment.usual_methods() if methods is None else chosen(_names(methods))
    inputs = [file.path for file in experiment.score_files(folder)]
    settings = _settings("telugu", output, seed, jobs, fresh, inputs)
    with terminal.progress():
        results = experiment.telugu(folder, settings, methods=wanted)
        paths = results.write(settings.output, experiment.draw)
    columns = ["source", "classifier", "method", "from", "measured", "forecast", "truth", "error"]
    names = [
        "source", "classifier", "method", "pilot_classes", "measured", "forecast", "truth", "error",
    ]  # fmt: skip
    _show(results, columns, names, paths, 3)


@bench_app.command()
def classifiers(
    drawings: Annotated[
        Path,
        typer.Argument(metavar="FOLDER_OR_FILE", help="omniglot_pixels.npz, or its folder."),
    ],
    pilot_classes: Annotated[int, typer.Option(help="Classes to forecast from.")] = 20,
    classes: Annotated[int, typer.Option(help="Classes to forecast.")] = 400,
    repeats: Annotated[int, typer.Option(help="Random sets of classes.")] = 10,
    train: Annotated[int, typer.Option(help="Training points a class; the others test.")] = 10,
    methods: Chosen = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast classifiers that are trained again on more classes, marginal and not."""
    from headcount.bench import classifiers as experiment
    from headcount.bench.methods import chosen

    wanted = chosen(_names(methods))
    path = drawings / experiment.FILE if drawings.is_dir() else drawings
    with terminal.progress():
        points = experiment.read_drawings(drawings)
        settings = _settings("classifiers", output, seed, jobs, fresh, [path])
        results = experiment.classifiers(
            points,
            settings,
            source=path.name,
            few=pilot_classes,
            many=classes,
            repeats=repeats,
            train=train,
            methods=wanted,
        )
        paths = results.write(settings.output, experiment.draw)
    columns = ["classifier", "method", "measured", "truth", "gap", "forecast", "bias", "sd", "RMSE"]
    names = [
        "classifier", "method", "measured", "truth", "gap", "mean_forecast", "bias", "sd", "rmse",
    ]  # fmt: skip
    _show(results, columns, names, paths, 2)


@bench_app.command()
def toy(
    repeats: Annotated[int, typer.Option(help="Random label sets for each k.")] = 20_000,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Compare theory and simulation of the bivariate-normal toy: figures 3-6 of paper 000."""
    from headcount.bench import toy as experiment

    settings = _settings("toy", output, seed, jobs, fresh, [])
    with terminal.progress():
        results = experiment.toy(settings, repeats=repeats)
        paths = results.write(settings.output, experiment.draw)
    columns = ["classes", "mean of label sets", "standard error", "theory", "errors apart"]
    names = ["classes", "mean", "standard_error", "theory", "errors_apart"]
    _show(results, columns, names, paths, 0)


@bench_app.command()
def figure10(
    repeats: Annotated[int, typer.Option(help="Random pilots for each setting.")] = 30,
    bounded: Annotated[
        bool, typer.Option("--bounded", help="Keep D(1) at most one; the paper does not.")
    ] = False,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast 2,000 Gaussian classes with six spline bases: Figure 10 of paper 000."""
    from headcount.bench import figure10 as experiment

    settings = _settings("figure10", output, seed, jobs, fresh, [])
    with terminal.progress():
        results = experiment.figure10(settings, repeats=repeats, bounded=bounded)
        paths = results.write(settings.output, experiment.draw)
    columns = ["basis", "sigma", "from", "truth", "forecast", "bias", "sd", "RMSE"]
    names = ["basis", "sigma", "pilot_classes", "truth", "mean_forecast", "bias", "sd", "rmse"]
    _show(results, columns, names, paths, 1)


@bench_app.command()
def cleanex(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="lfw_dlib_pairs.npz, or its folder; without it no faces."
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Of d5, d3, d10 (simulations), faces, decoding; all by default.",
            metavar="PART,PART,...",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Random pilots of each population.")] = 10,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods; cleanex,cleanex-fast,regression,kde by default.",
            metavar="METHOD,METHOD,...",
        ),
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Compare CleaneX with other methods over whole curves: figures 2-6 of paper 001.

    For example:

    headcount bench cleanex --parts d5 --repeats 3 --methods cleanex-fast,kde
    """
    from headcount.bench import cleanex as experiment
    from headcount.bench import cleanex_figures, cleanex_populations
    from headcount.bench.methods import chosen

    wanted = chosen(list(experiment.METHODS) if methods is None else _names(methods))
    run = cleanex_populations.chosen_parts(None if parts is None else _listed(parts), data)
    inputs = [] if data is None else [cleanex_populations.face_file(data)]
    pictures = cleanex_figures.pictures(run)
    settings = _settings("cleanex", output, seed, jobs, fresh, inputs, pictures)
    with terminal.progress():
        results = experiment.cleanex(
            settings, parts=run, faces=data, methods=wanted, repeats=repeats
        )
        paths = results.write(settings.output, cleanex_figures.draw)
    columns = ["part", "method", "from", "to", "RMSE", "standard error", "refused", "seconds"]
    names = ["experiment", "method", "k1", "k2", "rmse", "standard_error", "refused", "seconds"]
    _show(results, columns, names, paths, 2, results.details["groups"])


def _settings(
    bench: str,
    output: Path | None,
    seed: int,
    jobs: int,
    fresh: bool,
    inputs: list[Path],
    pictures: Iterable[str] = ("",),
) -> Settings:
    """Return the settings, once the results are known to be writable."""
    from headcount.bench.results import check_outputs
    from headcount.bench.runner import Settings
    from headcount.threads import thread_count

    folder = Path("benchmarks", "results", bench) if output is None else output
    settings = Settings(folder, seed, jobs or thread_count(), fresh)
    settings.prepare()
    check_outputs(folder, bench, inputs, pictures)
    return settings


def _listed(text: str) -> list[str]:
    """Split at commas, but not inside brackets, such as those of layers=(512,128)."""
    return [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", text) if part.strip()]


def _names(methods: str | None) -> list[str] | None:
    return None if methods is None else _listed(methods)


def _whole(text: str, name: str) -> int:
    from headcount.arrays import whole_number

    return whole_number(text.replace("_", ""), name, 2)


def _counts(text: str | None) -> dict[str, int]:
    """Parse 'kde=50,regression=100'; the options of a method may hold = too."""
    found = {}
    for part in _listed(text or ""):
        name, equals, count = part.rpartition("=")
        if not equals:
            raise ParameterError(
                f"--fewer-repeats must look like METHOD=50, but has {part!r}; add a number."
            )
        found[name] = _at_least_one(count)
    return found


def _at_least_one(text: str) -> int:
    from headcount.arrays import whole_number

    return whole_number(text, "--fewer-repeats", 1)


def _show(
    results: Results,
    columns: list[str],
    names: list[str],
    paths: list[Path],
    left: int,
    summary: list[dict[str, Any]] | None = None,
) -> None:
    """Print what was done, the table or its summary, what was refused, and where results are."""
    terminal.say(results.about + "\n")
    shown = results.rows if summary is None else summary
    cells = [[_cell(row[name]) for name in names] for row in shown]
    terminal.show_table(columns, cells, left)
    ours = [row for row in results.rows if row.get("source", "headcount") == "headcount"]
    for reason in dict.fromkeys(
        f"{row['method']}: {row['why_refused']}" for row in ours if row.get("why_refused")
    ):
        terminal.complain("refused", reason)
    resumed = results.run["tasks_resumed"]
    done = f"{results.run['tasks']:,} tasks, {resumed:,} of them done before"
    terminal.say(f"\n{done}, {results.run['seconds']:,.0f} s. Written: {_named(paths)}.")


def _named(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths) + f" in {paths[0].parent}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
