"""Checks of what should be alike and is not: probes of a class, groups of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headcount.checks.check_input import CheckInput, Floats, Ints
from headcount.pilot.pilot import FEWEST_GROUPS
from headcount.support.words import counted, percent

# With a correlation above one half no number of probes of a class is worth more than two. The
# lower 99% bound must lie above, so that pilots that only happen to look like it pass. Real
# pilots (faces, handwriting) have 0.0 to 0.32; of healthy simulated ones half have under 0.16 and
# 99% under 0.55, and none of 394 raised an alarm.
DEPENDENT = 0.5
SURE = 0.99
# Relatives beat each other half as often again as strangers, and four standard errors more.
RELATED = 1.5
ERRORS = 4.0
# Groups differ by five points and more than chance does once in a thousand pilots (measured with
# groups dealt at random: 1 of 1,000; relatives: none).
GROUP_GAP = 0.05
GROUP_CHANCE = 0.001
FEWEST_CLASSES = 5


def dependent_probes(case: CheckInput) -> str | None:
    """Estimate the correlation of losses between probes of one class, by ranks.

    By analysis of variance: with F the ratio of mean squares between and within classes, and n
    probes a class, it is (F - 1) / (F - 1 + n). Hard and easy classes raise it, too; copies of
    probes raise it to one.
    """
    counts = case.probes_per_class[case.probes_per_class > 0]
    n_probes, n_classes = case.pilot.n_probes, len(counts)
    if n_classes < 2 or n_probes <= n_classes or case.pilot.labels is None:
        return None
    beaten = case.pilot.losses + case.pilot.ties > 0
    if len(np.unique(case.pilot.labels[beaten])) < FEWEST_CLASSES:
        return None  # one hard class alone looks like perfect correlation
    ranks = stats.rankdata(case.pilot.losses + case.pilot.ties / 2)
    between, within = _squares(ranks - ranks.mean(), case.pilot.labels)
    if between + within == 0:
        return None
    spare = n_probes - n_classes
    usual = (n_probes - float(np.square(counts * 1.0).sum()) / n_probes) / (n_classes - 1)
    with np.errstate(divide="ignore"):
        ratio = np.float64(between / (n_classes - 1)) / np.float64(within / spare)
    least = _correlation(ratio / stats.f.ppf(SURE, n_classes - 1, spare), usual)
    if least <= DEPENDENT:
        return None
    worth = n_probes / (1 + (usual - 1) * _correlation(ratio, usual))
    return (
        f"probes of one class share their fate (correlation {_correlation(ratio, usual):.2f}): "
        f"{n_probes:,} probes are worth about {worth:,.0f} independent ones; see whether they are "
        "near copies, as frames of one video are, and add classes rather than probes."
    )


def _squares(values: Floats, labels: Ints) -> tuple[float, float]:
    """Return sums of squares between and within classes, of values with mean zero."""
    counts = np.bincount(labels)
    mean = np.bincount(labels, values) / np.maximum(counts, 1)
    return float(counts @ np.square(mean)), float(np.square(values - mean[labels]).sum())


def _correlation(ratio: float, n: float) -> float:
    if np.isinf(ratio):
        return 1.0
    return float((ratio - 1) / (ratio - 1 + n))


def related_groups(case: CheckInput) -> str | None:
    """Compare how often classes of the same group and of other groups beat a probe.

    If groups meant nothing, a class of n relatives would suffer a share n / (K - 1) of its
    losses from them; classes are the units, so that one odd class cannot raise the alarm.
    """
    rivals, groups = case.rivals, case.pilot.groups
    if rivals is None or groups is None or case.pilot.whole_groups:
        return None
    codes, sizes = _group_codes(groups)
    counts = np.maximum(case.probes_per_class, 1)
    pairs = rivals.tocoo()
    lost = np.bincount(pairs.row, pairs.data, case.pilot.n_classes) / counts
    kin = codes[pairs.row] == codes[pairs.col]
    to_kin = np.bincount(pairs.row[kin], pairs.data[kin], case.pilot.n_classes) / counts
    share = (sizes[codes] - 1) / (case.pilot.n_classes - 1)
    excess = to_kin - share * lost
    expected = float((share * lost).sum())
    error = float(np.sqrt(np.square(excess).sum()))
    if expected == 0 or float(excess.sum()) <= ERRORS * error:
        return None
    times = float(to_kin.sum()) / expected
    if times < RELATED:
        return None
    return (
        f"classes of the same group beat each other {times:.1f} times as often as any two classes "
        "do; the forecast holds only if new classes come from these groups in the same mix."
    )


def unequal_groups(case: CheckInput) -> str | None:
    """Compare the accuracy of groups, with what dealing classes to groups at random would give.

    Then the sum of squares between g groups has mean (g - 1) times the variance of class
    accuracies, and about the law of a chi-square variable.
    """
    labels, groups = case.pilot.labels, case.pilot.groups
    if labels is None or groups is None or case.pilot.whole_groups:
        return None
    counts = case.probes_per_class
    probed = np.flatnonzero(counts > 0)
    accuracy = (np.bincount(labels, case.pilot.right, len(counts)) / np.maximum(counts, 1))[probed]
    names, codes, sizes = np.unique(groups[probed], return_inverse=True, return_counts=True)
    large = sizes[codes] >= FEWEST_CLASSES
    accuracy, codes = accuracy[large], np.unique(codes[large], return_inverse=True)[1]
    names = names[sizes >= FEWEST_CLASSES]
    if len(names) < 2 or np.ptp(accuracy) == 0:
        return None
    sizes = np.bincount(codes)
    means = np.bincount(codes, accuracy) / sizes
    between = float(sizes @ np.square(means - accuracy.mean()))
    surprise = stats.chi2.sf(between / accuracy.var(ddof=1), len(names) - 1)
    if surprise >= GROUP_CHANCE or np.ptp(means) < GROUP_GAP:
        return None
    worst, best = int(np.argmin(means)), int(np.argmax(means))
    return (
        f"groups differ: {percent(float(means[worst]))} right in {case.printable(names[worst])}, "
        f"{percent(float(means[best]))} in {case.printable(names[best])}; the forecast holds only "
        "if new classes come from these groups in the same mix."
    )


def _group_codes(groups: NDArray[np.generic]) -> tuple[Ints, Ints]:
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return codes, sizes


def groups_not_whole(case: CheckInput) -> str | None:
    """See whether groups that were drawn whole are too few, or cannot be told apart, to be used."""
    pilot = case.pilot
    if pilot.groups is None or pilot.drawn != "groups" or pilot.whole_groups:
        return None
    n_groups = len(np.unique(pilot.groups))
    if n_groups == len(pilot.groups):
        return None
    reason = "the pilot does not say which classes beat each probe"
    if n_groups < FEWEST_GROUPS:
        reason = f"{counted(n_groups, 'group')} are too few to show how groups differ"
        reason = reason if n_groups > 1 else "one group does not show how groups differ"
    return (
        f"{reason}, so classes count as drawn one by one and not in whole groups; the forecast "
        "holds only if new classes come from these groups in the same mix."
    )


def cross_validated(case: CheckInput) -> str | None:
    """Say so where probes helped to train the classifiers that scored other probes."""
    folds = case.pilot.folds
    if folds is None:
        return None
    return (
        f"the scores come from cross-validation in {folds} folds, which share training data: "
        "probes helped to train what scored other probes and depend on each other, so there is "
        "less in them than their number says; the forecast is of classifiers trained on "
        f"{percent((folds - 1) / folds)} of the data."
    )
