"""Simulations of paper 003: its Figure 1, and those that its supplement announces.

Figure 1: 100 probes among 11 classes (k = 10 rivals), whose favorability follows a random rising
law. Its data follow from R's generator with seed 0, and are drawn again here; other seeds show
whether what one picture shows is the rule.

Supplement: normal classes in 10 dimensions. A classifier is trained on k of 50 classes, the
accuracy among 50 is forecast from its test scores, and held against the one trained on all 50.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from experiments.figures import COLOURS, GREY, TRUTH, count_axis, new_figure, plain
from experiments.journal import Record
from experiments.methods import Methods, forecast_record, rounded, stamp, summarised
from experiments.papers.learners import Learner
from experiments.papers.r_generator import RGenerator
from experiments.results import Results
from experiments.runner import Settings, Task, conduct, seed_for
from headcount.curves.favorability import Favorability
from headcount.curves.observed import observe
from headcount.errors import ParameterError
from headcount.estimators.pseudolikelihood import Pseudolikelihood
from headcount.estimators.registry import resolve_all
from headcount.pilot.pilot import Pilot
from headcount.support.validation import whole_number

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

NAME = "supplement003"
FIGURE = "figure 1"

PROBES, TRIALS = 100, 10  # n and k of Figure 1: wins among so many rivals
GRID = np.arange(101) / 100
MOMENTS = tuple(range(10, 51))  # drawn in Figure 1; the moment of order t is the accuracy at t + 1
TABLED = (10, 20, 30, 50)
CONSTRAINTS = ("none", "monotone", "moment", "cons")
DRAWN = {"none": "MPLE", "cons": "CON"}

DIMENSIONS, SIGMA, MANY, TRAIN, TEST = 10, 1.0, 50, 20, 30
SIZES = tuple(range(3, MANY))
METHODS = ("exp-003", "pseudolikelihood", "high-dimensional", "auto")
HIDDEN, ITERATIONS = 10, 100


# -- Figure 1 --------------------------------------------------------------------------------------


def rising_law(shares: Floats) -> Floats:
    """Return the random rising weights of Figure 1 on the grid of U, from uniform numbers."""
    weights = np.cumsum(shares * np.arange(1, len(GRID) + 1) ** 4.0)
    return np.asarray(weights / weights.sum())


def published() -> tuple[Floats, Pilot]:
    """Return the law and the pilot of Figure 1."""
    generator = RGenerator(0)
    weights = rising_law(generator.uniform(len(GRID)))
    favorability = GRID[generator.choose(PROBES, weights)]
    wins = generator.binomial(TRIALS, favorability)
    return weights, Pilot.from_losses(TRIALS - wins, TRIALS + 1)


def drawn(seed: int) -> tuple[Floats, Pilot]:
    """Return another law of the kind of Figure 1, and a pilot from it."""
    rng = np.random.default_rng(seed)
    weights = rising_law(rng.random(len(GRID)))
    wins = rng.binomial(TRIALS, rng.choice(GRID, PROBES, p=weights))
    return weights, Pilot.from_losses(TRIALS - wins, TRIALS + 1)


def _fitted(repeat: int, seed: int) -> Record:
    """Fit one draw; the first is the one in print."""
    weights, pilot = published() if repeat == 0 else drawn(seed_for(seed, NAME, FIGURE, repeat))
    orders = np.array(MOMENTS)
    moments, laws = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for constraints in CONSTRAINTS:
            law = Pseudolikelihood(constraints=constraints).fit(pilot).favorability_
            moments[constraints] = _listed(law.accuracy(orders + 1))
            laws[constraints] = _listed(law.cdf(GRID))
    truth = Favorability(1 - GRID, weights)
    return {
        "measured": rounded(observe(pilot).accuracy(TRIALS + 1)),
        "truth": _listed(truth.accuracy(orders + 1)),
        "moments": moments,
        "laws": laws,
        "true_law": _listed(np.cumsum(weights)),
    }


# -- the supplement --------------------------------------------------------------------------------


def _quadratic(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    """Gaussian log-likelihood with each class's own mean and covariance, not shrunk."""
    scores = np.empty((len(test), int(y.max()) + 1))
    for label in range(scores.shape[1]):
        members = x[y == label]
        factor = np.linalg.cholesky(np.cov(members.T))
        gap = solve_triangular(factor, (test - members.mean(axis=0)).T, lower=True)
        scores[:, label] = -0.5 * (gap**2).sum(axis=0) - np.log(np.diag(factor)).sum()
    return scores


