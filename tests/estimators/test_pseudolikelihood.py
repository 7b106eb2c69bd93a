import numpy as np
import pytest
from scipy import integrate
from scipy.stats import beta, binom
from sklearn.base import clone

from headcount import AssumptionWarning, MissingExtraError, ParameterError, Pilot, observe
from headcount.estimators.pseudolikelihood import (
    PULL,
    Pseudolikelihood,
    Rows,
    components,
    gap,
    maximise,
    rows_of,
)

ALL = ("none", "monotone", "moment", "cons")


def simulated(a, b, n_classes, n_probes, seed):
    """U ~ Beta(a, b)."""
    rng = np.random.default_rng(seed)
    u = rng.beta(a, b, n_probes)
    return Pilot.from_losses(rng.binomial(n_classes - 1, 1 - u), n_classes)


def near_perfect():
    """The deep network of the paper: 995 of 1,000 probes right among 20 classes."""
    return Pilot.from_losses([0] * 995 + [1] * 5, 20)


def rows_and_chances(fit, pilot):
    """Rows and the chance of each under each component, from the fitted attributes."""
    rows = rows_of(pilot.table())
    mixed = components(len(fit.components_), rows.n_rivals, fit.constraints in ("monotone", "cons"))
    return rows, mixed.chances(rows)


@pytest.mark.parametrize("n, first, last", [(19, 0, 0), (19, 3, 3), (19, 5, 19), (150, 70, 81)])
def test_chances_of_losses_under_each_component(n, first, last):
    rows = Rows(np.array([first]), np.array([last]), np.ones(1), n)

    def chance(p):
        return binom.pmf(np.arange(first, last + 1), n, p).sum()

    points, uniforms = components(500, n, False), components(500, n, True)
    for j in (0, 1, 100, 250, 400, 499):
        p = points.ends[j]
        assert points.chances(rows)[0, j] == pytest.approx(chance(p), rel=1e-9, abs=1e-14)
        q = uniforms.ends[j]
        mean = integrate.quad(chance, 0, q, limit=200, epsabs=0)[0] / q if q else chance(0)
        assert uniforms.chances(rows)[0, j] == pytest.approx(mean, rel=1e-8, abs=1e-12)


def test_accuracy_of_a_uniform_component_and_its_law():
    mixed = components(500, 19, True)
    for j in (0, 50, 300, 499):
        q = mixed.ends[j]
        single = np.zeros(500)
        single[j] = 1.0
        p, mass = mixed.law(single)
        for k in (2, 20, 400):
            exact = integrate.quad(lambda p, k=k: (1 - p) ** (k - 1), 0, q)[0] / q if q else 1.0
            assert mixed.accuracy(k)[j] == pytest.approx(exact, rel=1e-9)
            assert mass @ (1 - p) ** (k - 1) == pytest.approx(exact, abs=1e-7)


def test_reference_law_does_not_depend_on_the_nodes():
    for p in (1e-4, 0.02, 0.5, 0.99):
        for n_nodes in (500, 10_000):
            mixed = components(n_nodes, 99, False)
            # Cells end between nodes: compare where one ends.
            at = int(np.searchsorted(mixed.ends, p))
            reached = mixed.reference[: at + 1].sum()
            low, high = (0.1 + 0.8 * beta.cdf(mixed.ends[at + i], 0.5, 0.5) for i in (0, 1))
            assert low <= reached <= high
            assert mixed.reference.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 129, 130, 131, 500, 10**6])
def test_groups_cover_every_number_of_losses_once(n):
    losses = np.unique(np.linspace(0, n, 3000).astype(int)) if n > 3000 else np.arange(n + 1)
    rows = rows_of(Pilot.from_losses(losses, n + 1).table())
    if n <= 3000:
        assert rows.first[0] == 0 and rows.last[-1] == n
        assert (rows.first[1:] == rows.last[:-1] + 1).all()
    width = rows.last - rows.first + 1
    assert (width <= np.maximum(1, np.minimum(rows.first, n - rows.last) / 5)).all()
    assert (width[(rows.last <= 64) | (rows.first >= n - 64)] == 1).all()
    assert len(rows.first) < 400 and rows.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("monotone", [False, True])
