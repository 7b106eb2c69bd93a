"""The features of many random problems at once, in torch.

All problems of a batch have the same number of classes and of probes a class. What networks see is
that of `headcount.estimators.auto.features`, which works on torch's tensors, too; only the fits and
the counting of losses are done here, for all problems together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.problems.worlds import torch_module
from experiments.training.fits import fit_losses
from headcount.estimators.auto.features import (
    N_FEATURES,
    N_LOSSES,
    impostors,
    loss_features,
    rival_features,
    score_features,
    whole_features,
)

BUDGET = 1 << 27  # scores sorted at once


@dataclass(frozen=True)
class Batch:
    """Features of several problems: probes (B, C, r, features), whole, base and errors (B, .)."""

    probes: Any
    whole: Any
    base: Any
    errors: Any


def gather(scores: Any, labels: Any, per_class: int, n_members: int) -> Batch:
    """Return the features of problems of one size.

    Parameters
    ----------
    scores : tensor (B, N, K)
        Larger is better.
    labels : tensor (N,)
        True classes, those of one class next to each other, `per_class` of each.
    per_class, n_members : int
        Probes of a class, and number of classes that have any.
    """
    torch = torch_module()
    size = max(1, BUDGET // scores[0].numel())
    parts = [
        _gathered(scores[first : first + size], labels, per_class, n_members)
        for first in range(0, len(scores), size)
    ]
    return Batch(*(torch.cat(pieces) for pieces in zip(*parts, strict=True)))


def gather_losses(losses: Any, censored: Any, n_classes: int) -> Batch:
    """Return the features of problems without scores, (B, N) losses of as many classes.

    Those of `censored` probes are only known from below.
    """
    torch = torch_module()
    n_probes = losses.shape[1]
    fit = fit_losses(losses, None, n_classes, n_probes, censored)
    sizes = (n_classes, n_probes, n_probes, n_probes)
    curve = (fit.base, fit.errors, fit.mu, fit.log_tau)
    cut = censored.double()
    whole = whole_features(torch, fit.observed, curve, cut.mean(dim=1), sizes, False)
    lost = losses.double()
    from_losses = loss_features(torch, lost, torch.zeros_like(lost), cut, n_classes, False)
    probes = torch.nn.functional.pad(from_losses, (0, N_FEATURES - N_LOSSES))
    return Batch(probes[:, :, None], whole, fit.base, fit.errors)


def _gathered(
    scores: Any, labels: Any, per_class: int, n_members: int
) -> tuple[Any, Any, Any, Any]:
    torch = torch_module()
    n_problems, n_probes, n_classes = scores.shape
    true = scores[:, torch.arange(n_probes), labels][..., None]
    losses = (scores > true).sum(dim=2)
    ties = (scores == true).sum(dim=2) - 1
    fit = fit_losses(losses, ties, n_classes, n_members)
    sizes = (n_classes, n_members, n_members, n_probes)
    curve = (fit.base, fit.errors, fit.mu, fit.log_tau)
    whole = whole_features(torch, fit.observed, curve, torch.zeros_like(fit.mu), sizes, True)
    counts = [values.to(scores.dtype) for values in (losses, ties, torch.zeros_like(losses))]
    from_losses = loss_features(torch, *counts, n_classes, True)
    best = impostors(torch, scores, labels)
    from_scores, sums = score_features(torch, scores, best, labels)
    as_rival = rival_features(torch, sums, labels)
    probes = torch.cat([from_losses, from_scores, as_rival], dim=2)
    return probes.reshape(n_problems, n_members, per_class, -1), whole, fit.base, fit.errors
