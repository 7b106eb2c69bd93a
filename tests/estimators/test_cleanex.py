"""CleaneX and its fast version."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from headcount import AssumptionWarning, ParameterError, Pilot, observe, simulate
from headcount.errors import MissingExtraError
from headcount.estimators import CleaneX, CleaneXFast
from headcount.estimators.cleanex import fast as fast_module
from headcount.estimators.cleanex import marquardt, networks
from headcount.support.workers import watching

torch = pytest.importorskip("torch")

SMALL = {"layers": (32, 16), "learning_rate": 3e-3, "iterations": 300, "device": "cpu"}
KS = np.array([2, 5, 20, 40, 200, 2000])


def quick(**changes):
    return CleaneX(**SMALL | changes)


def fast(**changes):
    return CleaneXFast(**{"layers": (32, 16), "device": "cpu"} | changes)


@pytest.fixture(scope="module")
def pilot():
    return simulate.points_around_classes(
        40, sigma2=0.3, probes_per_class=4, random_state=3, reference_classes=40
    ).pilot


# -- the objective and the network ----------------------------------------------------------------


def random_problem(n_networks=2, n_probes=9, n_powers=5, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(size=(n_networks, n_probes))
    weights /= weights.sum(axis=1, keepdims=True)
    made = (rng.normal(size=(n_networks, n_probes)), weights, rng.uniform(size=(n_networks, 5)))
    return [torch.tensor(part, dtype=torch.float64) for part in made]


def loss_by_hand(logit, weights, target):
    total = []
    for z, w, goal in zip(logit, weights, target, strict=True):
        curve = [sum(w * expit(z) ** (k - 1)) for k in range(2, len(goal) + 2)]
        total.append(np.mean([(a - b) ** 2 for a, b in zip(curve, goal, strict=True)]))
    return total


@pytest.mark.parametrize("cells", [1 << 24, 11])
def test_loss_is_algorithm_one_and_its_slope_is_the_derivative(monkeypatch, cells):
    monkeypatch.setattr(networks, "CELLS", cells)  # 11: one probe at a time
    logit, weights, target = random_problem()
    powers = torch.arange(1, 6, dtype=torch.float64)
    goal = networks.Goal(powers, target, torch.full((5,), 0.2, dtype=torch.float64))
    loss, slope = networks.misfit(logit, weights, goal)
    np.testing.assert_allclose(loss, loss_by_hand(*map(np.asarray, (logit, weights, target))))
    step = 1e-6
    for i in range(logit.shape[1]):
        moved = logit.clone()
        moved[:, i] += step
        up, _ = networks.misfit(moved, weights, goal)
        np.testing.assert_allclose((up - loss) / step, slope[:, i], atol=1e-6)


def test_network_is_layers_with_rectifiers():
    parameters = networks.started([4, 3, 2, 1], [5, 6], torch.device("cpu"))
    rows = torch.tensor(np.random.default_rng(0).normal(size=(2, 7, 4)), dtype=torch.float32)
    said = networks.logits([part.clone() for part in parameters], rows)
    for i in range(2):
        w1, b1, w2, b2, w3, b3 = (np.asarray(part[i], dtype=np.float64) for part in parameters)
        signal = np.maximum(np.asarray(rows[i]) @ w1 + b1, 0)
        signal = np.maximum(signal @ w2 + b2, 0)
        np.testing.assert_allclose(said[i], (signal @ w3 + b3)[:, 0], atol=1e-6)


def test_initial_weights_follow_the_seed_and_stay_in_their_range():
    one = networks.started([100, 50, 1], [1, 2], torch.device("cpu"))
    again = networks.started([100, 50, 1], [1, 2], torch.device("cpu"))
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[0][0], one[0][1])
    assert 0.095 < float(one[0].abs().max()) <= 0.1  # 1 / sqrt(100)
    # Uniform: a standard deviation of 0.1 / sqrt(3), known to 1 part in 100 from 10,000 draws.
    assert float(one[0].std()) == pytest.approx(0.1 / np.sqrt(3), rel=0.03)


def test_loss_weighs_the_powers_by_their_shares():
    logit, weights, target = random_problem()
    powers, shares = torch.tensor([1.0, 3.0, 10.0]).double(), torch.tensor([0.1, 0.3, 0.6]).double()
    loss, slope = networks.misfit(logit, weights, networks.Goal(powers, target[:, :3], shares))
    z = logit.clone().requires_grad_()
    curve = (weights[:, :, None] * torch.sigmoid(z)[:, :, None] ** powers).sum(dim=1)
    by_hand = ((curve - target[:, :3]) ** 2 * shares).sum(dim=1)
    by_hand.sum().backward()
    np.testing.assert_allclose(loss, by_hand.detach())
    np.testing.assert_allclose(slope, z.grad)


def test_jacobian_of_the_fast_fit_is_the_derivative(pilot):
    fit = small_fit(pilot)
    jacobian = fit.jacobian()
    before = fit.residual.clone()
    rng = np.random.default_rng(0)
    change = torch.tensor(rng.normal(size=jacobian.shape[1]), dtype=torch.float64)
    fit.move(change, 1e-7)
    moved = (fit.residual - before) / 1e-7
    np.testing.assert_allclose(moved, jacobian @ change, rtol=1e-3, atol=1e-6)


def small_fit(pilot):
    """A fit in double precision, so that differences mean something."""
    rows = fast_module.score_rows(pilot)
    goal = fast_module.goal_of(pilot, rows)
    parameters = fast_module.first_parameters(rows, goal, [6, 5, 4], 0, 0, torch.device("cpu"))
    fit = marquardt.Marquardt(torch.tensor(rows.values), parameters, goal, 1e-3)
    for name in ("rows", "powers", "weights", "target", "roots"):
        setattr(fit, name, getattr(fit, name).double())
    fit.parameters = [part.double() for part in fit.parameters]
    fit.evaluate()
    return fit


def test_many_probes_are_fitted_by_adam_and_few_by_marquardt(pilot):
    ks = np.arange(2, 41)
    both = {
        name: CleaneXFast(layers=(256, 64), optimiser=name, device="cpu").fit(pilot).predict(ks)
        for name in ("adam", "marquardt", "auto")
    }
    for name in ("adam", "marquardt"):
        np.testing.assert_allclose(both[name], observe(pilot).accuracy(ks), atol=0.01)
    np.testing.assert_array_equal(both["auto"], both["marquardt"])  # 160 probes
    assert np.abs(both["adam"] - both["marquardt"]).max() > 1e-6


def test_few_classes_stand_for_all(pilot):
    powers, shares = fast_module.few_powers(pilot.n_classes - 1)
    assert shares.sum() == pytest.approx(1)
    every = np.arange(2, pilot.n_classes + 1)
    # The mean over all k of a smooth curve; a sum over few terms instead of many.
    few = shares @ observe(pilot).accuracy(powers.astype(int) + 1)
    assert few == pytest.approx(observe(pilot).accuracy(every).mean(), abs=2e-3)


def test_training_in_a_basis_is_training_on_the_rows_it_spans():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(8, 3)))[0].T
    coordinates = rng.normal(size=(20, 3))
    weights = torch.full((1, 20), 0.05)
    goal = networks.Goal(
        torch.tensor([1.0, 4.0]), torch.tensor([[0.9, 0.6]]), torch.full((2,), 0.5)
    )
    recipe = networks.Recipe(50, 1e-2)

    def trained(rows, basis=None):
        given = torch.tensor(rows[None], dtype=torch.float32)
        started = networks.started([8, 5, 1], [3], torch.device("cpu"))
        return networks.train(started, given, weights, goal, recipe, basis)

    whole, loss = trained(coordinates @ basis)
    within, same = trained(coordinates, torch.tensor(basis[None], dtype=torch.float32))
    np.testing.assert_allclose(within, whole, atol=1e-3)
    np.testing.assert_allclose(same, loss, atol=1e-6)


def test_learning_rate_rises_and_falls():
    recipe = networks.Recipe(10, 0.1, ramp=0.3)
    rates = [recipe.rate(i) for i in range(10)]
    np.testing.assert_allclose(rates, np.array([1, 2, 3, 3, 3, 3, 3, 3, 2, 1]) / 30)
    assert networks.Recipe(10, 0.1).rate(0) == 0.1


# -- what it forecasts ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", [quick(), fast()])
def test_fits_the_observed_curve(method, pilot):
    ks = np.arange(2, 41)
    fitted = clone(method).fit(pilot).predict(ks)
    np.testing.assert_allclose(fitted, observe(pilot).accuracy(ks), atol=0.01)


def test_loss_is_that_of_the_fitted_curve(pilot):
    fit = quick().fit(pilot)
    ks = np.arange(2, 41)
    error = fit.predict(ks) - observe(pilot).accuracy(ks)
    assert fit.loss_ == pytest.approx(np.mean(error**2), rel=0.02)
    assert fit.device_ == "cpu"


@pytest.mark.parametrize("method", [quick(), fast(), fast(optimiser="adam")])
def test_increasing_linear_maps_give_the_same_answer(method):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 3)
    scores = rng.normal(size=(60, 20)) + 2 * np.eye(20)[labels]
    one = clone(method).fit(Pilot.from_scores(scores, labels)).predict(KS)
    other = clone(method).fit(Pilot.from_scores(40 * scores - 1000, labels)).predict(KS)
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("method", [quick(), fast(), fast(optimiser="adam")])
def test_the_seed_decides(method, pilot):
    one = clone(method).fit(pilot).predict(KS)
    assert clone(method).fit(pilot).predict(KS).tolist() == one.tolist()
    assert method.set_params(random_state=7).fit(pilot).predict(KS).tolist() != one.tolist()


def test_the_global_generators_are_left_alone(pilot):
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    quick(iterations=3).fit(pilot)
    fast().fit(pilot)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()


@pytest.mark.parametrize("method", [quick(), fast(), fast(optimiser="adam")])
def test_reads_scores_and_not_only_counts(method):
    # The same losses with other gaps must change the forecast: that is what the network is for.
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(25), 4)
    scores = rng.normal(size=(100, 25)) + 2.5 * np.eye(25)[labels]
    ranked = scores.argsort(axis=1).argsort(axis=1).astype(float)
    one = clone(method).fit(Pilot.from_scores(scores, labels))
    other = clone(method).fit(Pilot.from_scores(np.exp(ranked), labels))
    # Far more than the 1e-3 that linear maps may change.
    assert np.abs(one.predict(KS) - other.predict(KS)).max() > 5e-3


def test_macro_weights_are_used():
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.zeros(60, int), np.arange(1, 21)])
    scores = rng.normal(size=(80, 21)) + 3 * np.eye(21)[labels]
    scores[:60] = rng.normal(size=(60, 21))  # the crowded class is hard
    for average in ("macro", "micro"):
        pilot = Pilot.from_scores(scores, labels, average=average)
        fitted = fast().fit(pilot).predict([2, 21])
        np.testing.assert_allclose(fitted, observe(pilot).accuracy([2, 21]), atol=0.02)


# -- options and edges ----------------------------------------------------------------------------


def test_pilots_trained_together_are_as_if_alone():
    whole = simulate.points_around_classes(60, sigma2=0.3, random_state=1).population
    pilots = [whole.pilot(20, random_state=i) for i in range(3)]
    together = quick().fit_together(pilots, [4, 5, 6])
    for seed, pilot, fit in zip([4, 5, 6], pilots, together, strict=True):
        alone = quick(random_state=seed).fit(pilot)
        np.testing.assert_allclose(fit.predict(KS), alone.predict(KS), atol=1e-3)
        assert fit.loss_ == pytest.approx(alone.loss_, rel=0.1)


def test_pilots_trained_together_must_be_of_one_size(pilot):
    with pytest.raises(ParameterError, match="one size"):
        quick().fit_together([pilot, pilot.subset(pilot.class_names[:30])])
    with pytest.raises(ParameterError, match="one size"):
        quick().fit_together([])
    with pytest.raises(ParameterError, match="as many seeds"):
        quick().fit_together([pilot, pilot], [1])


def test_early_stopping_stops_and_never_changes_what_came_before(pilot):
    seen = []
    with watching(lambda task, done, total: seen.append(done)):
        stopped = quick(iterations=5000, patience=200).fit(pilot)
    last = max(done for done in seen if done < 5000)
    assert 200 <= last < 4000
    exactly = quick(iterations=last).fit(pilot)
    assert stopped.predict(KS).tolist() == exactly.predict(KS).tolist()
    assert stopped.loss_ == exactly.loss_


def test_progress_tells_the_error(pilot):
    seen = []
    with watching(lambda task, done, total: seen.append((task, done, total))):
        quick(iterations=250).fit(pilot)
    counted = [(task, done) for task, done, total in seen if total == 250]
    assert any("error" in task for task, _ in counted)
    assert counted[-1][1] == 250


@pytest.mark.parametrize("method", [quick(iterations=50), fast()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_classes(method, n_classes):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 5)
    pilot = Pilot.from_scores(rng.normal(size=(5 * n_classes, n_classes)), labels)
    values = clone(method).fit(pilot).predict([1, 2, 10])
    assert values[0] == 1 and (np.diff(values) <= 0).all()


@pytest.mark.parametrize("method", [quick(iterations=200), fast()])
def test_all_right_and_all_wrong_say_so(method):
    labels = np.arange(8)
    right = Pilot.from_scores(np.eye(8), labels, higher_is_better=True)
    with pytest.warns(AssumptionWarning, match="all 8 probes are right"):
        values = clone(method).fit(right).predict([2, 8])
    assert (values > 0.97).all()
    wrong = Pilot.from_scores(-np.eye(8), labels, higher_is_better=True)
    with pytest.warns(AssumptionWarning, match="no probe is right"):
        values = clone(method).fit(wrong).predict([2, 8])
    assert (values < 0.03).all()


def test_scores_that_are_all_the_same_are_a_guess():
    scores = np.pad(np.ones((12, 6)), ((0, 0), (0, 1)))  # a pilot of nothing else is refused
    pilot = Pilot.from_scores(scores, np.repeat(np.arange(6), 2)).subset(range(6))
    # One U for all is the best a network can do: it sees no difference. E[U] is a half.
    assert float(fast().fit(pilot).predict(2)) == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (quick(layers=()), "layers"),
        (quick(layers=5), "layers"),
        (quick(layers=(5, 0)), "layers"),
        (quick(iterations=0), "iterations"),
        (quick(learning_rate=0.0), "learning_rate"),
        (quick(learning_rate="fast"), "learning_rate"),
        (quick(patience=0), "patience"),
        (quick(device="abacus"), "abacus"),
        (quick(device="meta"), "meta"),
        (quick(random_state=-1), "random_state"),
        (fast(optimiser="sgd"), "optimiser"),
        (fast(layers="x"), "layers"),
    ],
)
def test_bad_options_are_told(method, message, pilot):
    with pytest.raises(ParameterError, match=message):
        method.fit(pilot)


@pytest.mark.parametrize("method", [quick(), fast()])
def test_without_torch_the_extra_is_named(method, pilot, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"headcount\[torch\]"):
        method.fit(pilot)