def test_maximum_is_the_fixed_point_that_plain_em_finds(monotone):
    """With a strong pull EM is quick enough to be run to the end."""
    rows = rows_of(simulated(6, 1, 12, 400, seed=0).table())
    mixed = components(500, 11, monotone)
    chances, pull = mixed.chances(rows), 0.05
    g = mixed.reference
    for _ in range(20_000):
        g = (g * ((rows.weights / (chances @ g)) @ chances) + pull * mixed.reference) / (1 + pull)
    found = maximise(chances, rows.weights, mixed.reference, pull, None)
    np.testing.assert_allclose(found, g, atol=1e-9)


@pytest.mark.parametrize("constraints", ALL)
@pytest.mark.parametrize(
    "pilot", [simulated(8, 1, 30, 500, 1), near_perfect()], ids=["beta", "995"]
)
def test_optimality_conditions(constraints, pilot):
    """No component could raise the mean log pseudolikelihood by more than a millionth."""
    fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(pilot)
    assert -1e-12 < fit.gap_ <= 1.000001 * PULL
    rows, chances = rows_and_chances(fit, pilot)
    fitted = chances @ fit.weights_
    if constraints in ("none", "monotone"):
        slope = (rows.weights / fitted) @ chances
        assert slope.max() <= 1 + 1.000001e-6
        assert slope @ fit.weights_ == pytest.approx(1, abs=1e-12)


def test_gap_is_the_loss_of_likelihood_at_most():
    pilot = simulated(8, 1, 30, 500, 1)
    fit = Pseudolikelihood(constraints="none", nodes=500).fit(pilot)
    rows, chances = rows_and_chances(fit, pilot)
    reference = components(500, 29, False).reference
    best, poor = (rows.weights @ np.log(chances @ g) for g in (fit.weights_, reference))
    assert best - poor > 0.1
    assert gap(chances, rows.weights, reference, None) > best - poor


@pytest.mark.parametrize("constraints", ["none", "cons"])
def test_recovers_a_law_with_increasing_density(constraints):
    # U ~ Beta(12, 1): E[U^(k-1)] = 12 / (k + 11). 20,000 probes give a standard error of 0.003
    # at K = 50; four times as many classes triple it, and 0.02 leaves room for that.
    fit = Pseudolikelihood(constraints=constraints).fit(simulated(12, 1, 50, 20_000, seed=2))
    k = np.array([2, 10, 50, 100, 200])
    np.testing.assert_allclose(fit.predict(k), 12 / (k + 11), atol=0.02)


@pytest.mark.parametrize("constraints", ["moment", "cons"])
@pytest.mark.parametrize("n_nodes", [500, 3000])
def test_moment_constraint_is_met(constraints, n_nodes):
    for pilot in (simulated(5, 1, 40, 300, seed=3), near_perfect()):
        fit = Pseudolikelihood(constraints=constraints, nodes=n_nodes).fit(pilot)
        observed = float(observe(pilot).accuracy(pilot.n_classes))
        assert float(fit.predict(pilot.n_classes)) == pytest.approx(observed, abs=1e-8)
    free = Pseudolikelihood(constraints="none").fit(pilot)
    assert abs(float(free.predict(20)) - observed) > 1e-6  # so it is the constraint that does it


@pytest.mark.parametrize("constraints", ["monotone", "cons"])
def test_density_does_not_decrease(constraints):
    """Losses around a half would put an atom there; the CDF of U must stay convex."""
    pilot = Pilot.from_losses([0] * 30 + [10] * 60 + [11] * 10, 21)
    fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(pilot)
    u = 1 - fit.components_[:0:-1]
    slopes = np.diff(fit.favorability_.cdf(u)) / np.diff(u)
    steep = slopes[:-1] - slopes[1:]
    assert (steep <= 1e-6 * np.maximum(slopes[1:], 1)).all()
    free = Pseudolikelihood(constraints="moment", nodes=500).fit(pilot)
    assert float(free.favorability_.cdf(0.55) - free.favorability_.cdf(0.4)) > 0.6


@pytest.mark.parametrize("constraints", ["none", "cons"])
def test_discretisations_agree(constraints):
    for pilot in (near_perfect(), simulated(20, 1, 20, 1000, 4), simulated(1, 1, 10, 200, 5)):
        k = np.array([2, 5, 20]) * pilot.n_classes
        values = [
            Pseudolikelihood(constraints=constraints, nodes=n).fit(pilot).predict(k)
            for n in (500, 1000, 3000, 10_000)
        ]
        assert np.ptp(values, axis=0).max() < 0.01