def _logistic(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    model = LogisticRegression(C=1e3, max_iter=1000).fit(x, y)
    return np.asarray(model.decision_function(test), dtype=np.float64)


def _network(x: Floats, y: Labels, test: Floats, seed: int) -> Floats:
    with warnings.catch_warnings():  # stopped after so many steps, as the authors' is
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPClassifier(
            (HIDDEN,),
            activation="logistic",
            solver="lbfgs",
            alpha=0.0,
            max_iter=ITERATIONS,
            random_state=seed,
        ).fit(x, y)
    chance = np.asarray(model.predict_proba(test), dtype=np.float64)
    return np.asarray(np.log(np.maximum(chance, 1e-300)))


LEARNERS = {
    "QDA": Learner("quadratic discriminants", True, _quadratic),
    "logistic": Learner("multinomial logistic regression, C = 1000", False, _logistic),
    "network": Learner(
        f"neural network, one hidden layer of {HIDDEN}, {ITERATIONS} steps", False, _network
    ),
}


def trained_pilot(name: str, size: int, seed: int) -> Pilot:
    """Return how the test of a classifier went that was trained on the first classes of 50."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(MANY, DIMENSIONS))
    train, test = np.repeat(np.arange(MANY), TRAIN), np.repeat(np.arange(MANY), TEST)
    x, y = (
        centres[labels] + SIGMA * rng.normal(size=(len(labels), DIMENSIONS))
        for labels in (train, test)
    )
    fit, tried = train < size, test < size
    scores = LEARNERS[name].scores(x[fit], train[fit], y[tried], seed_for(seed, name, size))
    return Pilot.from_scores(scores, test[tried])


def _extrapolated(name: str, size: int, seed: int, methods: Methods) -> Record:
    """Train on so many classes: the accuracy there, and what is forecast for all of them."""
    pilot = trained_pilot(name, size, seed)
    forecasts = {
        method: forecast_record(estimator, pilot, [MANY], seed_for(seed, method, name, size))
        for method, estimator in methods.items()
        if size < MANY
    }
    return {"measured": rounded(observe(pilot).accuracy(size)), "forecasts": forecasts}


# -- both ------------------------------------------------------------------------------------------


def supplement003(
    settings: Settings,
    *,
    laws: int = 200,
    repeats: int = 20,
    sizes: Sequence[int] = SIZES,
    learners: Sequence[str] = tuple(LEARNERS),
    methods: Methods | None = None,
) -> Results:
    """Repeat Figure 1 of 003 and the simulations of its supplement.

    Parameters
    ----------
    settings : Settings
        Where to write, seed and workers.
    laws : int
        Random laws for Figure 1, the published one among them.
    repeats : int
        Random sets of 50 classes for the supplement, which has one.
    sizes : sequence of int
        Numbers of classes to forecast from; training on all 50 gives the truth.
    learners : sequence of str
        Which classifiers.
    methods : mapping, optional
        Estimators by name for the supplement; those of the paper and the default by default.

    Returns
    -------
    Results
        A row for each constraint and moment of Figure 1, and for each classifier, method and size
        of the supplement.
    """
    methods = resolve_all(list(METHODS)) if methods is None else methods
    laws, repeats = whole_number(laws, "--laws", 1), whole_number(repeats, "--repeats", 1)
    if not sizes or not all(2 < size < MANY for size in sizes):
        raise ParameterError(f"--pilot-classes must be numbers from 3 to {MANY - 1}.")
    trained = sorted({*sizes, MANY})
    mark = "-".join(stamp(estimator) for estimator in methods.values())
    figure = [
        Task(f"{NAME}/{FIGURE}/{i}/{stamp(Pseudolikelihood())}", partial(_fitted, i, settings.seed))
        for i in range(laws)
    ]
    places = [(name, size, i) for name in learners for size in trained for i in range(repeats)]
    supplement = [
        Task(
            f"{NAME}/{name}/{size}/{i}/{mark}",
            partial(_extrapolated, name, size, seed_for(settings.seed, NAME, i), dict(methods)),
        )
        for name, size, i in places
    ]
    identity = {"learners": {name: LEARNERS[name].about for name in LEARNERS}}
    records, run = conduct(NAME, [*figure, *supplement], identity, settings)
    fits, outcomes = records[:laws], dict(zip(places, records[laws:], strict=True))
    rows = [_law_row(fits, constraints, order) for constraints in CONSTRAINTS for order in TABLED]
    rows += [
        _row(outcomes, name, method, size, repeats)
        for name in learners
        for size in trained
        if size < MANY
        for method in methods
    ]
    return Results(
        bench=NAME,
        about=(
            f"Figure 1 of 003 for {laws:,} random laws, the published one first: moments fitted to "
            f"{PROBES} probes among {TRIALS + 1} classes. Its supplement: classifiers trained on k "
            f"of {MANY} normal classes in {DIMENSIONS} dimensions, {TRAIN} training and {TEST} "
            f"test points a class, {repeats} sets of classes: errors of forecasts for {MANY}."
        ),
        seed=settings.seed,
        options={"laws": laws, "repeats": repeats, "sizes": trained, "methods": list(methods)},
        rows=rows,
        details={
            "published": fits[0],
            "first": {name: _first(outcomes, name, trained, list(methods)) for name in learners},
        },
        run=run,
    )


def _law_row(fits: list[Record], constraints: str, order: int) -> dict[str, Any]:
    place = MOMENTS.index(order)
    fitted = [record["moments"][constraints][place] for record in fits]
    truths = [record["truth"][place] for record in fits]
    return {
        "part": FIGURE,
        "method": f"pseudolikelihood:constraints={constraints}",
        "pilot_classes": TRIALS + 1,
        "classes": order + 1,
        "repeats": len(fits),
        "refused": 0,
        "measured": rounded(np.mean([record["measured"] for record in fits])),
        "truth": rounded(np.mean(truths)),
        "mean_forecast": rounded(np.mean(fitted)),
        **summarised(np.subtract(fitted, truths).tolist()),
        "first_truth": truths[0],
        "first_forecast": fitted[0],
    }


def _row(
    outcomes: dict[tuple[str, int, int], Record], name: str, method: str, size: int, repeats: int
) -> dict[str, Any]:
    truths = [outcomes[name, MANY, i]["measured"] for i in range(repeats)]
    pilots = [outcomes[name, size, i] for i in range(repeats)]
    values = [_forecast(pilot, method) for pilot in pilots]
    pairs = [
        (value, truth) for value, truth in zip(values, truths, strict=True) if value is not None
    ]
    return {
        "part": name,
        "method": method,
        "pilot_classes": size,
        "classes": MANY,
        "repeats": repeats,
        "refused": repeats - len(pairs),
        "measured": rounded(np.mean([pilot["measured"] for pilot in pilots])),
        "truth": rounded(np.mean(truths)),
        "mean_forecast": rounded(np.mean([value for value, _ in pairs])) if pairs else None,
        **summarised([value - truth for value, truth in pairs]),
        "first_truth": truths[0],
        "first_forecast": values[0],
    }


def _forecast(pilot: Record, method: str) -> float | None:
    """Return what a method forecast, none where it refused to."""
    outcome = pilot["forecasts"][method]
    return rounded(outcome["accuracy"][0]) if "accuracy" in outcome else None


def _first(
    outcomes: dict[tuple[str, int, int], Record], name: str, sizes: list[int], methods: list[str]
) -> dict[str, Any]:
    """Return the curves that the supplement draws: those of one set of classes."""
    pilots = [outcomes[name, size, 0] for size in sizes]
    return {
        "measured": [pilot["measured"] for pilot in pilots],
        "forecasts": {
            method: [_forecast(pilot, method) for pilot in pilots[:-1]] for method in methods
        },
    }


def _listed(values: Any) -> list[float]:
    return [rounded(value) for value in values]


def draw(results: Results) -> Any:
    """Draw Figure 1 from its own data, and one set of classes of the supplement."""
    names = list(results.details["first"])
    columns = max(2, len(names))
    figure = new_figure(3.6 * columns, 7)
    axes = figure.subplots(2, columns, squeeze=False)
    _draw_laws(axes[0][0], results.details["published"])
    _draw_moments(axes[0][1], results.details["published"])
    for ax in axes[0][2:]:
        ax.set_visible(False)
    for ax, name in zip(axes[1], names, strict=False):
        _draw_learner(ax, results, name)
    for ax in axes[1][len(names) :]:
        ax.set_visible(False)
    return figure


def _draw_laws(ax: Any, record: Record) -> None:
    ax.plot(GRID, record["true_law"], color=TRUTH, linewidth=2, label="truth")
    for colour, (constraints, name) in zip(COLOURS, DRAWN.items(), strict=False):
        ax.plot(GRID, record["laws"][constraints], color=colour, label=name)
    ax.set(xlabel="u", ylabel="D(u)", title="Figure 1: law of U")
    ax.legend(frameon=False, fontsize=8)
    plain(ax)


def _draw_moments(ax: Any, record: Record) -> None:
    ax.plot(MOMENTS, record["truth"], color=TRUTH, linewidth=2, label="truth")
    for colour, (constraints, name) in zip(COLOURS, DRAWN.items(), strict=False):
        ax.plot(MOMENTS, record["moments"][constraints], color=colour, label=name)
    ax.set(xlabel="order", ylabel="moment", title="Figure 1: moments", ylim=(0, 1))
    ax.legend(frameon=False, fontsize=8)
    plain(ax)


def _draw_learner(ax: Any, results: Results, name: str) -> None:
    sizes, curves = results.options["sizes"], results.details["first"][name]
    ax.plot(sizes, curves["measured"], color=TRUTH, linewidth=2, label="test accuracy at k")
    ax.axhline(curves["measured"][-1], color=GREY, linestyle="--")
    for colour, (method, values) in zip(COLOURS, curves["forecasts"].items(), strict=False):
        shown = [np.nan if value is None else value for value in values]
        ax.plot(sizes[:-1], shown, color=colour, linewidth=1.2, label=method)
    count_axis(ax)
    ax.set(xlabel="classes in the pilot (k)", title=name, ylim=(0, 1))
    ax.legend(frameon=False, fontsize=7)
    plain(ax)
