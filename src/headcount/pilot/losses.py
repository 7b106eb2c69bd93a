"""The loss table: what every method that needs only losses works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.support import validation

FEW_ROWS = 4_000_000

LossRows = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True)
class LossTable:
    """Distinct numbers of losses and the weight of the probes that have them.

    The tie rule has been applied and rows are in ascending order, so that nothing computed from
    the table depends on the order in which probes or classes were given. Weights sum to one.

    Where lists were cut amid equal scores, `bounds` holds the fewest and the most losses there can
    be, each as losses in ascending order and their weights.
    """

    losses: NDArray[np.int64]
    weights: NDArray[np.float64]
    censored: NDArray[np.bool_]
    n_rivals: int
    bounds: tuple[LossRows, LossRows] | None = None


def checked_counts(
    losses: Any, ties: Any, censored: Any, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return losses, ties and censoring as arrays, refused unless they are possible."""
    lost = validation.as_counts(losses, "losses")
    tied = np.zeros_like(lost) if ties is None else validation.as_counts(ties, "ties")
    cut = np.zeros(len(lost), np.bool_)
    if censored is not None:
        cut = validation.as_flags(censored, "censored")
    validation.same_length(tied, "ties", len(lost), "losses")
    validation.same_length(cut, "censored", len(lost), "losses")
    validation.refuse(
        (lost >= n_classes) | (tied > n_classes - 1 - lost),  # a sum could overflow
        "losses",
        f"have more losses and ties than the {n_classes - 1:,} wrong classes",
        lambda i: f"{lost[i]} losses and {tied[i]} ties",
        "check n_classes",
    )
    validation.refuse(
        cut & (tied > 0),
        "ties",
        "are censored and yet have ties",
        lambda i: f"{tied[i]} ties",
        "a censored probe's ties are not known: give 0",
    )
    return lost, tied, cut


def checked_possible_ties(
    possible_ties: Any,
    losses: NDArray[np.int64],
    ties: NDArray[np.int64],
    censored: NDArray[np.bool_],
    n_classes: int,
) -> NDArray[np.int64]:
    """Return how many more classes may tie, refused unless there are so many."""
    if possible_ties is None:
        return np.zeros_like(losses)
    possible = validation.as_counts(possible_ties, "possible ties")
    validation.same_length(possible, "possible ties", len(losses), "losses")
    validation.refuse(
        possible > np.where(censored, losses, n_classes - 1 - losses - ties),
        "possible ties",
        "have more of them than classes that may tie",
        lambda i: f"{possible[i]} possible ties",
        "count losses of censored probes, and classes beyond the list of others",
    )
    return possible


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
    values, sums = _summed(losses[plain], weights[plain])
    if plain.all():
        return values, sums
    tied, n_rows = ~plain, ties[~plain] + 1
    share = weights[tied] / n_rows
    if n_rows.sum() <= FEW_ROWS:
        places = np.repeat(losses[tied], n_rows) + _count_up(n_rows)
        return _summed(
            np.concatenate([values, places]), np.concatenate([sums, np.repeat(share, n_rows)])
        )
    return _swept(values, sums, losses[tied], n_rows, share)


def _swept(
    values: NDArray[np.int64],
    sums: NDArray[np.float64],
    first: NDArray[np.int64],
    n_rows: NDArray[np.int64],
    share: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add long runs of ties by sweeping over all numbers of losses they reach."""
    low, high = int(min(first.min(), values.min(initial=first.min()))), int((first + n_rows).max())
    high = max(high, int(values.max(initial=0)) + 1)
    spread, covered = np.zeros(high - low), np.zeros(high - low + 1, np.int64)
    ends = ((first - low, 1), (first + n_rows - low, -1))
    for summand in validation.whole_and_rest(share):
        steps = np.zeros(high - low + 1)
        for place, sign in ends:
            np.add.at(steps, place, sign * summand)
        spread += np.cumsum(steps[:-1])
    for place, sign in ends:
        np.add.at(covered, place, sign)
    spread[np.cumsum(covered[:-1]) == 0] = 0.0  # what is left there is round-off
    spread[values - low] += sums
    reached = np.flatnonzero(spread > 0)
    return reached + low, spread[reached]


def _count_up(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 ... length - 1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def _summed(
    places: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum weights over equal places."""
    values, inverse = np.unique(places, return_inverse=True)
    return values, np.bincount(inverse, weights, len(values)).astype(np.float64)
