"""The options that describe a pilot, the same for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from headcount.threads import doing
from headcount.wording import OURS, Nouns, speaking

if TYPE_CHECKING:
    from headcount.pilot import Pilot

PilotFile = Annotated[
    Path,
    typer.Argument(
        metavar="PILOT", help="npz, npy, csv, tsv, parquet, or a TREC run; text may be gzipped."
    ),
]
Labels = Annotated[
    Path | None, typer.Option(help="True class of each row: .npy, or .txt with one a line.")
]
Gallery = Annotated[Path | None, typer.Option(help="Enrolled embeddings; PILOT holds the probes.")]
GalleryLabels = Annotated[Path | None, typer.Option(help="Class of each gallery row.")]
Metric = Annotated[
    str | None, typer.Option(help="euclidean, cosine or dot: rows of PILOT are embeddings.")
]
Better = Annotated[
    bool | None,
    typer.Option(
        "--higher-is-better/--lower-is-better",
        help="Similarities (the default) or distances (the default for neighbour lists).",
    ),
]
Qrels = Annotated[Path | None, typer.Option(help="Relevance judgements: PILOT is a TREC run.")]
Size = Annotated[int | None, typer.Option("--n-classes", help="Size of the whole collection.")]
Average = Annotated[
    str | None, typer.Option(help="macro: classes weigh the same (default); micro: probes do.")
]
TieRule = Annotated[
    str | None, typer.Option(help="What an exact tie counts: random (default), lose or win.")
]
Noun = Annotated[
    str | None,
    typer.Option(help="What to call classes in words, e.g. person/people.", metavar="ONE/MANY"),
]
ProbeNoun = Annotated[
    str | None,
    typer.Option(help="What to call probes in words, e.g. photo/photos.", metavar="ONE/MANY"),
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
        named = [self.options[n] for n in ("labels", "gallery", "gallery_labels", "qrels")]
        return [self.path, *(path for path in named if path is not None)]

    def load(self) -> Pilot:
        """Read the pilot."""
        from headcount.loading import load

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
    metric: Metric = None,
    higher_is_better: Better = None,
    qrels: Qrels = None,
    n_classes: Size = None,
    average: Average = None,
    tie_rule: TieRule = None,
    noun: Noun = None,
    probe_noun: ProbeNoun = None,
) -> None:
    """Carry the signature that `reads_pilot` adds to a command."""


def reads_pilot(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's `pilot` parameter by the argument and options that describe one."""
    shared = inspect.signature(_shared).parameters
    own = inspect.signature(command).parameters

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        files = [path.name for path in _paths(given.values())]
        options = {name: given.pop(name) for name in shared if name != "pilot"}
        nouns = Nouns.of(options.pop("noun"), options.pop("probe_noun"))
        with speaking(nouns, files):
            command(pilot=PilotFiles(given.pop("pilot"), options, nouns), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    rest = [p for name, p in own.items() if name != "pilot"]
    rest += [p for name, p in shared.items() if name != "pilot"]
    parameters = [shared["pilot"], *(p.replace(kind=keyword) for p in rest)]
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
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Path):
                yield one