@pytest.mark.parametrize("constraints", ALL)
def test_solvers_agree(constraints):
    pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    for pilot in (near_perfect(), simulated(20, 1, 20, 1000, 4), simulated(3, 1, 3, 100, 6)):
        k = np.array([1, 2, 5, 20]) * pilot.n_classes
        fits = [
            Pseudolikelihood(constraints=constraints, nodes=500, solver=solver).fit(pilot)
            for solver in ("em", "convex")
        ]
        np.testing.assert_allclose(fits[0].predict(k), fits[1].predict(k), atol=0.01)
        assert fits[1].gap_ < 1e-3


def test_convex_solver_names_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    with pytest.raises(MissingExtraError, match=r"headcount\[convex\]"):
        Pseudolikelihood(solver="convex").fit(near_perfect())


def test_range_is_a_point_up_to_the_pilot_where_every_count_was_seen():
    """All chances of 0 ... K-1 losses are then fixed, and with them all moments up to K - 1."""
    pilot = Pilot.from_losses(np.repeat(np.arange(5), [60, 25, 20, 15, 10]), 5)
    fit = Pseudolikelihood(constraints="none", nodes=500).fit(pilot)
    lower, upper = fit.identified_range([1, 2, 3, 4, 5])
    np.testing.assert_allclose(upper, lower, atol=1e-5)
    lower, upper = fit.identified_range([6, 20, 100])
    assert (upper - lower > [0.0005, 0.05, 0.1]).all()
    assert (np.diff(upper - lower) > 0).all()


def test_range_in_closed_form_for_two_classes():
    """Two classes fix E[U] alone: by Jensen E[U]^(k-1) is least, and E[U] greatest."""
    fit = Pseudolikelihood(constraints="none", nodes=2000).fit(
        Pilot.from_losses([0] * 90 + [1] * 10, 2)
    )
    lower, upper = fit.identified_range([2, 3, 11])
    np.testing.assert_allclose(upper, [0.9, 0.9, 0.9], atol=1e-5)
    np.testing.assert_allclose(lower, [0.9, 0.81, 0.9**10], atol=1e-4)
    # Non-decreasing densities: one uniform law of p on [0, 0.2], or uniform on [0, 1] and U = 1.
    fit = Pseudolikelihood(constraints="cons", nodes=2000).fit(
        Pilot.from_losses([0] * 90 + [1] * 10, 2)
    )
    lower, upper = fit.identified_range([2, 11])
    np.testing.assert_allclose(upper, [0.9, 0.8 + 0.2 / 11], atol=1e-5)
    np.testing.assert_allclose(lower, [0.9, (1 - 0.8**11) / (11 * 0.2)], atol=1e-4)


def test_unseen_counts_leave_moments_open_within_the_pilot():
    """Only 2 of 3 losses were ever seen; one moment below K is then not fixed if laws are many."""
    pilot = Pilot.from_losses([0] * 5 + [1] * 5, 4, censored=[False] * 5 + [True] * 5)
    fit = Pseudolikelihood(constraints="none", nodes=500).fit(pilot)
    lower, upper = fit.identified_range([2, 4])
    assert upper[0] - lower[0] > 0.2  # right half of the time among four, anything among two
    assert upper[1] - lower[1] < 1e-5


@pytest.mark.parametrize("constraints", ALL)
def test_range_holds_the_estimate(constraints):
    for pilot in (near_perfect(), simulated(5, 2, 10, 300, seed=7)):
        fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(pilot)
        k = np.array([[2, 10], [100, 10**6]])
        lower, upper = fit.identified_range(k)
        assert lower.shape == upper.shape == k.shape
        assert (lower <= fit.predict(k) + 1e-7).all() and (fit.predict(k) <= upper + 1e-7).all()
        assert (lower >= 0).all() and (upper <= 1 + 1e-9).all()


def test_constraints_narrow_the_range():
    pilot = Pilot.from_losses(np.repeat(np.arange(5), [60, 12, 7, 6, 5]), 5)
    width = {}
    for constraints in ("none", "monotone"):
        fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(pilot)
        lower, upper = fit.identified_range(50)
        width[constraints] = float(upper - lower)
    assert width["monotone"] < 0.7 * width["none"]


