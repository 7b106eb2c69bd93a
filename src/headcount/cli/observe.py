"""`headcount observe`: what the pilot itself says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount.cli import terminal
from headcount.cli.options import AsCsv, AsJson, PilotFiles, numbers_of, one_format, reads_pilot
from headcount.errors import listening
from headcount.support.words import percent

if TYPE_CHECKING:
    from headcount.metrics import Metric
    from headcount.pilot.pilot import Pilot


@reads_pilot
def observe(
    pilot: PilotFiles,
    classes: Annotated[
        str | None, typer.Option(help="Numbers of classes up to the pilot's.", metavar="K,K,...")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What to show: accuracy, top-5, mrr, recall@5, ndcg@10, map and the like.  "
            "[default: accuracy,top-5,mrr]",
            metavar="NAME,...",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what the pilot itself says: a summary, and its exact metrics up to its own size.

    For example:

    headcount observe scores.npz --classes 10,100,500
    """
    with terminal.progress("Looking at the pilot"), listening() as warnings:
        import numpy as np

        from headcount.curves.observed import observe as make_curve
        from headcount.metrics import ACCURACY, MRR, Top, resolve_metric
        from headcount.support import output
        from headcount.support.grids import round_numbers

        one_format(as_json, as_csv)
        chosen = None if metric is None else [resolve_metric(name) for name in metric.split(",")]
        asked = None if classes is None else numbers_of(classes)
        data = pilot.load()
        curve = make_curve(data)
        asked = asked or [*round_numbers(curve.n_classes - 1)[1:], curve.n_classes]
        # How many classes of a group beat a probe is not looked at where groups come whole.
        ranks = not data.whole_groups
        metrics = list(dict.fromkeys(chosen or [ACCURACY, *([Top(5), MRR] if ranks else [])]))
        columns = {
            "classes": asked,
            **{metric.name: curve.value(asked, metric).tolist() for metric in metrics},
        }
        if ranks:
            columns["median_rank"] = curve.median_rank(asked).astype(int).tolist()
        if not curve.exact:
            lower, upper = curve.bounds(asked, metrics[0])
            columns |= {"lower": lower.tolist(), "upper": upper.tolist()}
        summary = data.summary() if not (as_json or as_csv) else None
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if as_json:
        terminal.show_json(_answer(data, rows) | {"warnings": warnings})
    elif as_csv:
        terminal.put(output.as_csv({name: np.asarray(column) for name, column in columns.items()}))
    else:
        terminal.say(str(summary))
        _show(rows, metrics)


def _show(rows: list[dict[str, float]], metrics: list[Metric]) -> None:
    bounded, ranks = "lower" in rows[0], "median_rank" in rows[0]
    labels = [metric.label for metric in metrics]
    columns = ["classes", *labels, *(["median rank"] if ranks else [])]
    cells = [
        [
            f"{row['classes']:,}",
            *(metric.write(row[metric.name]) for metric in metrics),
            *([f"{row['median_rank']:,}"] if ranks else []),
            *([f"{percent(row['lower'])} to {percent(row['upper'])}"] if bounded else []),
        ]
        for row in rows
    ]
    terminal.say("")
    terminal.show_table(columns + ([f"{labels[0]} within"] if bounded else []), cells)


def _answer(data: Pilot, rows: list[dict[str, float]]) -> dict[str, Any]:
    size = {"n_classes": data.n_classes, "n_probes": data.n_probes}
    return {**size, "observed": rows}
