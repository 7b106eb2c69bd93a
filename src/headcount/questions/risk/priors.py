"""Class priors: how often each class is the true one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import source_of_shifted_scores
from headcount.errors import DataError, UnsupportedError
from headcount.pilot.pilot import Pilot
from headcount.support import validation

Floats = NDArray[np.float64]


def as_priors(weights: Any, pilot: Pilot) -> Floats:
    """Return how often each class is the true one, in the order of ``pilot.class_names``.

    Parameters
    ----------
    weights : mapping or sequence
        Positive weights in any unit: by class name, or in the order of ``pilot.class_names``.
        Names that are no classes of the pilot are ignored.
    pilot : Pilot
        What the classes are.

    Returns
    -------
    ndarray
        They sum to one.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.questions.risk import as_priors
    >>> pilot = Pilot.from_scores([[3, 1, 2]], [0], class_names=["ant", "bee", "cat"])
    >>> as_priors({"cat": 6, "ant": 1, "bee": 1}, pilot).tolist()
    [0.125, 0.125, 0.75]
    """
    relative = _relative(weights, pilot)
    return np.asarray(relative / relative.sum())


def prior_weights(pilot: Pilot, priors: Any) -> Floats:
    """Return the weight of each probe when the true class is drawn from the priors.

    A class shares its prior among its probes; classes without probes are never the true one.
    Priors take the place of the pilot's own average: equal ones give the macro average exactly.
    """
    if pilot.labels is None:
        raise UnsupportedError(
            "this pilot does not say which class each probe belongs to, so priors cannot be used; "
            "give labels."
        )
    relative = _relative(priors, pilot)
    per_class = np.bincount(pilot.labels, minlength=len(relative))
    with_probes = per_class > 0
    # The mean of equal priors is exactly one, which leaves the weights of the macro average.
    shares = per_class * float(np.count_nonzero(with_probes)) * relative[with_probes].mean()
    return np.asarray(relative[pilot.labels] / shares[pilot.labels])


def with_priors(pilot: Pilot, priors: Any) -> Pilot:
    r"""Return the pilot of the Bayes rule, which knows the priors: it adds log prior to scores.

    This is right if the scores are log-likelihoods, :math:`\log f_y(x)`. Only you can know whether
    they are. Classes are then ranked by :math:`\log f_y(x) + \log p_y`. Pass the same priors
    to `observed_risk` to also draw the true class from them.

    Parameters
    ----------
    pilot : Pilot
        With scores; they are read again in blocks and never held.
    priors : mapping or sequence
        As for `as_priors`; one for each class.

    Returns
    -------
    Pilot

    Examples
    --------
    A rare class needs better evidence:

    >>> from headcount import Pilot
    >>> from headcount.questions.risk import with_priors
    >>> pilot = Pilot.from_scores([[0.0, -0.5], [-2.0, 0.0]], [0, 1])
    >>> with_priors(pilot, [1, 9]).losses.tolist()
    [1, 0]
    """
    shifts = np.log(_relative(priors, pilot))  # to the largest: equal priors change nothing
    validation.same_length(shifts, "priors", pilot.n_classes, "classes")
    source = pilot._need_source()
    assert pilot.labels is not None  # a pilot with scores has labels
    if not shifts.any():
        return pilot
    shifted = source_of_shifted_scores(source, shifts)
    losses, ties = shifted.count()
    return Pilot(
        losses,
        ties,
        pilot.class_names,
        n_classes=pilot.n_classes,
        labels=pilot.labels,
        source=shifted,
        average=pilot.average,
        tie_rule=pilot.tie_rule,
        groups=pilot.groups,
        order=pilot.order,
    )


def _relative(weights: Any, pilot: Pilot) -> Floats:
    """Return priors relative to the largest, so that equal ones are exactly one."""
    names = pilot.class_names
    values = _by_name(weights, names) if isinstance(weights, Mapping) else weights
    try:
        priors = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError("priors must be numbers, one for each class.") from error
    if priors.ndim != 1:
        raise DataError(f"priors must be a plain list, but have shape {priors.shape}.")
    validation.same_length(priors, "priors", len(names), "classes")
    validation.refuse(
        ~((priors > 0) & np.isfinite(priors)),
        "priors",
        "are not positive numbers",
        lambda i: f"class {names[i]!s} has {priors[i]:g}",
        "give every class a positive weight",
    )
    relative = np.asarray(priors / priors.max())
    validation.refuse(
        relative == 0,
        "priors",
        "are too small beside the largest to be told from zero",
        lambda i: f"class {names[i]!s} has {priors[i]:g}",
        "leave such classes out of the pilot",
    )
    return relative


def _by_name(weights: Mapping[Any, Any], names: NDArray[Any]) -> list[Any]:
    """Look up each class, by its name or, as files have it, by its name as text."""
    keys = [name if name in weights else str(name) for name in names.tolist()]
    validation.refuse(
        np.array([key not in weights for key in keys]),
        "priors",
        "are classes without a prior",
        lambda i: str(names[i]),
        "give a weight for every class",
    )
    return [weights[key] for key in keys]
