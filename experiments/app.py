"""`python -m experiments NAME`: one sub-command an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.coverage.commands import calibration, coverage
from experiments.options import (
    Chosen,
    Fresh,
    Jobs,
    Output,
    Seed,
    listed,
    names_of,
    settings_for,
    show,
)
from experiments.sources.commands import sources
from headcount.cli import app as command_line
from headcount.cli import terminal
from headcount.cli.options import PilotFiles, reads_pilot
from headcount.errors import ParameterError

FewerRepeats = Annotated[
    str | None, typer.Option(help="Repeats of slow methods.", metavar="METHOD=N,...")
]

app = typer.Typer(
    name="python -m experiments",
    help="Run the experiments of the papers and our own; results as JSON, CSV and pictures.",
    epilog="A run that was stopped goes on where it was when it is started again.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.command()
@reads_pilot
def table1(
    pilot: PilotFiles,
    pilot_classes: Annotated[
        str, typer.Option(help="Sizes of the random pilots.", metavar="K,K,...")
    ] = "100,200,400,800",
    repeats: Annotated[int, typer.Option(help="Random pilots of each size.")] = 300,
    fewer_repeats: FewerRepeats = None,
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

    python -m experiments table1 faces.npz --pilot-classes 100,400 --repeats 50
    """
    from experiments.papers import table1 as experiment
    from headcount.estimators.registry import resolve_all

    sizes = [_whole(size, "--pilot-classes") for size in listed(pilot_classes)]
    fewer = _counts(fewer_repeats)
    wanted = experiment.usual_methods() if methods is None else resolve_all(names_of(methods))
    with terminal.progress("Running table1"):
        whole = pilot.load()
        settings = settings_for("table1", output, seed, jobs, fresh, pilot.inputs)
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
    show(results, columns, names, paths, 1)


