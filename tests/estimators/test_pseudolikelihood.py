import doctest
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import brentq
from scipy.stats import beta, binom
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from headcount import AssumptionWarning, MissingExtraError, ParameterError, Pilot, load, observe
from headcount.estimators.pseudolikelihood import (
    PULL,
    Pseudolikelihood,
    Rows,
    components,
    gap,
    maximise,
    rows_of,
)
from headcount.estimators.shared import nonparametric_likelihood

SHARED = Path(__file__).parents[3] / "shared" / "data"
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


# -- the profile -----------------------------------------------------------------------------------


def test_profile_in_closed_form_for_two_classes():
    """Losses of two classes fix E[U] = q alone, and 90 log q + 10 log(1 - q) may fall by `drop`."""
    fit = Pseudolikelihood(constraints="none", nodes=2000).fit(
        Pilot.from_losses([0] * 90 + [1] * 10, 2)
    )

    def excess(q, drop):
        return 90 * np.log(q / 0.9) + 10 * np.log((1 - q) / 0.1) + drop

    for drop in (0.1, 1, 4):
        q = [brentq(excess, *ends, args=(drop,)) for ends in ((0.5, 0.9), (0.9, 0.9999))]
        lower, upper = fit.profile_range([2, 3, 11], drop=drop)
        # By Jensen E[U^(k-1)] is q^(k-1) at least, and q at most.
        np.testing.assert_allclose(lower, q[0] ** np.array([1, 2, 10]), atol=2e-4)
        np.testing.assert_allclose(upper, q[1], atol=2e-4)


@pytest.mark.parametrize("constraints", ["monotone", "cons"])  # without them Clarabel gives up
def test_profile_is_that_of_a_convex_solver(constraints):
    cvxpy = pytest.importorskip("cvxpy")
    pilot = Pilot.from_losses(np.repeat(np.arange(5), [60, 12, 7, 6, 15]), 8)
    fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(pilot)
    rows, chances = rows_and_chances(fit, pilot)
    accuracy = components(500, 7, monotone=True).accuracy(80)
    ratios = chances / (chances @ fit.weights_)[:, None]
    for drop in (0.3, 2.0):
        lower, upper = fit.profile_range(80, drop=drop)
        for found, sign in ((lower, 1), (upper, -1)):
            g = cvxpy.Variable(500, nonneg=True)
            demands = [cvxpy.sum(g) == 1, rows.weights @ cvxpy.log(ratios @ g) >= -drop / 100]
            if constraints == "cons":
                demands.append(ratios[0] @ g == 1)
            problem = cvxpy.Problem(cvxpy.Minimize(sign * accuracy @ g), demands)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it finds itself less exact than asked for
                expected = sign * problem.solve(cvxpy.CLARABEL)
            assert float(found) == pytest.approx(expected, abs=3e-4)


def test_profile_holds_every_law_that_is_nearly_as_likely():
    """Random laws on the way from the estimate: all inside, and some close to the ends."""
    pilot = Pilot.from_losses([0] * 80 + [1] * 10 + [2] * 5 + [4] * 5, 20)
    fit = Pseudolikelihood(constraints="none", nodes=500).fit(pilot)
    rows, chances = rows_and_chances(fit, pilot)
    mixed = components(500, 19, False)
    accuracy, found = mixed.accuracy(100), []
    rng = np.random.default_rng(0)
    for law in rng.dirichlet(np.full(500, 0.01), 3000):
        for step in np.geomspace(0.001, 1, 20):
            g = (1 - step) * fit.weights_ + step * law
            if 100 * rows.weights @ np.log((chances @ g) / (chances @ fit.weights_)) >= -1:
                found.append(accuracy @ g)
    lower, upper = fit.profile_range(100)
    assert lower <= min(found) and max(found) <= upper
    assert max(found) - min(found) > 0.05


@pytest.mark.parametrize("constraints", ALL)
def test_profile_grows_with_the_drop_from_the_estimate(constraints):
    fit = Pseudolikelihood(constraints=constraints, nodes=500).fit(near_perfect())
    lower, upper = np.array(
        [fit.profile_range(400, drop=drop) for drop in (0, 1e-300, 1e-6, 0.1, 1, 30)]
    ).T
    point = fit.predict(400)
    assert (np.diff(lower) <= 1e-5).all() and (np.diff(upper) >= -1e-5).all()
    assert (lower <= point).all() and (point <= upper).all() and (lower >= 0).all()
    assert upper[0] - lower[0] < 0.01 and upper[-1] <= 1


