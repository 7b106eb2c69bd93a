"""Pilots of classes from two or three groups, and what a mix of them is, set by set."""

import itertools

import numpy as np

from headcount import Pilot


def make_pilot(sizes=(6, 5), per_class=2, *, steps=None, seed=0, sigma=0.6, **options):
    """Classes of each group around a place of its own; scores may be rounded, so that many tie."""
    rng = np.random.default_rng(seed)
    centres = np.concatenate(
        [g + rng.normal(size=(size, 3)) / (1 + g) for g, size in enumerate(sizes)]
    )
    labels = np.repeat(np.arange(len(centres)), per_class)
    points = centres[labels] + sigma * rng.normal(size=(len(labels), 3))
    scores = -np.square(points[:, None] - centres).sum(axis=2)
    if steps is not None:
        scores = np.round(scores * steps)
    names = [name for name, size in zip("abc", sizes, strict=False) for _ in range(size)]
    return Pilot.from_scores(scores, labels, groups=names, higher_is_better=True, **options), scores


def chance_of_probe(scores, true, rivals, tie_rule, m):
    """Chance that fewer than m of some rivals are placed before the true class."""
    above = sum(scores[c] > scores[true] for c in rivals)
    equal = sum(scores[c] == scores[true] for c in rivals)
    if tie_rule != "random":
        return float(above + (equal if tie_rule == "lose" else 0) < m)
    return sum(above + ahead < m for ahead in range(equal + 1)) / (equal + 1)


def sizes_of(shares, k, group):
    """Seats dealt out one by one: the first to the group, then to who has the highest claim."""
    sizes = [0] * len(shares)
    sizes[group] = 1
    for _ in range(k - 1):
        claims = [share / (2 * size + 1) for share, size in zip(shares, sizes, strict=True)]
        sizes[claims.index(max(claims))] += 1
    return sizes


def value_over_sets(pilot, scores, mix, k, *, tie_rule="random", m=1, average="macro"):
    """Go through all sets of k classes in the proportions of a mix that hold a probe's class."""
    groups, names = sorted(mix), np.asarray(pilot.groups)
    shares = [mix[group] for group in groups]
    means, weights = [], []
    for g, group in enumerate(groups):
        sizes = sizes_of(shares, k, g)
        by_class = {}
        for row, true in enumerate(pilot.labels):
            if names[true] != group:
                continue
            pools = [
                list(itertools.combinations(
                    [c for c in np.flatnonzero(names == other) if c != true],
                    size - (other == group),
                ))
                for other, size in zip(groups, sizes, strict=True)
            ]  # fmt: skip
            chances = [
                chance_of_probe(scores[row], true, sum(sets, ()), tie_rule, m)
                for sets in itertools.product(*pools)
            ]
            by_class.setdefault(true, []).append(np.mean(chances))
        values = [np.mean(chances) for chances in by_class.values()]
        counts = [len(chances) for chances in by_class.values()]
        macro = average == "macro"
        means.append(np.mean(values) if macro else np.average(values, weights=counts))
        weights.append(mix[group] * (1 if macro else np.mean(counts)))
    return float(np.average(means, weights=weights))


def world(rng, n_a, n_b, per_class=4, *, n_dims=5, sigma=0.35, shift=0.8, scale=0.6):
    """Group b is denser than a, and lies in the middle of it or beside it."""
    centres = np.concatenate(
        [rng.normal(size=(n_a, n_dims)), shift + scale * rng.normal(size=(n_b, n_dims))]
    )
    labels = np.repeat(np.arange(n_a + n_b), per_class)
    points = centres[labels] + sigma * rng.normal(size=(len(labels), n_dims))
    return Pilot.from_embeddings(points, labels, centres, groups=["a"] * n_a + ["b"] * n_b)