@app.command()
def telugu(
    folder: Annotated[Path, typer.Argument(help="Holds telugu_*.npz and telugu_truth.json.")],
    methods: Chosen = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast 400 Telugu characters from 20 and 100: Figure 2 of 003 and Table 1 of 004."""
    from experiments.papers import telugu as experiment
    from headcount.estimators.registry import resolve_all

    wanted = experiment.usual_methods() if methods is None else resolve_all(names_of(methods))
    inputs = [file.path for file in experiment.score_files(folder)]
    settings = settings_for("telugu", output, seed, jobs, fresh, inputs)
    with terminal.progress("Running telugu"):
        results = experiment.telugu(folder, settings, methods=wanted)
        paths = results.write(settings.output, experiment.draw)
    shared = ["measured", "forecast", "least", "greatest", "truth", "error"]
    columns = ["source", "classifier", "method", "from", *shared]
    names = ["source", "classifier", "method", "pilot_classes", *shared]
    show(results, columns, names, paths, 3)


@app.command()
def recorded(
    folder: Annotated[Path, typer.Argument(help="Holds telugu_*.npz.")],
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast what the authors' R code forecast from Telugu characters, beside what it said."""
    from experiments.papers import recorded as experiment

    inputs = sorted(folder.glob("telugu_*.npz"))
    settings = settings_for("recorded", output, seed, jobs, fresh, inputs)
    with terminal.progress("Running recorded"):
        results = experiment.recorded(folder, settings)
        paths = results.write(settings.output, experiment.draw)
    columns = ["classifier", "from", "to", "method", "recorded", "forecast", "difference", "truth"]
    names = ["classifier", "pilot_classes", "classes", "method", "recorded", "forecast",
             "difference", "truth"]  # fmt: skip
    show(results, columns, names, paths, 4)


@app.command()
def classifiers(
    drawings: Annotated[
        Path,
        typer.Argument(metavar="FOLDER_OR_FILE", help="omniglot_pixels.npz, or its folder."),
    ],
    pilot_classes: Annotated[int, typer.Option(help="Classes to forecast from.")] = 20,
    classes: Annotated[int, typer.Option(help="Classes to forecast.")] = 400,
    repeats: Annotated[int, typer.Option(help="Random sets of classes.")] = 10,
    train: Annotated[int, typer.Option(help="Training points a class; the others test.")] = 10,
    learners: Annotated[
        str | None,
        typer.Option(help="Classifiers, e.g. logistic,SVM; all by default.", metavar="NAME,..."),
    ] = None,
    methods: Chosen = None,
    fewer_repeats: FewerRepeats = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast classifiers that are trained again on more classes, marginal and not."""
    from experiments.papers import classifiers as experiment
    from experiments.papers.learners import LEARNERS
    from headcount.estimators.registry import resolve_all

    fewer = _counts(fewer_repeats)
    wanted = experiment.usual_methods() if methods is None else resolve_all(names_of(methods))
    path = drawings / experiment.FILE if drawings.is_dir() else drawings
    with terminal.progress("Running classifiers"):
        points = experiment.read_drawings(drawings)
        settings = settings_for("classifiers", output, seed, jobs, fresh, [path])
        results = experiment.classifiers(
            points,
            settings,
            source=path.name,
            few=pilot_classes,
            many=classes,
            repeats=repeats,
            train=train,
            learners=names_of(learners) or tuple(LEARNERS),
            methods=wanted,
            fewer=fewer,
        )
        paths = results.write(settings.output, experiment.draw)
    columns = ["classifier", "method", "measured", "truth", "gap", "forecast", "bias", "sd", "RMSE"]
    names = [
        "classifier", "method", "measured", "truth", "gap", "mean_forecast", "bias", "sd", "rmse",
    ]  # fmt: skip
    show(results, columns, names, paths, 2)


@app.command()
def toy(
    repeats: Annotated[int, typer.Option(help="Random label sets for each k.")] = 20_000,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Compare theory and simulation of the bivariate-normal toy: figures 3-6 of paper 000."""
    from experiments.papers import toy as experiment

    settings = settings_for("toy", output, seed, jobs, fresh, [])
    with terminal.progress("Running toy"):
        results = experiment.toy(settings, repeats=repeats)
        paths = results.write(settings.output, experiment.draw)
    columns = ["classes", "mean of label sets", "standard error", "theory", "errors apart"]
    names = ["classes", "mean", "standard_error", "theory", "errors_apart"]
    show(results, columns, names, paths, 0)


@app.command()
def supplement003(
    laws: Annotated[int, typer.Option(help="Random laws for Figure 1.")] = 200,
    repeats: Annotated[int, typer.Option(help="Random sets of 50 classes.")] = 20,
    pilot_classes: Annotated[
        str | None,
        typer.Option(help="Numbers of classes to train on; 3 to 49 by default.", metavar="K,K,..."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods for the supplement; those of 003 and auto by default.",
            metavar="METHOD,METHOD,...",
        ),
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Repeat Figure 1 of paper 003, and the simulations that its supplement announces."""
    from experiments.papers import supplement003 as experiment
    from headcount.estimators.registry import resolve_all

    wanted = resolve_all(list(experiment.METHODS) if methods is None else names_of(methods))
    sizes = experiment.SIZES
    if pilot_classes is not None:
        sizes = tuple(_whole(size, "--pilot-classes") for size in listed(pilot_classes))
    settings = settings_for("supplement003", output, seed, jobs, fresh, [])
    with terminal.progress("Running supplement003"):
        results = experiment.supplement003(
            settings, laws=laws, repeats=repeats, sizes=sizes, methods=wanted
        )
        paths = results.write(settings.output, experiment.draw)
    columns = [
        "part",
        "method",
        "from",
        "to",
        "measured",
        "truth",
        "forecast",
        "bias",
        "sd",
        "RMSE",
    ]
    names = [
        "part", "method", "pilot_classes", "classes", "measured", "truth", "mean_forecast", "bias",
        "sd", "rmse",
    ]  # fmt: skip
    show(results, columns, names, paths, 2)


@app.command()
def figure10(
    repeats: Annotated[int, typer.Option(help="Random pilots for each setting.")] = 180,
    bounded: Annotated[
        bool, typer.Option("--bounded", help="Keep D(1) at most one; the paper does not.")
    ] = False,
    methods: Annotated[
        str,
        typer.Option(help="Methods beside the six bases.", metavar="METHOD,METHOD,..."),
    ] = "auto",
    fewer_repeats: FewerRepeats = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast 2,000 Gaussian classes with six spline bases: Figure 10 of paper 000."""
    from experiments.papers import figure10 as experiment
    from headcount.estimators.registry import resolve_all

    beside, fewer = resolve_all(listed(methods)), _counts(fewer_repeats)
    settings = settings_for("figure10", output, seed, jobs, fresh, [])
    with terminal.progress("Running figure10"):
        results = experiment.figure10(
            settings, repeats=repeats, bounded=bounded, methods=beside, fewer=fewer
        )
        paths = results.write(settings.output, experiment.draw)
    columns = ["method", "sigma", "from", "truth", "forecast", "bias", "sd", "RMSE"]
    names = ["method", "sigma", "pilot_classes", "truth", "mean_forecast", "bias", "sd", "rmse"]
    show(results, columns, names, paths, 1)


@app.command()
def splines(
    repeats: Annotated[int, typer.Option(help="Random pilots for each setting.")] = 60,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Vary constraints, degree, knots and the last knot: what 000 §6-7 and 002 §6 guess."""
    from experiments.papers import splines as experiment

    settings = settings_for("splines", output, seed, jobs, fresh, [])
    with terminal.progress("Running splines"):
        results = experiment.splines(settings, repeats=repeats)
        paths = results.write(settings.output, experiment.draw)
    columns = ["varied", "constraint", "D(1) <= 1", "degree", "knots", "last knot", "sigma", "from",
               "refused", "bias", "sd", "RMSE", "s.e."]  # fmt: skip
    names = ["part", "constraint", "bounded", "degree", "n_knots", "nearest", "sigma",
             "pilot_classes", "refused", "bias", "sd", "rmse", "rmse_error"]  # fmt: skip
    show(results, columns, names, paths, 2)


@app.command()
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
    pilot_classes: Annotated[
        str | None,
        typer.Option(help="Sizes of the pilots; by default those of the paper.", metavar="K,K,..."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Random pilots of each population.")] = 10,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods; by default cleanex, cleanex-fast, regression, kde with three bandwidths "
            "and auto.",
            metavar="METHOD,METHOD,...",
        ),
    ] = None,
    fewer_repeats: Annotated[
        str | None,
        typer.Option(
            help="Pilots of 500 classes or more for slow methods.", metavar="METHOD=N,..."
        ),
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option(help="Journal with networks that need not be trained again.", metavar="FILE"),
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Compare CleaneX with other methods over whole curves: figures 2-6 of paper 001.

    For example:

    python -m experiments cleanex --parts d5 --repeats 3 --methods cleanex-fast,kde
    """
    from experiments.papers import cleanex as experiment
    from experiments.papers import cleanex_figures, cleanex_populations
    from headcount.estimators.registry import resolve_all

    wanted = resolve_all(list(experiment.METHODS) if methods is None else names_of(methods))
    run = cleanex_populations.chosen_parts(None if parts is None else listed(parts), data)
    sizes = dict(cleanex_populations.PILOTS)
    if pilot_classes is not None:
        asked = tuple(_whole(size, "--pilot-classes") for size in listed(pilot_classes))
        sizes = {part: asked for part in run}
    inputs = [] if data is None else [cleanex_populations.face_file(data)]
    inputs += [] if kept is None else [kept]
    pictures = cleanex_figures.pictures(run)
    settings = settings_for("cleanex", output, seed, jobs, fresh, inputs, pictures)
    with terminal.progress("Running cleanex"):
        results = experiment.cleanex(
            settings,
            parts=run,
            faces=data,
            methods=wanted,
            pilot_classes=sizes,
            repeats=repeats,
            fewer=_counts(fewer_repeats),
            kept=kept,
        )
        paths = results.write(settings.output, cleanex_figures.draw)
    columns = ["part", "method", "from", "to", "RMSE", "standard error", "refused", "seconds"]
    names = ["experiment", "method", "k1", "k2", "rmse", "standard_error", "refused", "seconds"]
    show(results, columns, names, paths, 2, results.details["groups"])
    percentages = [row for row in results.details["percentages"] if row["ours"] is not None]
    if percentages:
        terminal.say(
            "\nBy how many per cent CleaneX has the lower RMSE; with a minus, the other method:"
        )
        terminal.show_table(
            ["part", "method", "than", "printed", "here"],
            [
                [row["experiment"], row["method"], row["than"], str(row["printed"]),
                 f"{row['ours']:g}"]
                for row in percentages
            ],
            3,
        )  # fmt: skip


@app.command()
def yardstick(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Holds omniglot_*.npz, definitions_tfidf.npz, lfw_dlib_pairs.npz and "
            "telugu_*.npz; without it no real sets.",
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Of simulations, real, problems, held-out; all by default.",
            metavar="PART,PART,...",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods; auto, probit-normal and the published ones by default.",
            metavar="METHOD,METHOD,...",
        ),
    ] = None,
    pilots: Annotated[
        int | None, typer.Option(help="Pilots of each kind at most; 5 to 20 by default.")
    ] = None,
    fewer_pilots: Annotated[
        str | None,
        typer.Option(help="Pilots of each kind for slow methods.", metavar="METHOD=N,..."),
    ] = None,
    cleanex: Annotated[
        list[Path] | None,
        typer.Option(
            help="Journal with rows of CleaneX, may be repeated; by default that of `cleanex`.",
            metavar="FILE",
        ),
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Hold the default forecast against every published method, and against its targets.

    For example:

    python -m experiments yardstick --parts simulations --methods auto,regression --pilots 2
    """
    from experiments.yardstick import figures, places
    from experiments.yardstick import yardstick as experiment
    from experiments.yardstick.targets import table

    wanted = None if methods is None else experiment.methods_named(listed(methods))
    fewer = _counts(fewer_pilots, "--fewer-pilots")
    run = places.chosen_parts(None if parts is None else listed(parts), data)
    inputs = [*places.inputs(run, data), *(cleanex or [])]
    pictures = figures.pictures(run)
    settings = settings_for("compare", output, seed, jobs, fresh, inputs, pictures)
    with terminal.progress("Running compare"):
        results = experiment.compare(
            settings,
            data=data,
            parts=run,
            methods=wanted,
            fewer=fewer,
            pilots=pilots,
            journals=cleanex,
        )
        paths = results.write(settings.output, figures.draw)
    columns = ["part", "method", "from", "pilots", "refused", "RMSE", "s.e.", "95%", "auto there"]
    names = ["part", "method", "k1", "pilots", "refused", "rmse", "standard_error", "p95",
             "auto_there"]  # fmt: skip
    show(results, columns, names, paths, 2, results.details["groups"])
    for place in results.details["left_out"]:
        terminal.complain("left out", f"{place} is of other pilots.")
    terminal.say("")
    terminal.show_table(*table(results.details["targets"]), 2)


@app.command()
def kept_aside(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Sources that nothing was trained on."),
    ],
    methods: Chosen = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Sizes of the pilots; 50 to 5,000 by default.", metavar="K,K,..."),
    ] = None,
    pilots: Annotated[
        int | None, typer.Option(help="Pilots of each size at most; 5 to 30 by default.")
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast whole real sources that the default did not learn from, with its intervals."""
    from experiments.yardstick import kept_aside as experiment

    settings = settings_for("kept_aside", output, seed, jobs, fresh, sources)
    with terminal.progress("Running kept_aside"):
        results = experiment.kept_aside(
            settings,
            sources,
            methods=names_of(methods) or experiment.METHODS,
            sizes=None if sizes is None else [_whole(k, "--sizes") for k in listed(sizes)],
            pilots=pilots,
        )
        paths = results.write(settings.output, experiment.draw)
    shares = [f"holds_{ratio}" for ratio in experiment.RATIOS]
    columns = ["source", "method", "pilots", "RMSE", "to oracle",
               *(f"{ratio} K" for ratio in experiment.RATIOS), "step"]  # fmt: skip
    names = ["source", "method", "pilots", "rmse", "to_oracle", *shares, "step_95"]
    show(results, columns, names, paths, 2, results.details["summary"])


@app.command()
def laws(
    names: Annotated[
        str | None,
        typer.Option("--laws", help="Which of them; all by default.", metavar="LAW,LAW,..."),
    ] = None,
    methods: Chosen = None,
    pilots: Annotated[
        int | None,
        typer.Option(help="Pilots of each law and size at most; 40 to 100 by default."),
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast laws of U and worlds of classes that are hard for the default, with intervals."""
    from experiments.yardstick import laws as experiment

    settings = settings_for("laws", output, seed, jobs, fresh, [])
    with terminal.progress("Running laws"):
        results = experiment.laws(
            settings,
            names=names_of(names),
            methods=names_of(methods) or experiment.METHODS,
            pilots=pilots,
        )
        paths = results.write(settings.output, experiment.draw)
    shares = [f"holds_{ratio}" for ratio in experiment.RATIOS]
    columns = ["law", "method", "pilots", "RMSE", "to oracle", "to plain", "s.e.", "bias",
               *(f"{ratio} K" for ratio in experiment.RATIOS), "step"]  # fmt: skip
    columns_of = ["law", "method", "pilots", "rmse", "to_oracle", "to_probit_normal",
                  "error_of_ratio", "bias_20", *shares, "step_95"]  # fmt: skip
    show(results, columns, columns_of, paths, 2, experiment.summary_rows(results))


@app.command()
def nist(
    folder: Annotated[Path, typer.Argument(help="Holds the two frvt1n_2021 tables.")],
    methods: Chosen = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast face search among 12 million people from 1.6 million, as NIST measured both."""
    from experiments.published import nist as experiment

    inputs = [folder / name for name in (experiment.CURVES, experiment.TRUTHS)]
    settings = settings_for("nist", output, seed, jobs, fresh, inputs)
    with terminal.progress("Running nist"):
        results = experiment.nist(settings, folder, methods=names_of(methods) or experiment.METHODS)
        paths = results.write(settings.output, experiment.draw)
    columns = ["method", "people", "algorithms", "median ratio", "mean |log error|", "holds"]
    names = ["method", "people", "algorithms", "median_ratio", "log_error", "holds"]
    show(results, columns, names, paths, 1, results.details["summary"])


@app.command()
def sampled(
    folder: Annotated[
        Path, typer.Argument(help="Holds definitions_tfidf.npz and omniglot_pixels.npz.")
    ],
    draws: Annotated[int, typer.Option(help="How often every probe's rivals are drawn.")] = 20,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Estimate recall@10, MRR and nDCG@10 of whole sets from ranks among 99 sampled rivals."""
    from experiments.sampled import sampled as experiment

    inputs = [folder / name for name in experiment.SETS.values()]
    settings = settings_for("sampled", output, seed, jobs, fresh, inputs)
    with terminal.progress("Running sampled"):
        results = experiment.sampled(settings, folder, draws=draws)
        paths = results.write(settings.output, experiment.draw)
    columns = ["set", "metric", "method", "truth", "mean", "bias", "sd", "RMSE"]
    names = ["set", "metric", "method", "truth", "mean", "bias", "sd", "rmse"]
    show(results, columns, names, paths, 3)
    terminal.say("\nOver sets and metrics:")
    terminal.show_table(*experiment.summary_table(results), 1)
    terminal.say("\nThe toy of Krichene and Rendle:")
    terminal.show_table(*experiment.toy_table(results), 2)


@app.command()
def metrics(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Holds omniglot_*.npz, definitions_tfidf.npz and lfw_dlib_pairs.npz; without it "
            "only simulations.",
        ),
    ] = None,
    pilots: Annotated[
        int | None, typer.Option(help="Pilots of each kind at most; 3 to 30 by default.")
    ] = None,
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = 0,
    fresh: Fresh = False,
) -> None:
    """Forecast top-m, MRR, nDCG, recall and MAP up to 20 times the pilot, beside what people do."""
    from experiments.ranking import metrics as experiment
    from experiments.ranking import places

    with terminal.progress("Running metrics"):
        settings = settings_for("metrics", output, seed, jobs, fresh, places.inputs(folder))
        results = experiment.metrics(settings, folder, pilots=pilots)
        paths = results.write(settings.output, experiment.draw)
    columns, names = list(experiment.COLUMNS), list(experiment.SHOWN)
    show(results, columns, names, paths, 3, results.details["summary"])


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def training(context: typer.Context) -> None:
    """Make problems, train the default on them, pack its weights; `training --help` says how."""
    from experiments.training import learn

    learn.main(context.args)


app.command()(coverage)
app.command()(calibration)
app.command()(sources)


def _whole(text: str, name: str) -> int:
    from headcount.support.validation import whole_number

    return whole_number(text.replace("_", ""), name, 2)


def _counts(text: str | None, option: str = "--fewer-repeats") -> dict[str, int]:
    """Parse 'kde=50,regression=100'; the options of a method may hold = too."""
    counts = {}
    for setting in listed(text or ""):
        name, equals, count = setting.rpartition("=")
        if not equals:
            raise ParameterError(
                f"{option} must look like METHOD=50, but has {setting!r}; add a number."
            )
        counts[name] = _at_least_one(count, option)
    return counts


def _at_least_one(text: str, option: str) -> int:
    from headcount.support.validation import whole_number

    return whole_number(text, option, 1)


def main(argv: list[str] | None = None) -> int:
    """Run an experiment as a command, and return its exit code."""
    return command_line.main(argv, app)