def test_profile_at_one_class_and_of_several_at_once():
    fit = Pseudolikelihood(nodes=500).fit(near_perfect())
    k = np.array([[1, 20], [100, 10**6]])
    lower, upper = fit.profile_range(k)
    assert lower.shape == upper.shape == k.shape
    assert lower[0, 0] == upper[0, 0] == pytest.approx(1)
    assert lower[0, 1] == pytest.approx(0.995, abs=1e-9) == upper[0, 1]  # the moment is met
    assert (lower < upper)[1].all()


def test_profile_of_one_sided_pilots():
    with pytest.warns(AssumptionWarning, match="all 50 probes are right"):
        fit = Pseudolikelihood(constraints="none", nodes=500).fit(Pilot.from_losses([0] * 50, 20))
    lower, upper = fit.profile_range(20)
    # 50 log A >= -1; the law that is worst at 20 classes beyond has A there as well
    assert lower == pytest.approx(np.exp(-1 / 50), abs=1e-3) and upper == pytest.approx(1, abs=1e-6)


def test_probes_of_which_nothing_is_known_do_not_count_in_the_profile():
    losses = [0] * 80 + [1] * 10 + [2] * 5 + [4] * 5
    fit = Pseudolikelihood(nodes=500).fit(Pilot.from_losses(losses, 20))
    more = Pilot.from_losses(losses + [0] * 100, 20, censored=[False] * 100 + [True] * 100)
    again = Pseudolikelihood(nodes=500).fit(more)
    found, expected = again.profile_range(100), fit.profile_range(100)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_small_products_run_on_one_thread(monkeypatch):
    """On two threads, with other work on the machine, they took twenty times as long."""
    solve, seen = nonparametric_likelihood._solve, []

    def limits():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def watched(matrix, right):
        seen.extend(limits())
        return solve(matrix, right)

    monkeypatch.setattr(nonparametric_likelihood, "_solve", watched)
    with threadpool_limits(2, user_api="blas"):
        before = limits()
        fit = Pseudolikelihood(nodes=500).fit(near_perfect())
        assert set(seen) == {1}
        seen.clear()
        fit.profile_range(100, drop=0.5)
        assert set(seen) == {1}
        assert limits() == before


@pytest.mark.parametrize("drop", [-1, np.inf, np.nan])
def test_drops_that_are_none_are_refused(drop):
    with pytest.raises(ParameterError, match="drop must be 0 or more"):
        Pseudolikelihood(nodes=500).fit(near_perfect()).profile_range(100, drop=drop)


@pytest.mark.skipif(not (SHARED / "telugu_paper_svm_20.npz").exists(), reason="no Telugu files")
@pytest.mark.parametrize(
    "classifier, printed, ends", [
        ("logistic", 0.721, (0.4848, 0.8427)), ("svm", 0.575, (0.2953, 0.7309)),
    ]
)  # fmt: skip
def test_con_of_003_is_flat(classifier, printed, ends):
    """Its numbers are no maximisers, yet well within one unit of the maximum."""
    fit = Pseudolikelihood().fit(load(SHARED / f"telugu_paper_{classifier}_20.npz"))
    np.testing.assert_allclose(fit.profile_range(400), ends, atol=2e-4)
    assert abs(fit.predict(400) - printed) > 0.05
    lower, upper = fit.profile_range(400, drop=0.25)
    assert lower < printed < upper


@pytest.mark.skipif(not (SHARED / "telugu_paper_svm_20.npz").exists(), reason="no Telugu files")
@pytest.mark.parametrize(
    "classifier, name", [
        ("logistic regression", "paper_logistic"), ("SVM", "paper_svm"),
        ("votes of neighbours", "paper_knn"), ("deep network", "deepslim"),
    ]
)  # fmt: skip
def test_the_page_on_flatness_has_the_papers_files(classifier, name):
    text = (Path(__file__).parents[2] / "docs" / "pseudolikelihood.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"| {classifier} "))
    _, _, point, alike, nearby, _ = (cell.strip() for cell in row.strip("|").split("|"))
    fit = Pseudolikelihood().fit(load(SHARED / f"telugu_{name}_20.npz"))
    assert f"{fit.predict(400):.3f}" == point
    assert "{:.3f} to {:.3f}".format(*fit.identified_range(400)) == alike
    assert "{:.3f} to {:.3f}".format(*fit.profile_range(400)) == nearby


# -- edges -----------------------------------------------------------------------------------------


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


def test_the_page_on_flatness_says_what_comes_out():
    page = Path(__file__).parents[2] / "docs" / "pseudolikelihood.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 and tried == 7
