"""Slow, obvious versions of what the package computes fast."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction


def score(x, g, similarity):
    """Score one pair in float64, terms added in order."""
    x, g = [float(v) for v in x], [float(v) for v in g]
    total = 0.0
    if similarity == "euclidean":
        for a, b in zip(x, g, strict=True):
            total += (a - b) * (a - b)
        return -total
    for a, b in zip(x, g, strict=True):
        total += a * b
    if similarity == "dot":
        return total
    lengths = []
    for vector in (x, g):
        square = 0.0
        for a in vector:
            square += a * a
        lengths.append(math.sqrt(square))
    scale = lengths[0] * lengths[1]
    return total / scale if scale > 0 else 0.0


def count_embeddings(probes, labels, gallery, gallery_labels, similarity, leave_one_out=False):
    """Losses and ties of each probe, class by class; probes without a rival of their own: None."""
    classes = sorted(set(gallery_labels))
    counted = []
    for i, (x, label) in enumerate(zip(probes, labels, strict=True)):
        best = {}
        for j, (g, owner) in enumerate(zip(gallery, gallery_labels, strict=True)):
            if leave_one_out and i == j:
                continue
            best[owner] = max(best.get(owner, -math.inf), score(x, g, similarity))
        if label not in best:
            continue
        true = best[label]
        rivals = [best[c] for c in classes if c != label]
        counted.append((sum(s > true for s in rivals), sum(s == true for s in rivals)))
    return counted


def chance_among(losses, ties, n_rivals, k, tie_rule, top=1):
    """Exact chance that the true class is among the best `top` of k, by listing all sets."""
    kinds = ["beats"] * losses + ["ties"] * ties
    kinds += ["loses"] * (n_rivals - losses - ties)
    sets = list(itertools.combinations(kinds, k - 1))
    total = Fraction(0)
    for drawn in sets:
        above, equal = drawn.count("beats"), drawn.count("ties")
        if tie_rule == "lose":
            total += above + equal < top
        elif tie_rule == "win":
            total += above < top
        else:  # among equals the true class takes each place with the same chance
            places = range(above, above + equal + 1)
            total += Fraction(sum(place < top for place in places), equal + 1)
    return total / len(sets)


def rank_chances(losses, ties, n_rivals, k, tie_rule):
    """Exact chance of each rank 1 ... k."""
    within = [chance_among(losses, ties, n_rivals, k, tie_rule, top) for top in range(1, k + 1)]
    return [within[0], *(b - a for a, b in itertools.pairwise(within))]
