"""What every registered method promises, checked once for all."""

import numpy as np
import pytest
from sklearn.base import clone

from headcount import ParameterError, Pilot, UnsupportedError, forecast
from headcount.curves.favorability import Favorability
from headcount.estimators import METHODS, Extrapolator, resolve

# No mixtures: what they draw is the moments of no law.
PUBLISHED = {name for name, method in METHODS.items() if method.published}
EXEMPT_FROM_SHAPE = {"log-linear", "exponential-in-log"} | PUBLISHED
# Methods too stiff to follow a curve, and kde, which never looks at it.
EXEMPT_FROM_FIT = {"no-change", "pooled-fmr", "kde"}
# Trained networks: fewer iterations here, and answers to the 1e-3 that round-off grows to.
SMALLER = {
    "cleanex": {"layers": (64, 32), "iterations": 300, "learning_rate": 1e-3, "device": "cpu"},
    "cleanex-fast": {"layers": (64, 32), "device": "cpu"},
}


@pytest.fixture(params=sorted(METHODS))
def method(request):
    if request.param.startswith("cleanex"):
        pytest.importorskip("torch")
    return METHODS[request.param](**SMALLER.get(request.param, {}))


def scores_and_labels(seed=0, n_classes=40, per_class=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 6))
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + 0.7 * rng.normal(size=(len(labels), 6))
    return -np.linalg.norm(points[:, None] - centres[None], axis=2), labels


@pytest.fixture
def pilot():
    return Pilot.from_scores(*scores_and_labels())


KS = np.unique(np.geomspace(1, 1e9, 60).astype(np.int64))


def test_values_fall_from_one_in_a_convex_curve(method, pilot):
    values = method.fit(pilot).predict(KS)
    assert ((values >= 0) & (values <= 1)).all()
    if method.alias not in EXEMPT_FROM_SHAPE:
        assert values[0] == 1
        assert (np.diff(values) <= 1e-12).all()
        assert (np.diff(method.predict(np.arange(1, 200)), 2) >= -1e-12).all()


def test_fit_sets_a_law_of_mass_one(method, pilot):
    assert method.fit(pilot) is method
    if method.alias in EXEMPT_FROM_SHAPE:
        assert method.favorability_ is None
        return
    assert isinstance(method.favorability_, Favorability)
    assert method.favorability_.weights.sum() == pytest.approx(1, abs=1e-12)


def test_answer_does_not_depend_on_order_or_sign(method):
    scores, labels = scores_and_labels()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(scores.shape[1])
    place = np.argsort(columns)
    reference = method.fit(Pilot.from_scores(scores, labels)).predict(KS)
    moved = Pilot.from_scores(scores[rows][:, columns], place[labels[rows]])
    flipped = Pilot.from_scores(-scores, labels, higher_is_better=False)
    # Trained networks: cleanex is trained anew, and that of auto adds in single precision.
    tolerance = 1e-3 if method.alias in SMALLER else 1e-6 if method.alias == "auto" else 1e-9
    for other in (moved, flipped):
        np.testing.assert_allclose(clone(method).fit(other).predict(KS), reference, atol=tolerance)


def test_methods_on_losses_ignore_monotone_rescaling(method):
    if method.needs != "losses" or method.uses_scores:
        pytest.skip("uses the scores themselves")
    scores, labels = scores_and_labels()
    reference = method.fit(Pilot.from_scores(scores, labels)).predict(KS)
    warped = Pilot.from_scores(np.exp(scores) ** 3, labels)
    np.testing.assert_allclose(clone(method).fit(warped).predict(KS), reference, atol=1e-12)


def test_fitting_twice_gives_the_same(method, pilot):
    first = method.fit(pilot).predict(KS)
    assert clone(method).fit(pilot).predict(KS).tolist() == first.tolist()


def test_constructor_only_stores(method):
    for name, value in method.get_params().items():
        assert getattr(method, name) is value
    assert not [name for name in vars(method) if name.endswith("_")]


def test_says_what_it_is_for(method):
    assert method.needs in ("losses", "beats", "scores")
    assert method.about and method.cost and method.advice


def test_fits_near_the_observed_curve(method, pilot):
    from headcount import observe

    if method.alias in EXEMPT_FROM_FIT:
        pytest.skip("cannot follow the curve by construction")
    fitted = method.fit(pilot).predict([2, 10, 40])
    np.testing.assert_allclose(fitted, observe(pilot).accuracy([2, 10, 40]), atol=0.05)


class NeedsScores(Extrapolator):
    """A method of a user's own: everybody is right half of the time."""

    alias = "coin"
    needs = "scores"

    def _estimate(self, pilot):
        return Favorability([0.5], [1.0])


def test_a_method_of_ones_own_may_be_passed(pilot):
    made = forecast(pilot, classes=100, method=NeedsScores(), intervals=False)
    assert float(made.law.accuracy(3)) == 0.25


def test_methods_refuse_what_they_cannot_use():
    with pytest.raises(UnsupportedError, match="needs scores"):
        NeedsScores().fit(Pilot.from_losses([0, 1], 5))
    censored = Pilot.from_losses([3, 1], 5, censored=[True, False])

    class LossesOnly(NeedsScores):
        needs = "losses"

    with pytest.raises(UnsupportedError, match="1 of 2"):
        LossesOnly().fit(censored)


def test_unknown_methods_list_the_known_ones():
    with pytest.raises(ParameterError, match="probit-normal"):
        resolve("probit")
