"""Options that several commands share: of a pilot, and of its answer."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from headcount.errors import ParameterError
from headcount.support.words import OF_RUNS, OURS, Nouns, speaking
from headcount.support.workers import doing

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot


PilotFile = Annotated[
    Path,
    typer.Argument(
        metavar="PILOT",
        help="What you measured: npz, npy, csv, tsv, parquet, or a TREC run. Text may be gzipped.",
    ),
]
Labels = Annotated[
    Path | None, typer.Option(help="True class of each row: .npy, or .txt with one in each line.")
]
Gallery = Annotated[
    Path | None, typer.Option(help="Embeddings that are enrolled; PILOT then holds the probes.")
]
GalleryLabels = Annotated[Path | None, typer.Option(help="Class of each row of the gallery.")]
Similarity = Annotated[
    str | None,
    typer.Option(help="How to compare embeddings: euclidean, cosine or dot. PILOT holds them."),
]
Better = Annotated[
    bool | None,
    typer.Option(
        "--higher-is-better/--lower-is-better",
        help="Whether scores are similarities (the default) or distances (the default for "
        "neighbour lists).",
    ),
]
Qrels = Annotated[Path | None, typer.Option(help="Relevance judgements; PILOT is then a TREC run.")]
RelevantFrom = Annotated[
    float | None,
    typer.Option(
        "--relevant-from", help="Least grade that counts as relevant; any above 0 by default."
    ),
]
Always = Annotated[
    Path | None,
    typer.Option(
        help="Classes or documents that are present at every size: one in each line; of a run, "
        "also a query and a document."
    ),
]
Size = Annotated[
    int | None, typer.Option("--n-classes", help="Number of classes in the whole collection.")
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--sampled-negatives",
        help="How many random rivals each probe met, of its own; the file has a column rank (1 is "
        "best) or losses.",
        metavar="N",
    ),
]
Average = Annotated[
    str | None, typer.Option(help="macro: classes weigh the same (default). micro: probes do.")
]
TieRule = Annotated[
    str | None, typer.Option(help="How an exact tie is broken: random (default), lose or win.")
]
GroupsFile = Annotated[
    Path | None,
    typer.Option("--groups", help="Group of each class: .npy, or .txt with one in each line."),
]
Drawn = Annotated[
    str | None,
    typer.Option(
        help="How groups came: groups, whole ones (default); classes, one by one from groups that "
        "stay the same; strata, a fixed number from each."
    ),
]
Noun = Annotated[
    str | None,
    typer.Option(help="Your word for classes, e.g. person/people.", metavar="ONE/MANY"),
]
ProbeNoun = Annotated[
    str | None,
    typer.Option(help="Your word for probes (test points), e.g. photo/photos.", metavar="ONE/MANY"),
]


@dataclass(frozen=True)
class PilotFiles:
    """Where a pilot is, what its files cannot say, and what its classes are called."""

    path: Path
    options: dict[str, Any]
    nouns: Nouns = OURS

    @property
    def inputs(self) -> list[Path]:
        """All files that will be read."""
        named = [
            self.options[n]
            for n in ("labels", "gallery", "gallery_labels", "qrels", "always", "groups")
        ]
        return [self.path, *(path for path in named if path is not None)]

    def load(self) -> Pilot:
        """Read the pilot."""
        from headcount.pilot.loading import load

        with doing(f"Reading {self.path.name}"):
            pilot = load(self.path, **self.options)
        if self.nouns == OURS:
            return pilot
        return pilot.with_nouns(self.nouns.noun, self.nouns.probe_noun)


def _shared(
    pilot: PilotFile,
    labels: Labels = None,
    gallery: Gallery = None,
    gallery_labels: GalleryLabels = None,
    similarity: Similarity = None,
    higher_is_better: Better = None,
    qrels: Qrels = None,
    relevant_from: RelevantFrom = None,
    always: Always = None,
    n_classes: Size = None,
    sampled_negatives: Samples = None,
    average: Average = None,
    tie_rule: TieRule = None,
    groups: GroupsFile = None,
    drawn: Drawn = None,
    noun: Noun = None,
    probe_noun: ProbeNoun = None,
) -> None:
    """Carry the signature that `reads_pilot` adds to a command."""


def reads_pilot(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's `pilot` parameter by the argument and options that describe one."""
    shared = inspect.signature(_shared).parameters
    declared = inspect.signature(command).parameters

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        files = [path.name for path in _paths(arguments.values())]
        options = {name: arguments.pop(name) for name in shared if name != "pilot"}
        usual = OURS if options["qrels"] is None else OF_RUNS
        nouns = Nouns.of(options.pop("noun"), options.pop("probe_noun"), usual)
        with speaking(nouns, files):
            command(pilot=PilotFiles(arguments.pop("pilot"), options, nouns), **arguments)

    keyword = inspect.Parameter.KEYWORD_ONLY
    keywords = [p for name, p in declared.items() if name != "pilot"]
    keywords += [p for name, p in shared.items() if name != "pilot"]
    parameters = [shared["pilot"], *(p.replace(kind=keyword) for p in keywords)]
    hints = get_type_hints(command, include_extras=True) | get_type_hints(
        _shared, include_extras=True
    )
    parameters = [p.replace(annotation=hints[p.name]) for p in parameters]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapped.__wrapped__
    return wrapped


