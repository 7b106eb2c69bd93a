r"""What the learned forecast sees of a pilot.

Two parts. Of each probe: where its true score lies among its impostor scores (those of the wrong
classes), how these are distributed, how many losses it has, and how its class fares as a rival of
other probes. Of the whole pilot: sizes, the observed curve, and the bent-normal fit with its
errors. Scores are standardised probe by probe, so that none of it changes with an increasing linear
map of the scores, with the order of probes or classes, or with negated scores of flipped
orientation.

Networks are trained on many random problems at once, in torch, and used on one pilot, in NumPy.
What they see is the same because it is written once: functions whose first argument is `xp` take
the module, `numpy` or `torch`, and its arrays. These end in the axes (probes, classes); before
them there may be others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.estimators.bent_normal import BentNormal
from headcount.estimators.shared.likelihood import effective_classes
from headcount.metrics import hypergeometric
from headcount.pilot.pilot import Pilot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RATIOS = 2.0 ** np.arange(-3, 7)  # k / K at which curves are compared and corrected
N_OBSERVED = 4  # of these are at most one: there the curve is observed
RANKS = (1, 2, 3, 5, 8, 13, 21, 34)  # best impostors, as many as there are
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SPANS = (4, 8, 16, 32)  # best impostors from whose spacing a local unit is taken
FURTHEST = 30.0  # standardised scores beyond are as good as this
LEAST_UNIT = 1e-3  # of a local unit, in spreads: ties would make it zero
N_LOSSES = 7  # the first features of a probe, known without scores
N_AS_RIVAL = 3  # the last ones: how its class fares as a rival of other probes
N_FEATURES = N_LOSSES + 1 + len(RANKS) + len(LEVELS) + 2 + 2 * len(SPANS) + N_AS_RIVAL
N_SIZES = 6  # the last features of the whole: share cut, sizes, and whether there are scores
N_GLOBALS = 2 * N_OBSERVED + 2 * len(RATIOS) + 2 + N_SIZES
LOGIT_REACH = 9.0
LEAST_ERROR = 1e-4  # of log odds: no pilot tells more


@dataclass(frozen=True)
class Features:
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
    base, errors : ndarray
        Accuracies of the bent-normal fit at `RATIOS`, on the logit scale, and how far the losses
        leave them open.
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
    errors: Floats
    counts: Floats
    has_scores: bool
    coarseness: float


def gather(pilot: Pilot, base: BentNormal, *, use_scores: bool = True) -> Features:
    """Return the features of a pilot.

    Parameters
    ----------
    pilot : Pilot
        What was measured.
    base : BentNormal
        Fitted to it.
    use_scores : bool
        Whether to use scores where there are some.
    """
    has_scores = use_scores and pilot.has_scores and pilot.n_classes > 2
    members, class_weights = _members(pilot)
    losses, ties = (count.astype(np.float64) for count in pilot.settled)
    probes = np.zeros((pilot.n_probes, N_FEATURES))
    cut = pilot.censored.astype(np.float64)
    probes[:, :N_LOSSES] = loss_features(np, losses, ties, cut, pilot.n_classes, has_scores)
    coarseness = 0.0
    if has_scores:
        probes[:, N_LOSSES:], coarseness = _in_blocks(pilot)
    counts = class_counts(pilot.n_classes)
    odds, errors = within_reach(*base.curve(counts))
    observed = observed_curve(pilot, counts[:N_OBSERVED])
    sizes = (pilot.n_classes, effective_classes(pilot), len(class_weights), pilot.n_probes)
    fit = odds, errors, base.base_.mu_, math.log(base.base_.tau_)
    whole = whole_features(np, observed, fit, np.asarray(pilot.weights @ cut), sizes, has_scores)
    return Features(
        probes, members, class_weights, whole, odds, errors, counts, has_scores, coarseness
    )


def class_counts(n_classes: int) -> Floats:
    """Return the numbers of classes at which curves are compared: `RATIOS` times K, at least 2."""
    return np.asarray(np.maximum(RATIOS * n_classes, 2.0))


def within_reach(odds: Any, errors: Any) -> tuple[Any, Any]:
    """Return log odds and their errors, kept within reach of what a pilot could show."""
    return odds.clip(-LOGIT_REACH, LOGIT_REACH), errors.clip(LEAST_ERROR, LOGIT_REACH)


def observed_curve(pilot: Pilot, counts: Floats) -> Floats:
    """Return the observed curve at numbers of classes that need not be whole.

    Of probes known only from below it is the middle of what they leave possible.
    """
    table = pilot.table()
    curve = np.zeros(len(counts))
    for rows, share in ((~table.censored, 1.0), (table.censored, 0.5)):
        losses, weights = table.losses[rows], share * table.weights[rows]
        for place, draws in enumerate(np.minimum(counts - 1, table.n_rivals).tolist()):
            curve[place] += hypergeometric.chance_unbeaten(losses, weights, table.n_rivals, draws)
    return curve


def _members(pilot: Pilot) -> tuple[Ints, Floats]:
    """Return each probe's class, and what classes weigh; without labels each probe is a class."""
    if pilot.labels is None:
        return np.arange(pilot.n_probes), np.asarray(pilot.weights)
    _, members = np.unique(pilot.labels, return_inverse=True)
    return members.astype(np.int64), np.bincount(members, pilot.weights).astype(np.float64)


