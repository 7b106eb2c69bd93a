"""How far the observed curve may be off: other classes and probes would have given another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from headcount.errors import UnsupportedError
from headcount.observed import Observed
from headcount.pilot import Pilot

Floats = NDArray[np.float64]

TINY = 1e-12  # a spread below this is round-off
LOSSES_A_TIE = {"random": 0.5, "lose": 1.0, "win": 0.0}


def of_log_odds(pilot: Pilot, seen: Observed, k: NDArray[np.int64], spread: Floats) -> Floats:
    """Return standard errors of accuracies as those of their log odds.

    With every probe right (or wrong) there is no spread, and half a probe stands in.
    """
    half = 0.5 / pilot.n_probes
    shown = np.clip(seen.accuracy(k), half, 1 - half)
    binomial = np.sqrt(shown * (1 - shown) / pilot.n_probes)
    return np.where(spread > TINY, spread, binomial) / (shown * (1 - shown))


def standard_error(pilot: Pilot, seen: Observed, k: NDArray[np.int64]) -> tuple[Floats, bool]:
    """Return the standard error of the observed accuracy, and whether rivals are in it."""
    if pilot.has_scores:
        from headcount.risk.asymptotics import accuracy_standard_error

        try:
            return accuracy_standard_error(pilot, k), True
        except UnsupportedError:
            pass
    chances = _chances(pilot, k)
    apart = pilot.weights * (chances - seen.accuracy(k)[:, None])
    if pilot.labels is None:
        return np.sqrt(np.square(apart).sum(axis=1)), False
    total = [np.bincount(pilot.labels, row, pilot.n_classes) for row in apart]
    return np.sqrt(np.square(total).sum(axis=1)), False


def _chances(pilot: Pilot, k: NDArray[np.int64]) -> Floats:
    """Chance of each probe to be right among k classes, a row for each k.

    Where ties are broken at random, one is taken for half a loss.
    """
    rivals = pilot.n_classes - 1
    unbeaten = rivals - pilot.losses - pilot.ties * LOSSES_A_TIE[pilot.tie_rule]
    draws = (k - 1)[:, None]
    with np.errstate(invalid="ignore"):
        log = gammaln(unbeaten + 1) - gammaln(np.maximum(unbeaten - draws, -0.5) + 1)
    whole = gammaln(rivals + 1) - gammaln(rivals - draws + 1)
    return np.where(unbeaten >= draws, np.exp(np.minimum(log - whole, 0.0)), 0.0)


def probe_variance(pilot: Pilot) -> float | None:
    """Variance of the accuracy at K that comes from the finite number of probes of each class.

    None where no class has two probes: then it cannot be told from that of classes.
    """
    if pilot.labels is None:
        return None
    share = {"random": 1 / (1.0 + pilot.ties), "lose": pilot.ties == 0, "win": 1.0}
    right = (pilot.losses == 0) * share[pilot.tie_rule]
    count = np.bincount(pilot.labels, minlength=pilot.n_classes)
    several = count >= 2
    if not several.any():
        return None
    mean = np.bincount(pilot.labels, right, pilot.n_classes) / np.maximum(count, 1)
    squares = np.bincount(pilot.labels, (right - mean[pilot.labels]) ** 2, pilot.n_classes)
    weight = np.bincount(pilot.labels, pilot.weights, pilot.n_classes)
    held = np.zeros(pilot.n_classes)
    held[several] = squares[several] / (count[several] - 1)
    held[(count == 1)] = held[several].mean()
    return float(np.sum(weight**2 * held / np.maximum(count, 1)))


def probes_per_class(pilot: Pilot) -> float:
    """Return the mean number of probes of a class that has any."""
    if pilot.labels is None:
        return 1.0
    return pilot.n_probes / len(np.unique(pilot.labels))
