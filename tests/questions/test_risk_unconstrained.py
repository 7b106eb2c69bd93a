"""The unconstrained moment regression of 004, Eq. 12-17: exact, unbiased, with its error."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from headcount import ParameterError, Pilot, load
from headcount.questions.risk import curve_covariance, forecast_risk, observed_risk
from risk_pilots import small_pilot

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
KNOTS = np.arange(1, 6) / 6


def unconstrained(pilot, cost, classes, **options):
    return forecast_risk(pilot, cost, classes, approach="unconstrained", **options)


def spline_moment(k, knot):
    """(k - 1) times the integral of (u - t)_+ u^(k-2), by hand."""
    tail = (1 - knot**k) / k
    return (k - 1) * (tail - knot * (1 - knot ** (k - 1)) / (k - 1))


@pytest.mark.parametrize(
    ("name", "printed"),
    [("paper_logistic", 0.130), ("paper_svm", 0.227), ("deepslim", 0.010)],
)
def test_five_splines_are_the_p5_of_table_1(name, printed):
    path = DATA / f"telugu_{name}_20.npz"
    if not path.exists():
        pytest.skip("the paper's files are not at hand")
    risk = unconstrained(load(path), "zero-one", 400, intervals=False).risk(400)
    assert f"{risk:.3f}" == f"{printed:.3f}"


def test_coefficients_are_weighted_least_squares():
    pilot, cost = small_pilot()
    result = unconstrained(pilot, cost, 400, weights=lambda k: 1 / k, largest_k=30)
    k = np.arange(2.0, 31)
    moments = np.array([[spline_moment(count, knot) for knot in KNOTS] for count in k])
    root = np.sqrt(1 / k)
    expected = np.linalg.lstsq(
        root[:, None] * moments, root * observed_risk(pilot, cost, k), rcond=None
    )[0]
    far = np.array([spline_moment(400, knot) for knot in KNOTS])
    assert result.risk(400) == pytest.approx(far @ expected, rel=1e-8)
    at, slopes, by_error = result.linear_map([400])
    assert by_error is None
    variance = slopes @ curve_covariance(pilot, cost, at) @ slopes.T
    assert result.standard_error(400) == pytest.approx(np.sqrt(variance[0, 0]), rel=1e-9)
    inverse = np.linalg.inv(moments.T @ (moments / k[:, None])) @ (moments / k[:, None]).T
    np.testing.assert_allclose(slopes[0], far @ inverse, rtol=1e-4)


def test_any_functions_of_u():
    pilot, cost = small_pilot()
    splines = [lambda u, t=t: np.maximum(u - t / KNOTS.size / 1.2, 0) for t in range(1, 6)]
    one = unconstrained(pilot, cost, 400, intervals=False)
    other = unconstrained(pilot, cost, 400, basis=splines, intervals=False)
    assert other.risk(400) == pytest.approx(float(one.risk(400)), rel=1e-4)
    assert other.method == "unconstrained-functions"
    # One function of its own moments: c H(k) with c by hand.
    root = unconstrained(pilot, cost, 400, basis=[np.sqrt], intervals=False)
    k = np.arange(2.0, 41)
    moment = (k - 1) / (k - 0.5)
    observed = observed_risk(pilot, cost, k)
    expected = moment @ observed / (moment @ moment) * 399 / 399.5
    assert root.risk(400) == pytest.approx(expected, rel=1e-6)


def test_unbiased_over_all_pilots_of_a_population():
    # The mean over all sets of 7 of 9 classes is what the curve of the nine gives, to the digit.
    whole, cost = small_pilot(seed=3, n_classes=9, per_class=1, noise=1.5, ties=True)
    options = {"degree": 3, "weights": lambda k: k**0.5, "largest_k": 7, "intervals": False}
    forecasts = [
        unconstrained(whole.subset(list(chosen)), cost[np.ix_(chosen, chosen)], 90, **options).risk(
            90
        )
        for chosen in itertools.combinations(range(9), 7)
    ]
    expected = unconstrained(whole, cost, 90, **options).risk(90)
    assert np.std(forecasts) > 0.1
    assert np.mean(forecasts) == pytest.approx(float(expected), rel=1e-9)


def priced_pilot(seed, n_classes=20, per_class=5):
    """Where the conditional cost is 6 (u - 1/2)_+: beaten on half of the range, at 3 each time.

    Half of all classes, the dear ones, score above the others with every probe. Only they can
    beat a true class, whose own score is uniform over their range.
    """
    rng = np.random.default_rng(seed)
    dear = rng.random(n_classes) < 0.5
    labels = np.repeat(np.arange(n_classes), per_class)
    scores = (rng.random((len(labels), n_classes)) + dear) / 2
    scores[np.arange(len(labels)), labels] = (1 + rng.random(len(labels))) / 2
    cost = np.where(dear, 3.0, 7.0) * (rng.integers(0, 2, (n_classes, 1)) * 2)
    np.fill_diagonal(cost, 0)
    return Pilot.from_scores(scores, labels), cost


@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
def test_unbiased_beyond_the_pilot_where_the_basis_is_right():
    k = np.array([40.0, 400.0])
    truth = 6 * np.array([spline_moment(count, 0.5) for count in k])
    forecasts = np.array(
        [unconstrained(*priced_pilot(seed), k, intervals=False).risk(k) for seed in range(400)]
    )
    error = forecasts.std(axis=0) / 20
    assert (np.abs(forecasts.mean(axis=0) - truth) < 3 * error).all()
    assert (error < 0.05 * truth).all()


@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
def test_forecasts_are_not_cut_off():
    pilots = [small_pilot(seed, n_classes=12, noise=0.4) for seed in range(20)]
    results = [unconstrained(pilot, cost, 1000, degree=8) for pilot, cost in pilots]
    assert min(result.risk(1000) for result in results) < 0
    assert min(result.interval(1000)[0] for result in results) == 0  # but what is possible


def test_too_many_functions_are_refused():
    pilot, cost = small_pilot(n_classes=5)
    with pytest.raises(ParameterError, match="whose rank is 4; use at most 4"):
        unconstrained(pilot, cost, 10)
    assert np.isfinite(unconstrained(pilot, cost, 10, degree=4).risk(10))
    with pytest.raises(ParameterError, match="basis functions cannot be told apart"):
        unconstrained(pilot, cost, 10, basis="gaussian")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"basis": []}, "at least one"),
        ({"basis": [3]}, "functions of u"),
        ({"basis": [lambda u: u[0]]}, "basis function 1 must return a finite number"),
        ({"basis": [np.sqrt, lambda u: 1 / (u * 0)]}, "basis function 2 must return"),
        ({"basis": [lambda: 1]}, "does not take an array"),
        ({"basis": "fourier"}, "basis"),
        ({"method": "probit-normal"}, "uses no law of mistakes"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_bases_are_refused(options, said):
    pilot, cost = small_pilot(n_classes=8)
    with pytest.raises(ParameterError, match=said):
        unconstrained(pilot, cost, 10, **options)


def test_functions_go_with_unconstrained_only():
    pilot, cost = small_pilot(n_classes=8)
    with pytest.raises(ParameterError, match="go with approach='unconstrained'"):
        forecast_risk(pilot, cost, 10, basis=[np.sqrt])
