r"""What the learned forecast sees of a pilot.

Two parts. Of each probe: where its true score lies among its impostor scores (those of the wrong
classes), how these are distributed, how many losses it has, and how its class fares as a rival of
other probes. Of the whole pilot: sizes, the observed curve, and a probit-normal fit. Scores are
standardised probe by probe, so that none of it changes with an increasing linear map of the scores,
with the order of probes or classes, or with negated scores of flipped orientation.

`experiments.training.features` computes the same for many random problems at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from headcount.curves.favorability import Favorability
from headcount.estimators.shared.likelihood import effective_classes
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RATIOS = 2.0 ** np.arange(-3, 7)  # k / K at which curves are compared and corrected
N_SEEN = 4  # of these are at most one: there the curve is observed
RANKS = (1, 2, 3, 5, 8, 13, 21, 34)  # best impostors, as many as there are
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SPANS = (4, 8, 16, 32)  # best impostors from whose spacing a local unit is taken
FURTHEST = 30.0  # standardised scores beyond are as good as this
LEAST_UNIT = 1e-3  # of a local unit, in spreads: ties would make it zero
N_LOSSES = 6  # the first features of a probe, known without scores
N_FEATURES = N_LOSSES + 1 + len(RANKS) + len(LEVELS) + 2 + 2 * len(SPANS) + 3
N_SIZES = 5  # the last features of the whole: sizes, and whether there are scores
N_GLOBALS = 2 * N_SEEN + len(RATIOS) + 2 + N_SIZES
LOGIT_REACH = 9.0


@dataclass(frozen=True)
class Evidence:
    """What the network sees.

    Attributes
    ----------
    probes : ndarray of shape (N, features)
        What is known of each probe.
    members : ndarray of int64, shape (N,)
        Number of each probe's class among the classes with probes.
    class_weights : ndarray
        Weight of each class with probes; they sum to one.
    whole : ndarray
        What is known of the whole pilot.
    base : ndarray
        Accuracies of the base fit at `RATIOS`, on the logit scale.
    counts : ndarray
        Numbers of classes at `RATIOS`; need not be whole.
    has_scores : bool
        Whether the scores were used.
    coarseness : float
        Share of impostor scores that equal the next better one of the same probe.
    """

    probes: Floats
    members: Ints
    class_weights: Floats
    whole: Floats
    base: Floats
    counts: Floats
    has_scores: bool
    coarseness: float


def gather(
    pilot: Pilot, law: Favorability, mu: float, tau: float, *, use_scores: bool = True
) -> Evidence:
    """Return the evidence of a pilot without censored probes.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    law, mu, tau
        Its probit-normal fit, the base.
    use_scores : bool
        Whether to use scores where there are some.
    """
    has_scores = use_scores and pilot.has_scores and pilot.n_classes > 2
    members, class_weights = _members(pilot)
    probes = np.zeros((pilot.n_probes, N_FEATURES))
    probes[:, :N_LOSSES] = _loss_features(pilot, has_scores)
    coarseness = 0.0
    if has_scores:
        probes[:, N_LOSSES:], coarseness = _score_features(pilot)
    counts = class_counts(pilot.n_classes)
    base = logit(law_curve(law, counts))
    seen = observed_at(pilot, counts[:N_SEEN])
    sizes = (pilot.n_classes, effective_classes(pilot), len(class_weights), pilot.n_probes)
    whole = whole_features(seen, base, mu, tau, sizes, has_scores)
    return Evidence(probes, members, class_weights, whole, base, counts, has_scores, coarseness)


def class_counts(n_classes: int) -> Floats:
    """Return the numbers of classes at which curves are compared: `RATIOS` times K, at least 2."""
    return np.asarray(np.maximum(RATIOS * n_classes, 2.0))


def logit(accuracy: Floats) -> Floats:
    """Return the logit, kept within reach of what a pilot could show."""
    edge = 1 / (1 + np.exp(LOGIT_REACH))
    inside = np.clip(accuracy, edge, 1 - edge)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def law_curve(law: Favorability, counts: Floats) -> Floats:
    """Return accuracies of a law at numbers of classes that need not be whole."""
    log_u = np.log1p(-np.minimum(law.p, 1 - 1e-16))
    return np.asarray(np.exp(np.multiply.outer(counts - 1, log_u)) @ law.weights)


def observed_at(pilot: Pilot, counts: Floats) -> Floats:
    """Return the observed curve at numbers of classes that need not be whole.

    The same formula as `headcount.observe` with gamma functions for the factorials.
    """
    table = pilot.table()
    n, m = float(table.n_rivals), np.minimum(counts - 1, table.n_rivals)[:, None]
    left = n - table.losses
    rest = left - m
    log_chance = gammaln(left + 1) - gammaln(np.maximum(rest, 0.0) + 1)
    log_chance += gammaln(n - m + 1) - gammaln(n + 1)
    return np.asarray(np.where(rest >= 0, np.exp(log_chance), 0.0) @ table.weights)


def whole_features(
    seen: Floats,
    base: Floats,
    mu: float,
    tau: float,
    sizes: tuple[float, float, float, float],
    has_scores: bool,
) -> Floats:
    """Return what is known of the whole pilot."""
    n_classes, n_effective, n_members, n_probes = sizes
    fitted = 1 / (1 + np.exp(-base[:N_SEEN]))
    misfit = (seen - fitted) * np.sqrt(n_effective)
    extra = [
        mu,
        np.log(tau),
        np.log(n_classes),
        np.log(n_effective),
        np.log(n_probes),
        np.log(n_probes / n_members),
        float(has_scores),
    ]
    return np.concatenate([logit(seen), misfit, base, extra])


def signed_log(values: Floats) -> Floats:
    """Return sign(x) log(1 + |x|), which tames long tails."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _members(pilot: Pilot) -> tuple[Ints, Floats]:
    """Return each probe's class, and what classes weigh; without labels each probe is a class."""
    if pilot.labels is None:
        return np.arange(pilot.n_probes), np.asarray(pilot.weights)
    _, members = np.unique(pilot.labels, return_inverse=True)
    return members.astype(np.int64), np.bincount(members, pilot.weights).astype(np.float64)