def _in_blocks(pilot: Pilot) -> tuple[Floats, float]:
    """Return what the scores say of each probe, in one pass over blocks of them; and coarseness."""
    assert pilot.labels is not None  # a pilot with scores has labels
    out = np.empty((pilot.n_probes, N_FEATURES - N_LOSSES))
    sums = np.zeros((N_AS_RIVAL, pilot.n_classes))
    n_alike = 0
    for rows, scores in pilot.score_blocks():
        labels = pilot.labels[rows]
        best = impostors(np, scores, labels)
        n_alike += int(np.count_nonzero(best[:, 1:] == best[:, :-1]))
        out[rows, :-N_AS_RIVAL], block_sums = score_features(np, scores, best, labels)
        sums += block_sums
    out[:, -N_AS_RIVAL:] = rival_features(np, sums, pilot.labels)
    return out, n_alike / (pilot.n_probes * (pilot.n_classes - 2))


# -- of NumPy's arrays and of torch's --------------------------------------------------------------


def whole_features(
    xp: Any,
    observed: Any,
    fit: tuple[Any, Any, Any, Any],
    cut: Any,
    sizes: tuple[float, float, float, float],
    has_scores: bool,
) -> Any:
    """Return what is known of the whole pilot.

    Parameters
    ----------
    xp : module
        `numpy` or `torch`.
    observed : array (..., ratios)
        The observed curve at the first `RATIOS`.
    fit : tuple
        The fitted curve at all of them on the logit scale, its errors, and mu and log tau of the
        normal law.
    cut : array (...)
        Share of the probes whose losses are only known from below.
    sizes : tuple
        Numbers of classes, of equally weighted classes with probes, of classes with probes, and of
        probes.
    has_scores : bool
        Whether scores are used.
    """
    n_classes, n_effective, n_members, n_probes = sizes
    base, errors, mu, log_tau = fit
    fitted = 1 / (1 + xp.exp(-base[..., :N_OBSERVED]))
    misfit = (observed - fitted) * math.sqrt(n_effective)
    counts = (n_classes, n_effective, n_probes, n_probes / n_members)
    same = base[..., 0] * 0
    numbers = [mu, log_tau, cut, *(math.log(count) for count in counts), float(has_scores)]
    extra = xp.stack([same + number for number in numbers], axis=-1)
    columns = [logit(xp, observed), misfit, base, xp.log(errors), extra]
    return xp.concatenate(columns, axis=-1)


def loss_features(
    xp: Any, losses: Any, ties: Any, cut: Any, n_classes: int, has_scores: bool
) -> Any:
    """Return what is known of each probe without scores.

    Losses and ties as floats; `cut` is one where losses are only known from below, else zero.
    """
    lost = losses + ties / 2
    same = xp.ones_like(lost)
    columns = [
        xp.log((lost + 0.5) / (n_classes - 1 - lost + 0.5)),
        xp.log1p(lost),
        (lost < 0.5) * same,
        xp.log1p(ties),
        cut,
        math.log(n_classes) * same,
        has_scores * same,
    ]
    return xp.stack(columns, axis=-1)


def impostors(xp: Any, scores: Any, labels: Any) -> Any:
    """Return the scores of wrong classes, best first; labels are those of the probes (N,)."""
    falling = -scores
    falling[..., xp.arange(len(labels)), labels] = math.inf
    ordered = xp.sort(falling)
    return -getattr(ordered, "values", ordered)[..., :-1]  # torch gives the order besides


