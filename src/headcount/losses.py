"""The loss table: what every method that needs only losses works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount import arrays


@dataclass(frozen=True)
class LossTable:
    """Distinct numbers of losses and the weight of the probes that have them.

    The tie rule has been applied and rows are in ascending order, so that nothing computed from
    the table depends on the order in which probes or classes were given. Weights sum to one.
    """

    losses: NDArray[np.int64]
    weights: NDArray[np.float64]
    censored: NDArray[np.bool_]
    n_rivals: int


def checked_counts(
    losses: Any, ties: Any, censored: Any, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return losses, ties and censoring as arrays, refused unless they are possible."""
    lost = arrays.as_counts(losses, "losses")
    tied = np.zeros_like(lost) if ties is None else arrays.as_counts(ties, "ties")
    cut = np.zeros(len(lost), np.bool_)
    if censored is not None:
        cut = arrays.as_flags(censored, "censored")
    arrays.same_length(tied, "ties", len(lost), "losses")
    arrays.same_length(cut, "censored", len(lost), "losses")
    arrays.refuse(
        lost + tied > n_classes - 1,
        "losses",
        f"have more losses and ties than the {n_classes - 1:,} wrong classes",
        lambda i: f"{lost[i]} losses and {tied[i]} ties",
        "check n_classes",
    )
    arrays.refuse(
        cut & (tied > 0),
        "ties",
        "are censored and yet have ties",
        lambda i: f"{tied[i]} ties",
        "a censored probe's ties are not known: give 0",
    )
    return lost, tied, cut


def collapse(
    losses: NDArray[np.int64],
    ties: NDArray[np.int64],
    weights: NDArray[np.float64],
    chosen: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum weights over equal losses, spreading each probe over its ties; order-independent."""
    losses, ties, weights = losses[chosen], ties[chosen], weights[chosen]
    if len(losses) == 0:
        return losses, weights
    order = np.lexsort((weights, ties, losses))
    losses, ties, weights = losses[order], ties[order], weights[order]
    plain = ties == 0
    values, inverse = np.unique(losses[plain], return_inverse=True)
    sums: NDArray[np.float64] = np.bincount(inverse, weights[plain], len(values)).astype(float)
    if plain.all():
        return values, sums
    low, high = int(losses.min()), int((losses + ties).max())
    steps = np.zeros(high - low + 2)
    share = weights[~plain] / (ties[~plain] + 1)
    np.add.at(steps, losses[~plain] - low, share)
    np.subtract.at(steps, losses[~plain] + ties[~plain] + 1 - low, share)
    spread = np.cumsum(steps[:-1])
    covered = np.zeros(high - low + 2, np.int64)
    np.add.at(covered, losses[~plain] - low, 1)
    np.subtract.at(covered, losses[~plain] + ties[~plain] + 1 - low, 1)
    spread[np.cumsum(covered[:-1]) == 0] = 0.0  # what is left there is round-off
    spread[values - low] += sums
    found = np.flatnonzero(spread > 0)
    return found + low, spread[found]
