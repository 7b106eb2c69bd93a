"""Kernel density estimation of the wrong classes' scores, probe by probe (Kay et al.)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.curves.favorability import Favorability
from headcount.errors import AssumptionWarning, warn
from headcount.estimators.base import Extrapolator
from headcount.estimators.shared import kernels
from headcount.estimators.shared.bandwidths import rule_number
from headcount.pilot.pilot import Pilot
from headcount.support.words import counted
from headcount.support.workers import for_each, row_blocks

Floats = NDArray[np.float64]

LEAST_P = 1e-300  # a normal tail never ends: p = 0 would be an atom the estimate does not have
ROWS = 64
PANELS, PANEL_NODES = 50, 8


class Kde(Extrapolator):
    r"""The scores of wrong classes have, for each probe, a density smoothed by a Gaussian kernel.

    A probe with true score t and scores :math:`s_1 \dots s_n` of the n = K - 1 wrong classes beats
    one more wrong class with chance

    .. math:: U = \frac1n \sum_j \Phi\!\left(\frac{t - s_j}{h}\right),

    where the bandwidth h is chosen from that probe's :math:`s_j` alone; the law of U is the
    weighted mixture over probes. It is computed as p = 1 - U, so that tiny p keep their digits.

    The method uses how far scores are apart, so it changes with their scale: a square root or a
    logarithm of the scores gives another forecast. It ignores that U is only estimated: even an
    unbiased estimate of U has biased powers. `docs/kde.md` shows both with numbers.

    A probe whose wrong classes all score the same has no bandwidth (but for ``"nrd0"``), and
    neither has one with a single wrong class. It then beats all of them, or none; where it ties
    with them the pilot's tie rule decides, and under ``"random"`` U is uniform from 0 to 1. A
    kernel gives single scores no mass, so ties mean nothing special elsewhere.

    Parameters
    ----------
    bandwidth : {"ucv", "bcv", "nrd0", "pseudolikelihood"}
        How h is chosen: unbiased or biased cross-validation as R's ``bw.ucv`` and ``bw.bcv`` do,
        Silverman's rule, or the best leave-one-out likelihood, as Kay et al. advise; see
        `headcount.estimators.shared.bandwidths.bandwidth`.

    Attributes
    ----------
    bandwidths_ : ndarray of float64, shape (n_probes,)
        The bandwidth of each probe, in the order of the pilot's probes.

    References
    ----------
    Kay, Naselaris, Prenger and Gallant (2008), *Identifying natural images from human brain
    activity*, as described by Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for
    recognition tasks*, §7, and by Slavutsky and Benjamini (2021), §2.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount import Pilot
    >>> from headcount.estimators.kde import Kde
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200)
    >>> scores = rng.normal(size=(200, 200)) + 3 * np.eye(200)
    >>> Kde().fit(Pilot.from_scores(scores, labels)).predict([200, 2000]).round(2).tolist()
    [0.57, 0.41]
    """

    alias = "kde"
    needs = "scores"
    about = "a smoothed density of the wrong classes' scores for each probe (Kay et al.)"
    cost = "seconds; with pseudolikelihood up to a minute"
    advice = "for comparison: it changes with the scale of the scores and is biased far out"

    def __init__(self, *, bandwidth: str = "ucv") -> None:
        self.bandwidth = bandwidth

    def _estimate(self, pilot: Pilot) -> Favorability:
        rule = rule_number(self.bandwidth)
        p, self.bandwidths_ = _survival(pilot, rule)
        flat = p < 0
        if not flat.any():
            return Favorability(p, pilot.weights)
        warn(
            f"{counted(int(flat.sum()), 'probe')} of {pilot.n_probes:,} cannot be smoothed, as all "
            f"wrong classes score the same there; for them method {self.alias} only repeats what "
            "was observed.",
            AssumptionWarning,
        )
        nodes, weights = _counted_law(pilot, flat)
        return Favorability(
            np.concatenate([p[~flat], nodes]), np.concatenate([pilot.weights[~flat], weights])
        )


def _survival(pilot: Pilot, rule: int) -> tuple[Floats, Floats]:
    """Return p and the bandwidth of each probe; p is -1 where the bandwidth is zero."""
    p, widths = np.empty((2, pilot.n_probes))
    labels = pilot.labels
    assert labels is not None  # a pilot with scores has labels
    for rows, scores in pilot.score_blocks():
        places = np.arange(len(scores)), labels[rows]
        true = scores[places]
        scores[places] = -np.inf  # first when sorted

        def work(
            chosen: slice,
            scores: Floats = scores,
            true: Floats = true,
            out: tuple[Floats, Floats] = (p[rows], widths[rows]),
        ) -> None:
            impostors = np.ascontiguousarray(np.sort(scores[chosen], axis=1)[:, 1:])
            survival, width = (array[chosen] for array in out)
            kernels.survival_rows(impostors, true[chosen], rule, LEAST_P, survival, width)

        for_each(work, row_blocks(len(scores), ROWS), task="Smoothing scores")
    return p, widths


def _counted_law(pilot: Pilot, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return nodes and weights of p for some probes, from counts of losses and ties alone.

    With ties in random order p is uniform between the share of rivals that beat the probe and the
    share that beat or tie it.
    """
    n_rivals = pilot.n_classes - 1
    losses, ties, weights = (array[chosen] for array in (*pilot.settled, pilot.weights))
    tied = ties > 0
    nodes, masses = [losses[~tied] / n_rivals], [weights[~tied]]
    place, share = _uniform_nodes()
    pairs, which = np.unique(
        np.column_stack([losses[tied], ties[tied]]), axis=0, return_inverse=True
    )
    totals = np.bincount(which.ravel(), weights[tied], len(pairs))
    for (lost, width), total in zip(pairs, totals, strict=True):
        nodes.append((lost + width * place) / n_rivals)
        masses.append(total * share)
    return np.concatenate(nodes), np.concatenate(masses)


def _uniform_nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, 1], denser and denser near 0, good for any power of 1 - p."""
    x, w = np.polynomial.legendre.leggauss(PANEL_NODES)
    right = 0.5 ** np.arange(PANELS)
    left = np.append(right[1:], 0.0)
    half = (right - left)[:, None] / 2
    return (left[:, None] + half * (x + 1)).ravel(), (half * w).ravel()
