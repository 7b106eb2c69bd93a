r"""Families of near-duplicates, seen from how often two classes take each other's probes.

Classes a and b that lie a distance z apart (in units of twice the scatter of probes) take a share
:math:`\Phi(-z)` of each other's probes. Spread over any smooth population of d dimensions, pairs of
classes get more numerous with distance, as :math:`z^{d-1}` or faster than not at all, as far as
pairs that ever take a probe reach. Families do not: many pairs are close, few in between.

So the distances of pairs are estimated twice from the counts c of n probes that each pair took,
:math:`c \sim \mathrm{Binomial}(n, \Phi(-z))`, given that c is not zero: once without any condition,
once as a density that does not fall. Twice the difference of their log likelihoods says how much
better the data are explained by families.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr
from scipy.stats import binom

from headcount.checks.check_input import CheckInput, Floats, Ints

DISTANCES = np.arange(0.0, 3.6, 0.1)  # further apart, hardly a probe is taken
ROUNDS = 300  # of expectation maximisation, past which likelihoods change by less than 0.1
# Of 1,000 healthy pilots of all kinds the highest is 3.6, of 52 with classes on a line, whose pairs
# depend on each other most, 10.2; see docs/checks.md.
SURPRISE = 12.0
# Where so many pairs take each other's probes, or so much is tied, scores know too little: pairs
# that are far apart look close.
CROWDED = 0.2
TIED = 0.1
# Pairs that take so much of each other's probes are named.
CLOSE = 0.2
# What relatives take from each other is about even: of as many probes, so much is taken back.
MUTUAL = 0.4


def families(case: CheckInput) -> tuple[Ints, Ints, Floats] | None:
    """Return the close pairs of classes and the share they take, where those are families."""
    rivals, tied, counts = case.rivals, case.tied, case.probes_per_class
    assert rivals is not None and tied is not None  # whoever asks has looked
    both = (rivals + rivals.T).tocoo()
    first, second = both.row.astype(np.int64), both.col.astype(np.int64)
    chosen = (first < second) & (np.minimum(counts[first], counts[second]) > 1)
    first, second, taken = first[chosen], second[chosen], both.data[chosen]
    n_pairs, shown = len(counts) * (len(counts) - 1) / 2, counts[first] + counts[second]
    if not 0 < len(first) <= CROWDED * n_pairs or tied.sum() / 2 > TIED * rivals.sum():
        return None
    if surprise(np.floor(taken + 0.5).astype(np.int64), shown) < SURPRISE:
        return None
    share = taken / shown
    near = share >= CLOSE
    first, second, share = first[near], second[near], share[near]
    there, back = entries(rivals, first, second), entries(rivals, second, first)
    if 2 * np.minimum(there, back).sum() < MUTUAL * (there + back).sum():
        return None  # hubs take probes and lose none
    return first, second, share


def entries(matrix: csr_array, rows: Ints, columns: Ints) -> Floats:
    """Read single entries of a sparse matrix."""
    if len(rows) == 0:
        return np.zeros(0)
    return np.asarray(matrix[rows, columns]).ravel()


def surprise(taken: Ints, shown: Ints) -> float:
    """Return twice the log likelihood ratio of any law of distances against one that never falls.

    Parameters
    ----------
    taken, shown : ndarray of int64
        Of each pair, how many of its probes were taken, one at least, and how many there are.

    Examples
    --------
    Counts that get rare gradually, and such with a gap:

    >>> few, many = np.repeat([1, 2, 3], [80, 20, 5]), np.repeat([1, 5, 6], [80, 10, 15])
    >>> bool(surprise(few, np.full(105, 10)) < 1), bool(surprise(many, np.full(105, 10)) > 20)
    (True, True)
    """
    (seen, probes), often = np.unique(np.stack([taken, shown]), axis=1, return_counts=True)
    share, weight = ndtr(-DISTANCES), often.astype(np.float64)
    ever = -np.expm1(probes[:, None] * np.log1p(-share))
    likelihood = binom.pmf(seen[:, None], probes[:, None], share) / ever
    # Of laws that do not fall: even beyond some distance. Only pairs that take a probe are seen.
    rising = np.triu(np.ones((len(share), len(share)))) * (weight @ ever)
    rising /= rising.sum(axis=1, keepdims=True)
    free = _best(likelihood, weight)
    return 2 * (free - _best(likelihood @ rising.T, weight))


def _best(likelihood: Floats, weight: Floats) -> float:
    """Return the log likelihood of the best mixture of columns."""
    mass = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(ROUNDS):
        mass *= (weight / (likelihood @ mass)) @ likelihood / weight.sum()
    return float(weight @ np.log(likelihood @ mass))