def test_censored_probes_inform_the_fit():
    """Cutting lists at depth 5 must change little; dropping the cut probes would flatter it."""
    whole = simulated(12, 1, 100, 5000, seed=8)
    cut = whole.losses > 5
    listed = Pilot.from_losses(np.minimum(whole.losses, 5), 100, censored=cut)
    dropped = Pilot.from_losses(whole.losses[~cut], 100)
    k = np.array([100, 200, 400])
    truth = 12 / (k + 11)
    assert cut.mean() > 0.3
    for constraints in ("none", "cons"):
        fit = Pseudolikelihood(constraints=constraints)
        np.testing.assert_allclose(clone(fit).fit(listed).predict(k), truth, atol=0.025)
        assert (clone(fit).fit(dropped).predict(k) > 1.5 * truth).all()


def test_probes_censored_at_once_say_nothing():
    pilot = simulated(5, 1, 30, 200, seed=9)
    losses = np.append(pilot.losses, np.zeros(50, int))
    censored = np.arange(250) >= 200
    padded = Pilot.from_losses(losses, 30, censored=censored)
    k = [2, 30, 600]
    np.testing.assert_allclose(
        Pseudolikelihood().fit(padded).predict(k),
        Pseudolikelihood().fit(pilot).predict(k),
        atol=1e-9,
    )
    nothing = Pilot.from_losses([0, 0], 30, censored=[True, True])
    with pytest.warns(AssumptionWarning, match="nothing is known"):
        fit = Pseudolikelihood(constraints="none").fit(nothing)
    # What is left is the reference law: E[U] of four fifths arcsine and a tenth at either end.
    assert float(fit.predict(2)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("constraints", ALL)
@pytest.mark.parametrize("n_classes", [2, 100, 10**6])
def test_one_sided_pilots_are_finite_and_warned_about(constraints, n_classes):
    k = [2, n_classes, 20 * n_classes]
    with pytest.warns(AssumptionWarning, match="all 50 probes are right"):
        fit = Pseudolikelihood(constraints=constraints).fit(Pilot.from_losses([0] * 50, n_classes))
    assert (fit.predict(k) > 0.999).all()
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        fit.fit(Pilot.from_losses([n_classes - 1] * 50, n_classes))
    # A non-decreasing density is at worst uniform: accuracy 1 / k.
    worst = 1 / np.array(k) if fit.constraints in ("monotone", "cons") else np.zeros(3)
    np.testing.assert_allclose(fit.predict(k), worst, atol=1e-4)


def test_accuracy_below_chance_drops_the_moment():
    pilot = Pilot.from_losses([0] + [15] * 60 + [19] * 60, 20)
    with pytest.warns(AssumptionWarning, match="not above chance"):
        fit = Pseudolikelihood().fit(pilot)
    assert float(fit.predict(20)) == pytest.approx(1 / 20, abs=1e-3)


@pytest.mark.parametrize("n_classes", [10**6, 10**9])
def test_many_classes(n_classes):
    # p = 1 - U uniform on [0, 4 / n]: accuracy at k is (1 - exp(-4 k / n)) / (4 k / n), nearly.
    rng = np.random.default_rng(10)
    p = rng.uniform(0, 4 / n_classes, 20_000)
    pilot = Pilot.from_losses(rng.binomial(n_classes - 1, p), n_classes)
    ratio = np.array([0.5, 1.0, 2.0])
    fit = Pseudolikelihood().fit(pilot)
    expected = -np.expm1(-4 * ratio) / (4 * ratio)
    np.testing.assert_allclose(fit.predict(ratio * n_classes), expected, atol=0.01)


def test_ties_and_orders_do_not_matter():
    rng = np.random.default_rng(11)
    losses, ties = rng.integers(0, 3, 80), rng.integers(0, 10, 80)
    labels, order = rng.integers(0, 20, 80), rng.permutation(80)
    first = Pilot.from_losses(losses, 20, ties=ties, labels=labels)
    second = Pilot.from_losses(losses[order], 20, ties=ties[order], labels=labels[order])
    k = [2, 20, 400, 10**6]
    for constraints in ALL:
        fit = Pseudolikelihood(constraints=constraints)
        np.testing.assert_allclose(
            clone(fit).fit(first).predict(k), clone(fit).fit(second).predict(k), atol=1e-9
        )


@pytest.mark.parametrize(
    "options, words",
    [
        ({"constraints": "both"}, "constraints must be one of"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"nodes": 20}, "nodes"),
        ({"nodes": 20_000}, "at most 10,000"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        Pseudolikelihood(**options).fit(near_perfect())
