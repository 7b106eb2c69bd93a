"""Training the default forecast: features in torch, truths, the network, going on after a stop."""

import numpy as np
import pytest
from scipy.special import logit

from experiments.problems import problems
from experiments.problems.families import PLAIN
from experiments.training import features, fits, learn
from headcount import Pilot
from headcount.estimators import ProbitNormal
from headcount.estimators.auto import network as shipped
from headcount.estimators.auto.features import N_FEATURES, Features, class_counts, gather, law_curve
from headcount.simulate.theory import IsotropicGaussian

torch = pytest.importorskip("torch")
from experiments.training import network  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def gathered(pilot, **options):
    base = ProbitNormal().fit(pilot)
    return gather(pilot, base.favorability_, base.mu_, base.tau_, **options)


def scores_of(seed, n_classes, per_class, family=None):
    drawn = problems.draw(seed, family=family, n_classes=n_classes, probes_per_class=per_class)
    made = problems.realise(drawn, n_truth=500, n_truth_probes=100, oracle=False)
    return made.scores, made.labels


@pytest.fixture(scope="module")
def group():
    made = learn.make_group(
        learn.paper(30, 1, 2)[:6], 25, "cpu", truth_probes=1000, truth_classes=1200
    )
    return network.Group(**made)


# -- features ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "n_classes", "per_class", "family"),
    [(1, 50, 3, None), (2, 21, 1, "heavy_tailed"), (3, 150, 5, "plain"), (4, 90, 2, "spoiled")],
)
def test_both_ways_to_gather_agree(seed, n_classes, per_class, family):
    scores, labels = scores_of(seed, n_classes, per_class, family)
    expected = gathered(Pilot.from_scores(scores.numpy(), labels.numpy()))
    batch = features.gather(scores[None], labels, per_class, n_classes)
    # Training scores are float32.
    np.testing.assert_allclose(batch.probes[0].flatten(0, 1), expected.probes, atol=2e-4)
    np.testing.assert_allclose(batch.whole[0], expected.whole, atol=1e-3)
    np.testing.assert_allclose(batch.base[0], expected.base, atol=1e-3)
    # From the same doubles each probe has the same features to the last digits.
    doubles = features.gather(scores[None].double(), labels, per_class, n_classes)
    np.testing.assert_allclose(doubles.probes[0].flatten(0, 1), expected.probes, atol=1e-11)
    # As much holds for a pilot some of whose classes have no probes.
    some = 3 * n_classes // 4
    kept = some * per_class
    pilot = Pilot.from_scores(scores[:kept].numpy(), labels[:kept].numpy())
    part = features.gather(scores[None, :kept], labels[:kept], per_class, some)
    np.testing.assert_allclose(part.whole[0], gathered(pilot).whole, atol=1e-3)


def test_ties_are_spread_as_the_pilot_does():
    scores, labels = scores_of(5, 40, 2)
    coarse = (scores / scores.std() * 3).round()
    pilot = Pilot.from_scores(coarse.numpy(), labels.numpy())
    assert pilot.ties.sum() > 40
    batch = features.gather(coarse[None], labels, 2, 40)
    np.testing.assert_allclose(batch.whole[0], gathered(pilot).whole, atol=1e-3)
    np.testing.assert_allclose(batch.probes[0].flatten(0, 1), gathered(pilot).probes, atol=2e-4)


def test_problems_gathered_together_are_as_alone(monkeypatch):
    both = torch.stack([scores_of(seed, 30, 2)[0] for seed in (1, 2, 3)])
    labels = torch.arange(30).repeat_interleave(2)
    together = features.gather(both, labels, 2, 30)
    monkeypatch.setattr(features, "BUDGET", 1)
    apart = features.gather(both, labels, 2, 30)
    for name in ("probes", "whole", "base"):
        one, other = getattr(together, name), getattr(apart, name)
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
@pytest.mark.parametrize("losses", [[0] * 20, [19] * 20, [0] * 19 + [19], list(range(20))])
def test_fits_agree_at_the_edges(losses):
    lost = torch.tensor([losses])
    found = fits.fit_losses(lost, torch.zeros_like(lost), 20, 20)
    fit = ProbitNormal().fit(Pilot.from_losses(losses, 20, labels=np.arange(20)))
    expected = law_curve(fit.favorability_, class_counts(20))
    np.testing.assert_allclose(torch.sigmoid(found.base[0]), expected, atol=1e-3)


