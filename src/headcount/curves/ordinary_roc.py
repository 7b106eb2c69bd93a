"""The ordinary ROC averaged over classes, to compare the reversed one with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headcount.curves.reversed_roc import ROCCurve
from headcount.errors import UnsupportedError
from headcount.support.workers import reporter

if TYPE_CHECKING:
    from headcount.pilot.pilot import Pilot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def class_averaged_roc(pilot: Pilot) -> ROCCurve:
    r"""Return the ordinary ROC of each class against the rest, averaged over classes.

    The curve of class y compares the probes of y with all others, by their scores for y. Let in the
    best share u of the others. Which share of the class's own probes is then let in? Probe i of
    class y is let in once u exceeds the share of others that score above it,

    .. math:: \text{ROC}_y(u) = \operatorname{mean}_{i \in y}
              1\{u > \#\{j \notin y : S_y(x_j) > S_y(x_i)\} / \#\{j \notin y\}\}.

    Ties are ramps whatever the pilot's tie rule is, so the area under the curve of a class is its
    Mann-Whitney statistic. All classes with probes weigh the same in the average. In a pilot with
    ``average="micro"`` they weigh in proportion to their probes. Classes without probes have no
    curve.

    Unlike the reversed ROC, it compares scores of different probes. If you add a number to all
    scores of one probe, this curve changes, though the winning class does not. And it does not say
    how accuracy falls with more classes.

    It takes two passes over the scores, with one block of them in memory at a time. Scores computed
    from embeddings tie between probes only up to round-off.

    Parameters
    ----------
    pilot : Pilot
        A pilot with scores, and probes of at least two classes.

    Returns
    -------
    ROCCurve
        One step or ramp for each probe, in the order of the pilot's probes. The mean of `probe`
        over the probes of a class is the curve of that class.

    References
    ----------
    Slavutsky and Benjamini (2021), *Predicting classification accuracy when adding new unobserved
    classes*, Section 3. Fawcett (2006), *An introduction to ROC analysis*.

    Examples
    --------
    Every probe is recognised, but the second one gets high scores throughout:

    >>> import headcount
    >>> from headcount.curves.ordinary_roc import class_averaged_roc
    >>> from headcount.curves.reversed_roc import reversed_roc
    >>> scores = [[3, 1, 1], [7, 9, 8], [1, 2, 4]]
    >>> pilot = headcount.Pilot.from_scores(scores, [0, 1, 2])
    >>> round(reversed_roc(pilot).auc, 3), round(class_averaged_roc(pilot).auc, 3)
    (1.0, 0.667)
    """
    true, labels = _true_scores(pilot), _labels(pilot)
    sizes = np.bincount(labels, minlength=pilot.n_classes)
    if sizes.max() == pilot.n_probes:
        raise UnsupportedError(
            "all probes are of one class, so an ordinary ROC has nothing to compare them with; "
            "add probes of other classes."
        )
    order = np.lexsort((true, labels))
    above, reached = _count(pilot, labels[order], true[order], sizes)
    low, high = np.empty((2, pilot.n_probes))
    others = (pilot.n_probes - sizes)[labels[order]]
    low[order], high[order] = above / others, reached / others
    return ROCCurve(low, high, pilot.weights)


def _count(pilot: Pilot, owner: Ints, true: Floats, sizes: Ints) -> tuple[Ints, Ints]:
    """Count, for each true score, the probes of other classes above it, and not below it.

    `true` holds the true scores, ascending within each class, and `owner` their classes.
    """
    start = np.concatenate([[0], np.cumsum(sizes)])
    present = np.flatnonzero(sizes)
    # A class with n probes has n + 1 places where others may fall, so place i of class y is here:
    # start[y] + y + i.
    under, over = np.zeros((2, len(true) + len(sizes)), np.int64)
    for rows, scores in _blocks(pilot, "Comparing probes"):
        _sort_in(scores, _labels(pilot)[rows], present, start, true, under, over)
    first, last = np.arange(len(true)) + owner, start[owner + 1] + owner
    above, reached = (passed[last] - passed[first] for passed in map(np.cumsum, (under, over)))
    return above, reached


def _true_scores(pilot: Pilot) -> Floats:
    true = np.empty(pilot.n_probes)
    for rows, scores in _blocks(pilot, "Reading scores"):
        true[rows] = scores[np.arange(len(scores)), _labels(pilot)[rows]]
    return true


def _blocks(pilot: Pilot, task: str) -> Iterator[tuple[slice, Floats]]:
    report = reporter()
    for rows, scores in pilot.score_blocks():
        yield rows, scores
        report(task, rows.stop, pilot.n_probes)


def _labels(pilot: Pilot) -> Ints:
    assert pilot.labels is not None  # a pilot with scores has labels
    return pilot.labels


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _sort_in(
    scores: Any, labels: Any, present: Any, start: Any, true: Any, under: Any, over: Any
) -> None:  # pragma: no cover - compiled, so that coverage cannot see it
    """Count where each score falls among the scores of the class's own probes.

    `true[start[y] : start[y + 1]]` are those of class y, ascending. The place of a score is how
    many of them lie below it: `under` without those equal to it, `over` with them.
    """
    for i in range(scores.shape[0]):
        for y in present:
            if y == labels[i]:
                continue
            s, low, high = scores[i, y], start[y], start[y + 1]
            while low < high:
                middle = (low + high) // 2
                if true[middle] < s:
                    low = middle + 1
                else:
                    high = middle
            under[low + y] += 1
            high = start[y + 1]
            if low < high and true[low] == s:
                while low < high:
                    middle = (low + high) // 2
                    if true[middle] <= s:
                        low = middle + 1
                    else:
                        high = middle
            over[low + y] += 1
