"""Groups of classes in known proportions: a mix, and groups by how popular classes are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import DataError, ParameterError
from headcount.support import validation
from headcount.support.words import counted

Floats = NDArray[np.float64]

ROUNDED = 0.002  # by which shares that were rounded may miss one
FEWEST = 6  # classes of a group: half of them must still show how alike they are
LISTED = 5


def check_mix(groups: NDArray[Any] | None, mix: Any) -> dict[str, float]:
    """Return the share of each group that has one, by name in ascending order.

    Shares must sum to one, up to rounding, and are then scaled to do so.

    Parameters
    ----------
    groups : ndarray or None
        Group of each class of the pilot.
    mix : mapping of str to float
        Share of each group among the classes to come.

    Examples
    --------
    >>> check_mix(np.array(["a", "b", "c"]), {"b": 0.1, "a": 0.9, "c": 0})
    {'a': 0.9, 'b': 0.1}
    """
    if not isinstance(mix, Mapping) or not mix:
        raise ParameterError(
            'a mix gives each group its share, as in {"a": 0.9, "b": 0.1}, but is '
            f"{validation.short(repr(mix), 60)}."
        )
    shares = {str(group): _share(group, share) for group, share in mix.items()}
    if len(shares) < len(mix):
        raise ParameterError("a mix names a group twice; name each once.")
    check_groups(groups, shares)
    total = sum(shares.values())
    if abs(total - 1) > ROUNDED:
        raise ParameterError(
            f"the shares of a mix sum to one, but these sum to {total:.4g}; divide each by that if "
            "no group is missing."
        )
    return {group: shares[group] / total for group in sorted(shares) if shares[group] > 0}


def check_groups(groups: NDArray[Any] | None, names: Iterable[Any]) -> None:
    """Refuse names that are no groups of the pilot."""
    if groups is None:
        raise ParameterError(
            "this pilot has no groups; make it with groups=, a group for each class "
            "(--groups FILE)."
        )
    there = sorted(set(groups.astype(str).tolist()))
    unknown = [str(name) for name in names if str(name) not in there]
    if unknown:
        raise ParameterError(
            f"{validation.short(repr(unknown[0]), 60)} is no group of the pilot; its groups are "
            f"{_listed(there)}."
        )


def refuse_small_groups(groups: NDArray[Any], mix: Mapping[str, float]) -> None:
    """Refuse a mix with a group of which the pilot has hardly any classes."""
    names = groups.astype(str)
    for group in mix:
        size = int((names == group).sum())
        if size < FEWEST:
            raise DataError(
                f"group {validation.short(group)} has {counted(size, 'class')} in the pilot, and "
                f"a mix needs {FEWEST} of each; add classes, or leave the group out of the mix."
            )


def by_popularity(
    popularity: Any, *, n_groups: int = 4, power: float = 1.0
) -> tuple[NDArray[np.str_], dict[str, float]]:
    r"""Group classes by how popular they are, with the mix in which popularity draws them.

    For classes that do not come with equal chances, but with chances by a power law: words,
    people, products. With weights :math:`w_c = \text{popularity}_c^{\text{power}}`, class c is
    drawn with a chance proportional to :math:`w_c`, as a true class and as a rival. Classes are put
    in order, the most popular first, and cut into groups of (nearly) the same total weight; the
    share of a group in the mix is its share of all weights. Inside a group all classes count as
    equally likely, so more groups come closer to the law, and leave fewer classes in each.

    The classes of the pilot must be drawn with equal chances from all there are. If they were
    themselves drawn by popularity, no mix is needed.

    Parameters
    ----------
    popularity : sequence of float
        How often each class comes up: counts, or any numbers above zero in proportion to them.
    n_groups : int
        Into how many groups to cut; fewer where single classes outweigh a group. None gets fewer
        than six classes, the fewest that a mix takes.
    power : float
        Exponent: 1 for chances in proportion to `popularity`, 0 for equal ones. For ranks
        1, 2, 3 ... instead of popularities, give the exponent of Zipf's law with a minus sign.

    Returns
    -------
    groups : ndarray of str
        Group of each class, for `groups=` of a pilot: "1" the most popular.
    mix : dict of str to float
        Share of each group, for `mix=` of a forecast.

    References
    ----------
    *How many faces can be recognized? Performance extrapolation for multi-class classification*
    (2016), section 1, leaves classes by power laws open.

    Examples
    --------
    Twelve words by Zipf's law: the six most common make up four fifths of a text.

    >>> groups, mix = by_popularity(1 / np.arange(1, 13), n_groups=2)
    >>> groups.tolist()
    ['1', '1', '1', '1', '1', '1', '2', '2', '2', '2', '2', '2']
    >>> {group: round(share, 2) for group, share in mix.items()}
    {'1': 0.79, '2': 0.21}
    """
    values = validation.as_numbers(popularity, "popularity")
    n_groups = validation.whole_number(n_groups, "n_groups", 1)
    if values.ndim != 1 or not ((values > 0) & np.isfinite(values)).all() or len(values) < FEWEST:
        raise ParameterError(
            f"popularity must be a list of at least {FEWEST} numbers above zero, one for each "
            "class."
        )
    weights = np.exp(_power(power) * np.log(values / values.max()))
    order = np.lexsort((np.arange(len(values)), -weights))
    heavier = np.cumsum(weights[order]) - weights[order]
    place = np.minimum(np.floor(heavier / weights.sum() * n_groups), n_groups - 1).astype(np.int64)
    codes = np.empty(len(values), np.int64)
    codes[order] = _without_small(place)
    names = (codes + 1).astype(str)
    total = np.bincount(codes, weights)
    return names, {str(g + 1): float(total[g] / total.sum()) for g in range(len(total))}


def _without_small(place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return groups of classes in order, each of which has enough classes, numbered anew."""
    starts, first = [0], 0
    for i in range(1, len(place)):
        new = place[i] > place[first]
        if new and i - starts[-1] >= FEWEST and len(place) - i >= FEWEST:
            starts.append(i)
            first = i
    return np.searchsorted(starts, np.arange(len(place)), side="right") - 1


def _power(power: Any) -> float:
    try:
        value = float(power)
    except (TypeError, ValueError):
        value = float("nan")
    if not abs(value) < np.inf:
        raise ParameterError(f"power must be a number, but is {power!r:.40}.")
    return value


def _share(group: Any, share: Any) -> float:
    try:
        value = float(share)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 <= value <= 1 + ROUNDED:
        raise ParameterError(
            f"the share of a group lies between 0 and 1, but that of "
            f"{validation.short(str(group))} is {share!r:.40}."
        )
    return value


def _listed(names: list[str]) -> str:
    shown = ", ".join(validation.short(name) for name in names[:LISTED])
    return shown + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")
