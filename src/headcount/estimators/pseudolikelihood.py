"""Maximum pseudolikelihood over all laws of favorability, and what it leaves open."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from headcount.curves.favorability import Favorability
from headcount.errors import (
    AssumptionWarning,
    HeadcountError,
    MissingExtraError,
    ParameterError,
    warn,
)
from headcount.estimators.base import Extrapolator
from headcount.estimators.shared.nearby_laws import AlikeLaws, NearbyLaws
from headcount.estimators.shared.nonparametric_likelihood import (
    Rows,
    components,
    exact,
    gap,
    maximise,
    rows_of,
)
from headcount.pilot.pilot import Pilot
from headcount.support import validation
from headcount.support.workers import one_blas_thread

Floats = NDArray[np.float64]

CONSTRAINTS = ("none", "monotone", "moment", "cons")
SOLVERS = ("em", "convex")
FEWEST, MOST = 500, 10_000
PULL = 1e-6


class Pseudolikelihood(Extrapolator):
    r"""Any law of U that makes the observed losses most likely, constrained as in paper 003.

    Losses among n = K - 1 rivals are binomial given U, and nothing is assumed of the law G of U:

    .. math:: \max_G \sum_l w_l \log P_G(l), \qquad
              P_G(l) = \int \binom{n}{l} (1-u)^l u^{n-l} \, dG(u) .

    It is a pseudolikelihood because probes that share their classes are not independent. Two
    constraints help: a density of U that does not decrease, as it is for the Bayes rule (Theorem
    3.4), and the observed accuracy at K, :math:`E[U^{K-1}]`. A non-decreasing density is a mixture
    of uniform laws on [u, 1], so either way weights of components are sought, which lie equally
    far apart on the probit scale so that U near one is resolved.

    **Which maximiser.** Losses among K classes say nothing beyond the (K - 1)-th moment, and the
    paper saw 0.345 to 0.907 for one pilot as the discretisation changed. Here

    .. math:: \sum_l w_l \log P_G(l) - 10^{-6} \, \mathrm{KL}(\Pi \,\|\, G)

    is maximised, with a fixed reference law :math:`\Pi`: four fifths arcsine (Jeffreys' law, which
    favours neither end), a tenth at U = 1, a tenth at U = 0, of p = 1 - U or, under a monotone
    density, of the width of the uniform components. So of all maximisers the one closest to
    :math:`\Pi` is taken; it is unique, the same to 0.01 for every discretisation and solver (up
    to 20 K classes), and its mean log pseudolikelihood is within a millionth of
    the maximum (`gap_` is an upper bound). `identified_range` gives the accuracies of the others.

    More than 64 losses (and wins) are grouped within a sixth of their number.

    Parameters
    ----------
    constraints : {"cons", "none", "monotone", "moment"}
        Both constraints (the paper's CONS), none (MPLE), or one of the two. The moment constraint
        is left out where no law can meet it: if all probes are right or all wrong, or if accuracy
        is not above chance under a monotone density.
    nodes : int
        Number of components, 500 to 10,000.
    solver : {"em", "convex"}
        ``"em"`` finds the fixed point of EM (each component's weight is its mean posterior
        chance), by some 20 Newton steps in place of many thousand EM steps. ``"convex"`` gives
        the same programme to cvxpy and Clarabel (extra ``convex``), which is less exact.

    Attributes
    ----------
    components_ : ndarray
        p = 1 - U of each point mass, or the width of each uniform law of p on [0, width].
    weights_ : ndarray
        Their weights.
    gap_ : float
        Upper bound on how much the mean log pseudolikelihood falls short of the maximum.

    References
    ----------
    *How many faces can be recognized?* (2016), §4.2 (its k in the binomial is our K - 1).

    Examples
    --------
    >>> import headcount
    >>> from headcount.estimators.pseudolikelihood import Pseudolikelihood
    >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [2] * 5 + [4] * 5, n_classes=20)
    >>> fit = Pseudolikelihood().fit(pilot)
    >>> fit.predict([20, 100]).round(2).tolist()
    [0.8, 0.61]
    >>> lower, upper = fit.identified_range(100)
    >>> bool(lower <= fit.predict(100) <= upper)
    True
    """

    alias = "pseudolikelihood"
    takes_censored = True
    about = "any law of U, density non-decreasing and accuracy at K met; maximum pseudolikelihood"
    cost = "under a second; a second or two with 10,000 nodes"
    advice = "few assumptions, and the range of forecasts the losses cannot tell apart"

    def __init__(self, *, constraints: str = "cons", nodes: int = 1000, solver: str = "em") -> None:
        self.constraints = constraints
        self.nodes = nodes
        self.solver = solver

    def _estimate(self, pilot: Pilot) -> Favorability:
        _one_of(self.constraints, "constraints", CONSTRAINTS)
        _one_of(self.solver, "solver", SOLVERS)
        n_nodes = validation.whole_number(self.nodes, "nodes", FEWEST)
        if n_nodes > MOST:
            raise ParameterError(f"nodes must be at most {MOST:,}, but is {n_nodes:,}.")
        rows = rows_of(pilot.table())
        _warn_if_one_sided(rows, pilot)
        mixed = components(n_nodes, rows.n_rivals, self.constraints in ("monotone", "cons"))
        fixed = self._fixed(rows, mixed.monotone)
        chances = mixed.chances(rows)
        solve = maximise if self.solver == "em" else _convex
        # Many small products, here and in `profile_range`: threads would wait for each other.
        with one_blas_thread():
            weights = solve(chances, rows.weights, mixed.reference, PULL, fixed)
        self.components_, self.weights_ = mixed.ends, weights
        self.gap_ = gap(chances, rows.weights, weights, fixed)
        self._rows, self._mixed, self._fixed_row = rows, mixed, fixed
        self._n_informed = int((~pilot.censored | (pilot.losses > 0)).sum())
        return Favorability(*mixed.law(weights))

    def _fixed(self, rows: Rows, monotone: bool) -> int | None:
        """Row whose chance must equal its weight: no losses; none where no law can have it."""
        if self.constraints not in ("moment", "cons") or not 0 < rows.right < 1:
            return None
        chance = 1 / (rows.n_rivals + 1)
        if monotone and rows.right <= chance * (1 + 1e-6):
            warn(
                f"accuracy at {rows.n_rivals + 1:,} classes is not above chance, which no "
                "non-decreasing density of favorability allows; the moment constraint is left out.",
                AssumptionWarning,
            )
            return None
        return int(np.flatnonzero(rows.last == 0)[0])

    def identified_range(self, k: Any) -> tuple[Floats, Floats]:
        """Smallest and largest accuracy among k classes that the losses cannot tell apart.

        Over all laws that meet the constraints and give every observed number of losses the same
        chance as the estimate to within a millionth of it, and thus the same pseudolikelihood:
        two linear programmes for each k. It is what the choice among maximisers leaves open, no
        confidence interval, and very narrow where the maximiser is all but unique.

        Returns
        -------
        lower, upper : ndarray
            Of the shape of k.
        """
        check_is_fitted(self, "favorability_")
        alike = AlikeLaws(self._mixed.chances(self._rows), self.weights_, PULL, self._fixed_row)
        return self._bounds(k, alike)

    def profile_range(self, k: Any, *, drop: float = 1.0) -> tuple[Floats, Floats]:
        """Smallest and largest accuracy among k classes that are nearly as likely as the estimate.

        Over all laws that meet the constraints and whose log pseudolikelihood, summed over probes,
        is at most `drop` below the estimate's: a convex programme for each end. It shows how flat
        the pseudolikelihood is, and is no confidence interval: probes of one class, and probes that
        share rivals, are not independent.

        Parameters
        ----------
        k : array_like of int
            Numbers of classes.
        drop : float
            How far below, zero or more: one unit makes the pilot e times less likely. Without a
            drop the range holds laws no less likely than the estimate, which itself is `gap_` a
            probe below the maximum at most.

        Returns
        -------
        lower, upper : ndarray
            Of the shape of k.

        Examples
        --------
        >>> import headcount
        >>> from headcount.estimators.pseudolikelihood import Pseudolikelihood
        >>> pilot = headcount.Pilot.from_losses([0] * 80 + [1] * 10 + [2] * 5 + [4] * 5, 20)
        >>> lower, upper = Pseudolikelihood().fit(pilot).profile_range(100)
        >>> print(f"{lower:.2f} to {upper:.2f}")
        0.47 to 0.74
        """
        check_is_fitted(self, "favorability_")
        if not 0 <= drop < np.inf:
            raise ParameterError(f"drop must be 0 or more, but is {drop!r}.")
        laws = NearbyLaws(
            self._mixed.chances(self._rows),
            self._rows.weights,
            self.weights_,
            self._mixed.reference,
            drop / max(self._n_informed, 1),
            self.gap_,
            self._fixed_row,
        )
        with one_blas_thread():
            return self._bounds(k, laws)

    def _bounds(self, k: Any, laws: AlikeLaws | NearbyLaws) -> tuple[Floats, Floats]:
        counts = validation.class_counts(k)
        bounds = [laws.bounds(self._mixed.accuracy(float(c))) for c in counts.ravel()]
        lower, upper = np.array(bounds).reshape(-1, 2).T
        return lower.reshape(counts.shape), upper.reshape(counts.shape)


def _convex(
    chances: Floats, weights: Floats, reference: Floats, pull: float, fixed: int | None
) -> Floats:
    """Solve what `maximise` does by cvxpy and Clarabel."""
    try:
        cvxpy = import_module("cvxpy")
        import_module("clarabel")
    except ImportError as error:
        raise MissingExtraError("the convex solver of pseudolikelihood", "convex") from error
    g = cvxpy.Variable(len(reference))
    fit = weights @ cvxpy.log(chances @ g) if len(weights) else 0.0
    demands = [cvxpy.sum(g) == 1]
    if fixed is not None:
        demands.append(chances[fixed] @ g == weights[fixed])
    whole = fit + pull * (reference @ cvxpy.log(g))
    best, greatest = None, -np.inf
    # The pull is near the solver's precision, which depends on the scale, so keep the best of
    # several answers; the last is the closest to the reference among those that fit as well.
    for scale in (1.0, 5.0, 30.0, 200.0, 1000.0, None):
        goal = reference @ cvxpy.log(g) if scale is None else scale * whole
        if scale is None and best is not None and len(weights):
            demands.append((chances / (chances @ best)[:, None]) @ g == 1)
        if not _clarabel(cvxpy, cvxpy.Problem(cvxpy.Maximize(goal), demands)):
            continue
        solution = exact(np.maximum(g.value, 1e-300), chances, weights, fixed)
        if not (solution > 0).all():
            continue
        value = float(weights @ np.log(chances @ solution) + pull * (reference @ np.log(solution)))
        if value > greatest:
            best, greatest = solution, value
    if best is None:
        raise HeadcountError("Clarabel found no solution; use solver='em'.")
    return best


def _clarabel(cvxpy: Any, problem: Any) -> bool:
    """Solve a problem as exactly as can be; say whether there is an answer."""
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10}
    with warnings.catch_warnings():
        # Such tolerances are rarely met in full; `gap_` says how close it came.
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cvxpy.CLARABEL, max_iter=500, **tight)
        except cvxpy.SolverError:
            return False
    return problem.status in ("optimal", "optimal_inaccurate")


def _one_of(value: Any, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}, but is {value!r}.")


def _warn_if_one_sided(rows: Rows, pilot: Pilot) -> None:
    if len(rows.weights) == 0:
        warn(
            "nothing is known of any probe's losses, so the forecast is the reference law alone.",
            AssumptionWarning,
        )
    elif rows.right > 1 - 1e-12:
        warn(
            f"all {pilot.n_probes:,} probes are right, so the law that makes this most likely is "
            "never wrong at any number of classes; a larger or harder pilot is needed.",
            AssumptionWarning,
        )
    elif rows.right == 0:
        warn(
            f"no probe is right among all {pilot.n_classes:,} classes, so accuracy there is near "
            "zero and larger numbers of classes can only be worse.",
            AssumptionWarning,
        )