# -- problems and truths ----------------------------------------------------------------------------


def test_nothing_held_out_is_learned_from():
    shown = [one for number in range(0, 400, 8) for one in learn.draw_group(number, 10)]
    families = {one.family for one in shown}
    assert not families & set(problems.HELD_OUT)
    assert PLAIN in families and len(families) > 8
    plain = np.mean([one.family == PLAIN for one in shown])
    assert 0.15 < plain < 0.4
    for number in range(300):
        n_classes, per_class, members = learn.sizes(number)
        assert learn.SIZES[0] <= n_classes <= learn.SIZES[1]
        assert 1 <= per_class <= learn.MOST_PER_CLASS
        assert n_classes * per_class <= learn.MOST_PROBES
        assert min(12, n_classes) <= members <= n_classes


def test_settings_of_paper_001_have_their_known_truth():
    asked = [one for one in learn.paper(100, 2, 1) if one.population == one.noise_law == "normal"]
    assert {(one.n_dims, round(one.noise**2, 6)) for one in asked} == {
        (5, 0.1), (5, 0.2), (3, 0.1), (10, 0.6)
    }  # fmt: skip
    one = asked[0]
    made = learn.make_group([one], 100, "cpu", truth_probes=3000, truth_classes=3000)
    exact = IsotropicGaussian(one.n_dims, one.noise, None).accuracy(
        np.round(class_counts(100)[[3, 5, 7]]).astype(int)
    )
    # 3,000 fresh probes, rivals shared: standard error about 0.01.
    np.testing.assert_allclose(made["truth"][0, [3, 5, 7]], exact, atol=0.03)
    assert made["known"].tolist() == [1] * 8 + [0] * 2  # 3,200 classes and more are not known


def test_chances_of_single_probes_average_to_the_truth(group):
    # Over six problems of 50 probes: standard error about 0.02.
    chances = group.chances.float().mean(dim=(0, 1, 2))
    known = group.known > 0
    gap = (chances - group.truth.mean(dim=0))[known]
    assert gap.abs().max() < 0.08
    assert group.probes.shape == (6, 25, 2, N_FEATURES)


# -- the network ------------------------------------------------------------------------------------


def random_network(group, seed=0):
    torch.manual_seed(seed)
    net = network.make_network(network.standards([group]))
    for layer in net.modules():
        if isinstance(layer, torch.nn.Linear):
            torch.nn.init.normal_(layer.weight, std=0.07)
    return net


def test_numpy_runs_the_same_network(group):
    net = random_network(group)
    weights = {name: value.numpy().astype(float) for name, value in net.state_dict().items()}
    n_members, per_class = group.probes.shape[1:3]
    members = np.repeat(np.arange(n_members), per_class)
    with torch.no_grad():
        forecast, spread, _ = net([(group.probes, group.whole, group.base)])
        bare = net([(*network.losses_alone(group.probes, group.whole), group.base)])[0]
    for row in range(2):
        for alone, expected in ((False, forecast[row]), (True, bare[row])):
            probes, whole = group.probes[row : row + 1], group.whole[row : row + 1]
            if alone:
                probes, whole = network.losses_alone(probes, whole)
            pilot = Features(
                probes[0].flatten(0, 1).double().numpy(), members,
                np.full(n_members, 1 / n_members), whole[0].double().numpy(),
                group.base[row].double().numpy(), np.empty(0), not alone, 0.0,
            )  # fmt: skip
            made = shipped.run(weights, pilot)
            np.testing.assert_allclose(made[0], expected, atol=1e-4)
            if not alone:
                np.testing.assert_allclose(made[1], spread[row], atol=1e-4)
    assert not np.allclose(forecast[:2], bare[:2], atol=1e-2)


def test_masked_problems_look_as_pilots_without_scores(group):
    scores, labels = scores_of(7, 30, 2)
    batch = features.gather(scores[None], labels, 2, 30)
    probes, whole = network.losses_alone(batch.probes, batch.whole)
    bare = gathered(Pilot.from_scores(scores.numpy(), labels.numpy()), use_scores=False)
    np.testing.assert_allclose(probes[0].flatten(0, 1), bare.probes, atol=1e-5)
    np.testing.assert_allclose(whole[0], bare.whole, atol=1e-3)