def _settled(pilot: Pilot) -> tuple[Floats, Floats]:
    """Return losses with ties settled by the pilot's rule on average, and ties left to chance."""
    losses, ties = pilot.settled
    return losses + ties / 2, ties.astype(np.float64)


def _loss_features(pilot: Pilot, has_scores: bool) -> Floats:
    losses, ties = _settled(pilot)
    n = pilot.n_classes - 1
    one = np.ones(pilot.n_probes)
    columns = [
        np.log((losses + 0.5) / (n - losses + 0.5)),
        np.log1p(losses),
        (losses < 0.5).astype(np.float64),
        np.log1p(ties),
        np.log(pilot.n_classes) * one,
        has_scores * one,
    ]
    return np.column_stack(columns)


def _score_features(pilot: Pilot) -> tuple[Floats, float]:
    """Return what the scores say of each probe, in one pass over blocks of them; and coarseness."""
    assert pilot.labels is not None  # a pilot with scores has labels
    out = np.empty((pilot.n_probes, N_FEATURES - N_LOSSES))
    rivals = np.zeros((3, pilot.n_classes))
    alike = 0
    for rows, block in pilot.score_blocks():
        best, true = _impostors(block, pilot.labels[rows])
        alike += int(np.count_nonzero(best[:, 1:] == best[:, :-1]))
        out[rows, :-3] = _block_features(block, best, true, pilot.labels[rows], rivals)
    own = np.bincount(pilot.labels, minlength=pilot.n_classes)
    others = np.maximum(pilot.n_probes - own, 1)
    mean, square, beaten = rivals / others
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    as_rival = np.stack([mean, spread, np.log(beaten * (pilot.n_classes - 1) + 0.5)])
    out[:, -3:] = as_rival.T[pilot.labels]
    return out, alike / (pilot.n_probes * (pilot.n_classes - 2))


def _impostors(scores: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Return the scores of wrong classes, best first, and those of the true ones."""
    here = np.arange(len(scores))
    best = scores.copy()
    best[here, labels] = -np.inf
    best.sort(axis=1)
    return best[:, :0:-1], scores[here, labels]


def _block_features(
    scores: Floats, best: Floats, true: Floats, labels: Ints, rivals: Floats
) -> Floats:
    """Return features of some probes, and add how each class did as their rival."""
    mean = best.mean(axis=1)
    spread = best.std(axis=1, ddof=1)
    # Impostors all alike have no spread; the true score then is far from them, or is one more.
    spread = np.where(spread > 0, spread, np.maximum(np.abs(true - mean), 1e-300) / FURTHEST)

    def standard(values: Floats) -> Floats:
        z = (values - mean[:, None]) / spread[:, None]
        return np.asarray(np.clip(z, -FURTHEST, FURTHEST))

    z, z_true = standard(best), standard(true[:, None])
    # Whether a rival wins is seen from the scores themselves, not from rounded ones.
    beats = (scores > true[:, None]) + 0.5 * (scores == true[:, None])
    _add_rivals(standard(scores), beats, labels, rivals)
    return np.concatenate([_placed(z, z_true), _shape(z), *_local(z, z_true)], axis=1)


def _add_rivals(z: Floats, beats: Floats, labels: Ints, rivals: Floats) -> None:
    here = np.arange(len(z))
    z[here, labels] = 0.0
    beats[here, labels] = 0.0
    rivals += np.stack([z.sum(axis=0), np.square(z).sum(axis=0), beats.sum(axis=0)])


def _placed(z: Floats, z_true: Floats) -> Floats:
    """Return the true score, the best impostors and quantiles of all of them."""
    last = z.shape[1] - 1
    ranks = np.minimum(np.array(RANKS) - 1, last)
    place = (1 - np.array(LEVELS)) * last
    under = np.floor(place).astype(np.intp)
    part = place - under
    quantiles = z[:, under] * (1 - part) + z[:, np.minimum(under + 1, last)] * part
    return np.concatenate([signed_log(z_true), z[:, ranks], quantiles], axis=1)


def _shape(z: Floats) -> Floats:
    """Return skewness and excess kurtosis of the impostors."""
    centred = z - z.mean(axis=1, keepdims=True)
    square = centred * centred
    variance = np.maximum(square.mean(axis=1), 1e-12)
    skewness = (square * centred).mean(axis=1) / variance**1.5
    kurtosis = (square * square).mean(axis=1) / variance**2 - 3
    return np.column_stack([signed_log(skewness), signed_log(kurtosis)])


def _local(z: Floats, z_true: Floats) -> list[Floats]:
    """Return how far the true score is ahead, in units of how far the best impostors spread.

    The mean excess of the best m impostors over the next one is the scale of an exponential tail.
    """
    gaps, units = [], []
    for span in SPANS:
        m = min(span, z.shape[1] - 1)
        edge = z[:, m]
        unit = np.maximum(z[:, :m].mean(axis=1) - edge, LEAST_UNIT)
        gaps.append(signed_log((z_true[:, 0] - edge) / unit))
        units.append(np.log(unit))
    return [np.column_stack(gaps), np.column_stack(units)]
