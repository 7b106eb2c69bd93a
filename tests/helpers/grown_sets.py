"""Truth about sets that keep a pilot's classes: exact over all ways to add others of a pool."""

import numpy as np
from scipy.special import gammaln


def log_choose(n, m):
    return gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)


def chance_of_none(pool, before, drawn):
    """Chance that of `before` among `pool` classes none is drawn."""
    before = np.asarray(before)
    inside = pool - before >= drawn
    return np.where(
        inside,
        np.exp(log_choose(np.where(inside, pool - before, drawn), drawn) - log_choose(pool, drawn)),
        0.0,
    )


def expected_cost(scores, true, kept, cost, drawn):
    """Expected cost of a probe when all `kept` classes compete, and `drawn` of the others."""
    rivals = np.flatnonzero(scores > scores[true])
    rivals = rivals[np.argsort(-scores[rivals])]
    stays = kept[rivals]
    first = int(np.argmax(stays)) if stays.any() else len(rivals)
    pool = len(scores) - kept.sum() - (not kept[true])
    none = chance_of_none(pool, np.arange(first + 1), drawn)
    paid = -np.diff(none) @ cost[true, rivals[:first]]
    return paid + (none[first] * cost[true, rivals[first]] if stays.any() else 0.0)


def grown_truth(scores, labels, kept, cost, classes):
    """Risk of k classes, those kept and k less so many random others, for every k.

    Every class has probes, and a class is the true one as often as any other of the set.
    """
    n_kept, n_classes = int(kept.sum()), len(kept)
    own, values = kept[labels], []
    count = np.bincount(labels, minlength=n_classes)[labels]
    for k in classes:
        paid = np.array(
            [
                expected_cost(row, true, kept, cost, k - n_kept - (not kept[true]))
                if kept[true] or k > n_kept
                else 0.0
                for row, true in zip(scores, labels, strict=True)
            ]
        )
        of_kept = np.sum((paid / count)[own]) / n_kept
        others = np.sum((paid / count)[~own]) / (n_classes - n_kept)
        values.append(n_kept / k * of_kept + (1 - n_kept / k) * others)
    return np.array(values)
