"""Neighbour lists, which end before the whole gallery does.

A list shows who scored above the true class only as far as it goes. Where the true class is not
in it, all that is known is that at least so many others beat it: the probe is *censored* there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, pdtrc

from headcount.errors import DataError
from headcount.pilot.labels import number_of_classes
from headcount.pilot.loading.safe_arrays import INTEGER
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.words import counted

UPSIDE_DOWN = 0.9
LUCK = 1e-6


def pilot_from_neighbours(
    ids: Any,
    distances: Any,
    labels: Any,
    n_classes: int,
    *,
    gallery_labels: Any = None,
    higher_is_better: bool = False,
    average: str = "macro",
    tie_rule: str = "random",
) -> Pilot:
    """Make a pilot from the neighbour lists of an approximate index.

    Parameters
    ----------
    ids : array of shape (n_probes, depth)
        What the index returned for each probe, gallery row numbers (-1 for none) or class names.
        A row number may be in a list once, a name several times.
    distances : array of shape (n_probes, depth)
        Their distances, in any order but worst first.
    labels : sequence
        True class of each probe.
    n_classes : int
        How many classes the index holds.
    gallery_labels : sequence, optional
        Class of each gallery row; by default row i is class i.
    higher_is_better : bool
        True for similarities, as an inner-product index returns. Lists that then run from worst to
        best are refused.
    average, tie_rule
        See `Pilot`.

    Returns
    -------
    Pilot
        Probes whose class is not in their list are censored at the number of classes in it. A class
        that scores as the last of a list may tie with others beyond it, see `Pilot.possible_ties`.

    Examples
    --------
    The second probe's class, 7, is not among its two neighbours:

    >>> from headcount.pilot.loading import pilot_from_neighbours
    >>> pilot = pilot_from_neighbours([[3, 5], [1, 2]], [[0.1, 0.4], [0.2, 0.3]], [5, 7], 100)
    >>> pilot.losses.tolist(), pilot.censored.tolist()
    ([1, 2], [False, True])
    """
    entries = np.asarray(ids)
    scores = validation.as_matrix(distances, "distances").astype(np.float64)
    true = validation.as_labels(labels, "labels")
    n_classes = number_of_classes(n_classes, 2)
    higher_is_better = validation.truth(higher_is_better, "higher_is_better")
    if entries.shape != scores.shape or len(entries) != len(true):
        raise DataError(
            f"ids {entries.shape}, distances {scores.shape} and {len(true):,} labels disagree; "
            "ids and distances need the same shape and one row for each label."
        )
    _refuse_wrapped(entries)
    flat = validation.as_labels(entries.ravel(), "ids")
    valid = np.ones(len(flat), np.bool_) if flat.dtype.kind == "U" else flat >= 0
    probe = np.repeat(np.arange(len(entries)), entries.shape[1])[valid]
    score = (scores if higher_is_better else -scores).ravel()[valid]
    bad = np.zeros(len(entries), np.bool_)
    bad[probe[~np.isfinite(score)]] = True
    validation.refuse_not_finite(bad, lambda i: np.asarray(scores[i]), "distances")
    _refuse_worst_first(probe, score, len(entries), higher_is_better)
    if flat.dtype.kind == "i":
        _refuse_repeated(probe, flat[valid], len(entries))
    classes = _classes_of(flat[valid], gallery_labels)
    _refuse_unknown(true, flat, gallery_labels, n_classes)
    n_listed = len(np.unique(classes))
    if n_listed > n_classes:
        raise DataError(
            f"the lists name {counted(n_listed, 'class')}, but n_classes is {n_classes:,}; give "
            "the number of classes in the whole index."
        )
    listed, (losses, ties, censored, possible_ties) = _compare(
        probe, classes, score, true, n_classes
    )
    pilot = Pilot.from_losses(
        losses,
        n_classes,
        ties=ties,
        censored=censored,
        possible_ties=possible_ties,
        labels=true,
        average=average,
        tie_rule=tie_rule,
    )
    return pilot._with_listed_scores(listed)


def _refuse_wrapped(ids: NDArray[Any]) -> None:
    """Refuse ids that 64 bits with a sign cannot hold: they would turn negative, and mean none."""
    if ids.dtype.kind == "u":
        validation.refuse(
            np.asarray((ids >= 2**63).any(axis=1)),
            "ids",
            "hold a row number of 2**63 or more",
            lambda i: f"id {ids[i].max()}",
            "give row numbers, and -1 in a signed type where there is none",
        )


def _refuse_worst_first(
    probe: NDArray[np.intp], score: NDArray[np.float64], n_probes: int, higher_is_better: bool
) -> None:
    """Refuse lists that get better from one entry to the next: an index returns the best first.

    Lists in no order go up as often as down, so a few entries out of place do not hide it.
    """
    inside = probe[1:] == probe[:-1]
    better = np.bincount(probe[1:][inside & (score[1:] > score[:-1])], minlength=n_probes)
    worse = np.bincount(probe[1:][inside & (score[1:] < score[:-1])], minlength=n_probes)
    course, kind, remedy = "fall", "distances", "True (--higher-is-better)"
    if higher_is_better:
        course, kind, remedy = "rise", "similarities", "False (--lower-is-better)"
    n_better, n_steps = better.sum(), better.sum() + worse.sum()
    if n_better > UPSIDE_DOWN * n_steps:
        raise DataError(
            f"distances {course} along the lists in {n_better:,} of {n_steps:,} steps, so if they "
            f"are {kind} the worst comes first; say higher_is_better={remedy}, in the npz file or "
            "as an option, or put the best first."
        )
    backwards = np.flatnonzero((better > 0) & (worse == 0))
    if _more_than_luck(len(backwards), better + worse):
        raise DataError(
            f"distances {course} from end to end in {len(backwards):,} of {n_probes:,} lists "
            f"(first: row {backwards[0]}), so if they are {kind} the worst comes first there; give "
            f"{kind} in all lists, best first, or in none and say higher_is_better={remedy}."
        )


def _more_than_luck(n_backwards: int, n_steps: NDArray[np.int64]) -> bool:
    """Whether so many lists from worst to best are more than lists in no order would hold.

    Of the (n + 1)! orders of n + 1 different entries, one runs so.
    """
    expected = np.exp(-gammaln(n_steps[n_steps > 0] + 2)).sum()
    return bool(n_backwards > 0 and pdtrc(n_backwards - 1, expected) < LUCK)


def _refuse_repeated(probe: NDArray[np.intp], ids: NDArray[Any], n_probes: int) -> None:
    order = np.lexsort((ids, probe))
    near, far = order[:-1], order[1:]
    again = near[(probe[near] == probe[far]) & (ids[near] == ids[far])]
    wrong = np.zeros(n_probes, np.bool_)
    wrong[probe[again]] = True
    validation.refuse(
        wrong,
        "ids",
        "name a gallery row twice",
        lambda i: f"id {ids[again[probe[again] == i][0]]}",
        "list each row once; ids that are classes of several rows go as text",
    )


def _classes_of(ids: NDArray[Any], gallery_labels: Any) -> NDArray[Any]:
    if gallery_labels is None:
        return ids
    names = validation.as_labels(gallery_labels, "gallery labels")
    if ids.dtype.kind != "i":
        raise DataError("ids must be row numbers of the gallery where gallery labels are given.")
    validation.refuse(
        ids >= len(names),
        "ids",
        f"point past the {len(names):,} gallery labels",
        lambda i: f"id {ids[i]}",
        "give one gallery label for each row in the index",
    )
    return np.asarray(names[ids])


def _refuse_unknown(
    true: NDArray[Any], ids: NDArray[Any], gallery_labels: Any, n_classes: int
) -> None:
    """Refuse labels of classes that are not in the index: their probes could never be right."""
    remedy = "labels must be row numbers of the gallery, or give gallery labels"
    if gallery_labels is not None:
        names = validation.as_labels(gallery_labels, "gallery labels")
        unknown = ~np.isin(true.astype(str), names.astype(str))
        remedy = "labels must be among the gallery labels"
    elif true.dtype.kind == "i":
        unknown = (true < 0) | (true >= n_classes)
    elif ids.dtype.kind == "i":
        unknown = np.array([not _is_row(label, n_classes) for label in true.tolist()], np.bool_)
    else:
        return
    validation.refuse(
        unknown, "labels", "name no class of the index", lambda i: f"label {true[i]}", remedy
    )


def _is_row(label: str, n_rows: int) -> bool:
    """Whether a text is the number of a row, as it would be printed."""
    return INTEGER.fullmatch(label) is not None and 0 <= int(label) < n_rows


def _compare(
    probe: NDArray[np.intp],
    classes: NDArray[Any],
    score: NDArray[np.float64],
    true: NDArray[Any],
    n_classes: int,
) -> tuple[NDArray[np.float64], tuple[NDArray[Any], ...]]:
    """Scores of the true class and of the best other; losses, ties, censoring, possible ties.

    All from the best entry of each class.
    """
    last = np.full(len(true), np.inf)  # beyond a list nothing scores above its last entry
    np.minimum.at(last, probe, score)
    both = np.concatenate([classes.astype(str), true.astype(str)])
    codes = np.unique(both, return_inverse=True)[1]
    listed, of_probe = codes[: len(classes)], codes[len(classes) :]
    order = np.lexsort((-score, listed, probe))
    probe, listed, score = probe[order], listed[order], score[order]
    first = np.ones(len(probe), np.bool_)
    first[1:] = (probe[1:] != probe[:-1]) | (listed[1:] != listed[:-1])
    probe, listed, score = probe[first], listed[first], score[first]
    mine = listed == of_probe[probe]
    level, rival = np.full((2, len(true)), -np.inf)
    level[probe[mine]] = score[mine]
    np.maximum.at(rival, probe[~mine], score[~mine])

    def count(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(probe[chosen], minlength=len(true))

    losses = count(~mine & (score > level[probe]))
    ties = count(~mine & (score == level[probe]))
    beyond = n_classes - count(np.ones(len(probe), np.bool_))
    censored = np.isneginf(level)
    at_the_end = np.where(censored, count(score == last[probe]), beyond)
    possible_ties = np.where(censored | (level == last), at_the_end, 0)
    return np.column_stack([level, rival]), (losses, ties, censored, possible_ties)