def test_problems_of_several_sizes_are_as_alone(group):
    net = random_network(group)
    small = network.Group(
        group.probes[:2, :10], group.chances[:2, :10], group.whole[:2], group.base[:2],
        group.truth[:2], group.known,
    )  # fmt: skip
    parts = [(one.probes, one.whole, one.base) for one in (group, small)]
    with torch.no_grad():
        together = net(parts)
        apart = [net([part]) for part in parts]
    for at in range(3):
        np.testing.assert_allclose(together[at], torch.cat([one[at] for one in apart]), atol=1e-5)


def test_every_problem_is_shown_once_a_round(group, monkeypatch):
    monkeypatch.setattr(network, "PROBES_A_STEP", 150)
    shown = network.steps([group, group], np.random.default_rng(0))
    rows = []
    while len(rows) < 12:
        rows += [row for _, part in next(shown) for row in range(part.start, part.stop)]
    assert sorted(rows) == sorted(2 * list(range(6)))


def test_objective_by_hand(group):
    net = network.make_network(network.standards([group]))
    held = [(group, slice(0, 2))]
    with torch.no_grad():
        _, error = network.objective(net, held, [False])
        forecast = net([(group.probes[:2], group.whole[:2], group.base[:2])])[0]
    weight = np.array(network.EMPHASIS) * group.known.numpy()
    gap = (torch.sigmoid(forecast) - group.truth[:2]).numpy() ** 2
    expected = np.sqrt(25 * (gap @ weight) / weight.sum())
    np.testing.assert_allclose(error, expected, rtol=1e-4)
    assert network.smoothed_logit(torch.tensor(0.5)) == 0
    assert float(network.smoothed_logit(torch.tensor(1.0))) == pytest.approx(
        logit(4096.5 / 4097), rel=1e-3
    )


def test_training_learns_and_goes_on_where_it_stopped(group, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(network, "PROBES_A_STEP", 200)
    monkeypatch.setattr(network, "WITHOUT_SCORES", 0.0)
    monkeypatch.setattr(network, "WARM", 1)
    save = tmp_path / "state.pt"
    network.train([group], seed=1, seconds=60, save=save, n_steps=1)
    first = torch.load(save, weights_only=True)
    assert first["step"] == 1
    first["n_steps"] = 120
    torch.save(first, save)
    net = network.train([group], seed=1, seconds=60, save=save, every=0.2, judge=lambda one: None)
    assert torch.load(save, weights_only=True)["step"] == 120
    assert "step" in capsys.readouterr().out
    said = learn.judge_network(net, {"own": group})["own"]
    assert said["full"] < 0.5 * said["base"]
    assert 0 <= said["covered"] <= 1
    assert said["oracle"] < said["base"]


def test_from_problems_to_a_file_of_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(learn, "SIZES", (18, 24))
    monkeypatch.setattr(learn, "TRUTH", {"classes": (600, 600), "probes": (100, 100)})
    monkeypatch.setattr(learn, "JUDGED", ("valid0", "tree", "paper100"))
    monkeypatch.setattr(learn, "PAPER", learn.PAPER[:1])
    made = ["--device", "cpu", "--size", "2", "--groups", "2"]
    learn.main(["generate", str(tmp_path), *made])
    stamp = (tmp_path / "train_000001.pt").stat().st_mtime_ns
    learn.main(["generate", str(tmp_path), *made])
    assert (tmp_path / "train_000001.pt").stat().st_mtime_ns == stamp
    learn.main(["judged", str(tmp_path), *made])
    learn.main(
        ["train", str(tmp_path), "--device", "cpu", "--seconds", "0.5", "--out", str(tmp_path)]
    )
    assert "paper100" in capsys.readouterr().out
    learn.main(["pack", str(tmp_path), "--out", str(tmp_path)])
    with np.load(tmp_path / shipped.FILE) as read:
        names = {name.removeprefix("0/") for name in read.files}
    assert names == set(shipped.networks()[0])