def _paths(values: Iterable[Any]) -> Iterator[Path]:
    """Yield the files among the values of options, some of which are lists."""
    for value in values:
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, Path):
                yield item


Classes = Annotated[
    str, typer.Option(help="Numbers of classes, e.g. 1000,10000.", metavar="K,K,...")
]
MetricName = Annotated[
    str,
    typer.Option(
        "--metric",
        help="What to forecast: accuracy, top-5 (true class among the best 5), mrr (one over its "
        "rank), mrr@10 (nothing past rank 10); of queries with several relevant documents "
        "recall@5, precision@5, ndcg@10, map.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="One that 'headcount methods' lists, or your own as package.module:Class. "
        "Options follow as :option=value.",
        metavar="NAME",
    ),
]
Mix = Annotated[
    str | None,
    typer.Option(
        help="Shares of the pilot's groups among the classes to come, e.g. a=0.9,b=0.1.",
        metavar="MIX",
    ),
]
Confidence = Annotated[float, typer.Option(help="Share of intervals that should hold the truth.")]
Intervals = Annotated[
    bool,
    typer.Option(help="Back-test the method on the pilot and give intervals. Takes seconds."),
]
Jobs = Annotated[int | None, typer.Option(help="Workers for the back-test; -1 for all cores.")]
Seed = Annotated[
    int, typer.Option(help="Seed of random numbers, in the back-test and in some methods.")
]
Plot = Annotated[Path | None, typer.Option(help="Also draw a picture: .png, .svg or .pdf.")]
ErrorRate = Annotated[
    bool,
    typer.Option("--error-rate", help="Pictures and reports show error rates, not accuracies."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print a table as CSV.")]
Report = Annotated[
    Path | None, typer.Option(help="Also write a report, one page to pass on: .html.")
]
Title = Annotated[str | None, typer.Option(help="Title of the report.")]
Note = Annotated[str | None, typer.Option(help="A note to the readers of the report.")]


def numbers_of(text: str) -> list[int]:
    """Parse '1000,10000' (also '1_000' and '1e4'); numbers of classes start at 2."""
    from headcount.support.validation import whole_number

    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise ParameterError("--classes names no number of classes; write e.g. 1000,10000.")
    numbers = []
    for word in words:
        value: Any = word.replace("_", "")
        value = float(value) if "e" in value.lower() and _is_number(value) else value
        numbers.append(whole_number(value, "a number of classes", 2))
    return sorted(set(numbers))


def mix_of(text: str | None) -> dict[str, float] | None:
    """Parse 'a=0.9,b=0.1'; a name may hold equals signs, and commas if it is quoted.

    Examples
    --------
    >>> mix_of('a=0.9,"b, c"=0.1')
    {'a': 0.9, 'b, c': 0.1}
    """
    if text is None:
        return None
    mix: dict[str, float] = {}
    for quoted, plain, share in re.findall(r'\s*(?:"([^"]*)"|([^,]*))=([^=,]*)(?:,|$)|.+', text):
        name = quoted or plain.strip()
        if not name or not _is_number(share) or name in mix:
            raise ParameterError(
                f"--mix must give each group a share once, as in a=0.9,b=0.1, but is {text!r:.60}."
            )
        mix[name] = float(share)
    return mix


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def check_output(
    output: Path | None, inputs: Sequence[Path], right_kind: Callable[[Path], None] | None = None
) -> None:
    """Refuse a file that cannot be written, or is of the wrong kind, before any work is done."""
    if output is None:
        return
    from headcount.support.output import check_writable, refuse_overwriting

    refuse_overwriting(output, inputs)
    if right_kind is not None:
        right_kind(output)
    check_writable(output)


def check_plot(output: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a picture that cannot be written before any work is done."""
    from headcount.display.plots import check_picture

    check_output(output, inputs, check_picture)


def check_error_rate(error_rate: bool, *outputs: Path | None) -> None:
    """Refuse to say how something is drawn where nothing is."""
    if error_rate and all(output is None for output in outputs):
        raise ParameterError("--error-rate is for pictures; give --plot or --report too.")


def one_format(as_json: bool, as_csv: bool) -> None:
    """Refuse two kinds of output at once."""
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other; choose one.")


def check_report(
    report: Path | None, inputs: Sequence[Path], title: str | None = None, note: str | None = None
) -> None:
    """Refuse a report that cannot be written before any work is done."""
    if report is None:  # asked first: the page needs packages that others do without
        if title or note:
            raise ParameterError("--title and --note are for a report; add --report report.html.")
        return
    from headcount.display.report import check_report as check_page

    check_output(report, inputs, check_page)


def write_page(
    report: Path | None,
    context: typer.Context,
    inputs: Sequence[Path],
    result: Any,
    *,
    title: str | None,
    note: str | None,
    **more: Any,
) -> None:
    """Write a report that says which command made it, if one was asked for."""
    if report is None:
        return
    from headcount.display.report import reproduce_command, write_report

    names = [path.name for path in inputs]
    more |= {"title": title or "", "note": note or ""}
    how = reproduce_command(context, names)
    with doing(f"Writing {report.name}"):
        write_report(report, result, sources=names, reproduction=how, **more)


def listed(text: str) -> list[str]:
    """Split at commas, but not inside brackets, such as those of layers=(512,128)."""
    items = re.split(r",(?![^(\[]*[)\]])", text)
    return [item.strip() for item in items if item.strip()]