def score_features(xp: Any, scores: Any, best: Any, labels: Any) -> tuple[Any, Any]:
    """Return what the scores say of each probe, and how each class did as a rival.

    Parameters
    ----------
    xp : module
        `numpy` or `torch`.
    scores, best : array (..., probes, classes)
        All scores, and those of `impostors`.
    labels : array (probes,)
        True classes.

    Returns
    -------
    features : array (..., probes, features)
        Those between the first, which need no scores, and the last, which need all probes.
    sums : array (..., 3, classes)
        Over probes of other classes: standardised scores, their squares, how many were beaten.
    """
    true_cells = xp.arange(len(labels)), labels
    true = scores[(..., *true_cells)][..., None]
    # Differences first: the mean of large numbers loses what tells them apart.
    ahead, best = scores - true, best - true
    mean = best.mean(axis=-1, keepdims=True)
    spread = xp.sqrt(xp.square(best - mean).sum(axis=-1, keepdims=True) / (best.shape[-1] - 1))
    # Impostors all alike have no spread; the true score then is far from them, or is one more.
    unit = xp.where(spread > 0, spread, xp.abs(mean) / FURTHEST)
    unit = xp.where(unit > 0, unit, 1.0)

    def standard(values: Any) -> Any:
        return ((values - mean) / unit).clip(-FURTHEST, FURTHEST)

    z, z_true = standard(best), standard(xp.zeros_like(true))
    as_rival = standard(ahead)
    # Whether a rival wins is seen from the scores themselves, not from rounded ones.
    beats = (xp.sign(ahead) + 1) / 2
    for values in (as_rival, beats):
        values[(..., *true_cells)] = 0.0
    sums = [as_rival.sum(axis=-2), xp.square(as_rival).sum(axis=-2), beats.sum(axis=-2)]
    columns = [*_placed(xp, z, z_true), *_shape(xp, z), *_local(xp, z, z_true)]
    return xp.stack(columns, axis=-1), xp.stack(sums, axis=-2)


def rival_features(xp: Any, sums: Any, labels: Any) -> Any:
    """Return how each probe's class did as a rival of all probes but its own (..., probes, 3)."""
    n_classes = sums.shape[-1]
    n_others = (len(labels) - xp.bincount(labels, minlength=n_classes)).clip(1, None)
    mean, square, beaten = (sums[..., row, :] / n_others for row in range(N_AS_RIVAL))
    spread = xp.sqrt((square - mean * mean).clip(0.0, None))
    columns = [mean, spread, xp.log(beaten * (n_classes - 1) + 0.5)]
    return xp.stack(columns, axis=-1)[..., labels, :]


def logit(xp: Any, accuracy: Any) -> Any:
    """Return the logit, kept within reach of what a pilot could show."""
    edge = 1 / (1 + math.exp(LOGIT_REACH))
    inside = accuracy.clip(edge, 1 - edge)
    return xp.log(inside) - xp.log1p(-inside)


def signed_log(xp: Any, values: Any) -> Any:
    """Return sign(x) log(1 + |x|), which tames long tails."""
    return xp.sign(values) * xp.log1p(xp.abs(values))


def _placed(xp: Any, z: Any, z_true: Any) -> list[Any]:
    """Return the true score, the best impostors and quantiles of all of them."""
    last = z.shape[-1] - 1
    columns = [signed_log(xp, z_true[..., 0])]
    columns += [z[..., min(rank - 1, last)] for rank in RANKS]
    for level in LEVELS:
        place = (1 - level) * last
        under = math.floor(place)
        share = place - under
        columns.append(z[..., under] * (1 - share) + z[..., min(under + 1, last)] * share)
    return columns


def _shape(xp: Any, z: Any) -> list[Any]:
    """Return skewness and excess kurtosis of the impostors."""
    centred = z - z.mean(axis=-1, keepdims=True)
    square = centred * centred
    variance = square.mean(axis=-1).clip(1e-12, None)
    skewness = (square * centred).mean(axis=-1) / variance**1.5
    kurtosis = (square * square).mean(axis=-1) / variance**2 - 3
    return [signed_log(xp, skewness), signed_log(xp, kurtosis)]


def _local(xp: Any, z: Any, z_true: Any) -> list[Any]:
    """Return how far the true score is ahead, in units of how far the best impostors spread.

    The mean excess of the best m impostors over the next one is the scale of an exponential tail.
    """
    gaps, units = [], []
    for span in SPANS:
        m = min(span, z.shape[-1] - 1)
        edge = z[..., m]
        unit = (z[..., :m].mean(axis=-1) - edge).clip(LEAST_UNIT, None)
        gaps.append(signed_log(xp, (z_true[..., 0] - edge) / unit))
        units.append(xp.log(unit))
    return [*gaps, *units]
