"""What a pilot looks like at a glance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UnsupportedError
from headcount.support.words import OURS, Nouns, counted, named, percent

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

NOTED = 5


@dataclass(frozen=True)
class ClassNote:
    """One class worth a look, and the share that makes it so."""

    name: str
    share: float


@dataclass(frozen=True)
class PilotSummary:
    """Counts, balance, ties, accuracy and the classes to look at first.

    `hardest` lists the classes whose probes lose to most others, with the share of other classes
    that score above the true one; `confusing` the classes that most often score above the true
    class of other classes' probes, with the share of those probes. Both are empty where the pilot
    cannot tell.
    """

    n_classes: int
    n_probes: int
    classes_without_probes: int
    fewest_probes: int
    median_probes: float
    most_probes: int
    tied: float
    censored: int
    accuracy: float
    two_class_accuracy: float
    hardest: tuple[ClassNote, ...]
    confusing: tuple[ClassNote, ...]
    groups: tuple[ClassNote, ...]
    rivals: str = "shared"
    graded: tuple[int, int] = (1, 1)
    always: tuple[int, int] = (0, 0)
    nouns: Nouns = OURS

    @property
    def size(self) -> str:
        """How many classes and probes there are, in words."""
        return self.nouns.rename(
            f"{counted(self.n_classes, 'class')}, {counted(self.n_probes, 'probe')}"
        )

    def lines(self) -> dict[str, str]:
        """Return what there is to say, in words, by what it is about."""
        among = f"{percent(self.accuracy)} among all {self.n_classes:,} classes"
        texts = {"probes a class": self._balance()} if self.graded == (1, 1) else {}
        texts["accuracy"] = f"{among}, {percent(self.two_class_accuracy)} between two"
        if self.rivals == "independent":
            texts["rivals"] = f"each probe met {self.n_classes - 1:,} of its own"
        if self.graded != (1, 1):
            several = _range(*self.graded)
            texts["graded"] = f"{several} documents a query; those that join have no grade"
        if self.always[1]:
            stay = f"{_range(*self.always)} of the others"
            texts["always"] = f"{stay} are present at every size; only the rest will be more"
        if self.tied:
            texts["ties"] = f"{percent(self.tied)} of probes tie with a wrong class"
        if self.censored:
            texts["censored"] = f"{counted(self.censored, 'probe')}, true class not in the list"
        short = {
            title.removesuffix(" classes").lower(): text for title, text in self.notable().items()
        }
        texts |= short
        return {self.nouns.rename(title): self.nouns.rename(text) for title, text in texts.items()}

    def notable(self) -> dict[str, str]:
        """Return the classes and groups to look at first; the first bracket says what it means."""
        kinds = (
            ("Hardest classes", self.hardest, "beaten by {} of the other classes"),
            (
                "Most confusing classes",
                self.confusing,
                "above the true class for {} of others' probes",
            ),
            ("Weakest groups", self.groups, "{} right"),
        )
        return {title: _listed(notes, meaning) for title, notes, meaning in kinds if notes}

    def __str__(self) -> str:
        lines = self.lines()
        width = max(17, *map(len, lines))
        return "\n".join(
            [self.size, *(f"  {title:<{width}} {text}" for title, text in lines.items())]
        )

    def _balance(self) -> str:
        if self.most_probes == 0:
            return "not known (no labels)"
        if self.fewest_probes == self.most_probes:
            text = f"{self.most_probes:,}"
        else:
            text = f"{self.fewest_probes:,} to {self.most_probes:,}, median {self.median_probes:g}"
        if self.classes_without_probes:
            text += f"; none, only competing: {counted(self.classes_without_probes, 'class')}"
        return text


def _listed(notes: tuple[ClassNote, ...], meaning: str) -> str:
    """Return names with their shares in brackets, the first one with what it is a share of."""
    shares = [percent(note.share) for note in notes]
    brackets = [meaning.format(shares[0]), *shares[1:]]
    return ", ".join(
        f"{named(note.name)} ({bracket})" for note, bracket in zip(notes, brackets, strict=True)
    )


def summarise(pilot: Pilot, *, hubs: bool = True) -> PilotSummary:
    """Look a pilot over; without `hubs`, which take a pass over the scores, that is quick."""
    right, favorable = pilot.right, _favorability(pilot)
    labels = pilot.labels
    present = np.zeros(1, np.int64)
    if labels is not None:
        present = np.bincount(labels)
        present = present[present > 0]
    return PilotSummary(
        n_classes=pilot.n_classes,
        n_probes=pilot.n_probes,
        classes_without_probes=0 if labels is None else pilot.n_classes - len(present),
        fewest_probes=int(present.min()),
        median_probes=float(np.median(present)),
        most_probes=int(present.max()),
        tied=float((pilot.ties > 0).mean()),
        censored=int(pilot.censored.sum()),
        accuracy=float(pilot.weights @ right),
        two_class_accuracy=float(pilot.weights @ favorable),
        hardest=_if_known(hardest_classes, pilot),
        confusing=_if_known(hub_classes, pilot) if hubs else (),
        groups=_by_group(pilot, right),
        rivals=pilot.rivals,
        graded=(1, 1) if pilot.ranking is None else _range_of(pilot.ranking.n_graded),
        always=(0, 0) if pilot.ranking is None else _range_of(pilot.ranking.n_always),
        nouns=pilot.nouns,
    )


def _range_of(counts: NDArray[np.int64]) -> tuple[int, int]:
    return int(counts.min()), int(counts.max())


def _range(fewest: int, most: int) -> str:
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


def _favorability(pilot: Pilot) -> NDArray[np.float64]:
    """Chance that each probe's true class is chosen over one random other class.

    For a censored probe it lies between zero and what its losses allow; the middle is given.
    """
    losses, ties = pilot.settled
    beaten = (losses + 0.5 * ties) / (pilot.n_classes - 1)
    return np.where(pilot.censored, 0.5, 1.0) * (1 - beaten)


def hardest_classes(pilot: Pilot, most: int = NOTED) -> tuple[ClassNote, ...]:
    """Return the classes whose probes lose to most others, with the share that they lose to.

    Examples
    --------
    >>> from headcount import Pilot
    >>> pilot = Pilot.from_losses([0, 2, 4], 5, labels=["a", "b", "c"])
    >>> hardest_classes(pilot)
    (ClassNote(name='c', share=1.0), ClassNote(name='b', share=0.5))
    """
    if pilot.labels is None:
        raise UnsupportedError(
            "this pilot has no labels, so nothing is known about single classes; give labels."
        )
    n_names, lost = len(pilot.class_names), 1 - _favorability(pilot)
    per_class = np.bincount(pilot.labels, minlength=n_names)
    share = np.bincount(pilot.labels, lost, n_names) / np.maximum(per_class, 1)
    return _notes(pilot.class_names, share, most)


def hub_classes(pilot: Pilot, most: int = NOTED) -> tuple[ClassNote, ...]:
    """Return the classes that most often score above the true class of other classes' probes.

    Given with the share of those probes; needs scores, and a pass over them.
    """
    wins = pilot.beats().wins()
    assert pilot.labels is not None  # a pilot with scores has labels
    others = pilot.n_probes - np.bincount(pilot.labels, minlength=pilot.n_classes)
    return _notes(pilot.class_names, wins / np.maximum(others, 1), most)


def _if_known(
    find: Callable[[Pilot], tuple[ClassNote, ...]], pilot: Pilot
) -> tuple[ClassNote, ...]:
    """Return nothing where the pilot cannot tell."""
    try:
        return find(pilot)
    except UnsupportedError:
        return ()


def _by_group(pilot: Pilot, right: NDArray[np.float64]) -> tuple[ClassNote, ...]:
    """Accuracy of each group that has probes, worst first."""
    if pilot.groups is None or pilot.labels is None:
        return ()
    names, of_class = np.unique(pilot.groups, return_inverse=True)
    of_probe = of_class[pilot.labels]
    total = np.bincount(of_probe, pilot.weights, len(names))
    present = total > 0
    share = np.bincount(of_probe, pilot.weights * right, len(names))[present] / total[present]
    order = np.argsort(share, kind="stable")[:NOTED]
    return tuple(ClassNote(str(names[present][i]), float(share[i])) for i in order)


def _notes(names: NDArray[np.str_], share: NDArray[np.float64], most: int) -> tuple[ClassNote, ...]:
    """Return the classes with the largest shares."""
    order = np.argsort(-share, kind="stable")[:most]
    return tuple(ClassNote(str(names[i]), float(share[i])) for i in order if share[i] > 0)
