"""Training the default: what it learns from, both ways to compute features, the network, the file."""

import io
import json
import shutil
import subprocess
import tarfile
from dataclasses import replace
from functools import partial
from math import comb
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit, ndtr

from experiments.problems import problems
from experiments.problems.families import PLAIN
from experiments.training import features, fits, laws, learn, sources
from headcount import Pilot
from headcount.estimators import BentNormal
from headcount.estimators.auto import network as shipped
from headcount.estimators.auto.features import (
    N_FEATURES,
    N_GLOBALS,
    Features,
    class_counts,
    gather,
    within_reach,
)
from headcount.estimators.shared import bending
from headcount.simulate.theory import IsotropicGaussian

torch = pytest.importorskip("torch")
from experiments.training import network  # noqa: E402

CPU = torch.device("cpu")
PIECES = ("probes", "whole", "base", "errors")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def gathered(pilot, **options):
    return gather(pilot, BentNormal().fit(pilot), **options)


def gathered_losses(losses, n_classes, censored=None):
    lost = torch.tensor(losses)
    cut = torch.zeros_like(lost, dtype=torch.bool) if censored is None else torch.tensor(censored)
    return features.gather_losses(lost, cut, n_classes)


def scores_of(seed, n_classes, per_class, family=None):
    problem = problems.draw(seed, family=family, n_classes=n_classes, probes_per_class=per_class)
    real = problems.realise(problem, n_truth=500, n_truth_probes=100, oracle=False)
    return real.scores, real.labels


def assert_same(batch, expected, probes=2e-4, whole=2e-4):
    """Compare one problem of a batch with what NumPy gathered."""
    np.testing.assert_allclose(batch.probes[0].flatten(0, 1), expected.probes, atol=probes)
    for name in PIECES[1:]:
        values = getattr(batch, name)[0]
        np.testing.assert_allclose(values, getattr(expected, name), atol=whole, err_msg=name)


@pytest.fixture
def to_the_end(monkeypatch):
    """Let fits go on until nothing is left to gain: else they end a little before, where they may.

    What is left then are the nodes on which both find the normal law, and float32.
    """
    monkeypatch.setattr(bending, "ENOUGH", 1e-13)


@pytest.fixture(scope="module")
def group():
    tensors = learn.make_group(
        learn.paper(30, 1, 2)[:6], 25, "cpu", truth_probes=1000, truth_classes=1200
    )
    return network.Group(**tensors)


@pytest.fixture(scope="module")
def draw():
    """Eight laws among 50 classes, of 1,000 probes each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laws, "sizes", lambda number: (50, 1000))
        return laws.draw_group(4, 8)


# -- features ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "n_classes", "per_class", "family"),
    [(1, 50, 3, None), (2, 21, 1, "heavy_tailed"), (3, 150, 5, "plain"), (4, 90, 2, "spoiled")],
)
def test_both_ways_to_gather_agree(seed, n_classes, per_class, family, to_the_end):
    scores, labels = scores_of(seed, n_classes, per_class, family)
    expected = gathered(Pilot.from_scores(scores.numpy(), labels.numpy()))
    # Training scores are float32.
    batch = features.gather(scores[None], labels, per_class, n_classes)
    assert_same(batch, expected)
    # From the same doubles each probe has the same features to the last digits.
    doubles = features.gather(scores[None].double(), labels, per_class, n_classes)
    np.testing.assert_allclose(doubles.probes[0].flatten(0, 1), expected.probes, atol=1e-11)


@pytest.mark.parametrize("per_class", [1, 4])
def test_classes_without_probes_are_rivals_in_both(per_class, to_the_end):
    scores, labels = scores_of(6, 40, per_class)
    kept = 30 * per_class
    pilot = Pilot.from_scores(scores[:kept].numpy(), labels[:kept].numpy())
    assert pilot.n_classes == 40
    assert_same(features.gather(scores[None, :kept], labels[:kept], per_class, 30), gathered(pilot))


def test_ties_are_spread_as_the_pilot_does(to_the_end):
    scores, labels = scores_of(5, 40, 2)
    coarse = (scores / scores.std() * 3).round()
    pilot = Pilot.from_scores(coarse.numpy(), labels.numpy())
    assert pilot.ties.sum() > 40
    assert_same(features.gather(coarse[None], labels, 2, 40), gathered(pilot))


def test_problems_without_scores_are_gathered_as_pilots_of_counts(to_the_end):
    losses = np.random.default_rng(0).binomial(9999, np.repeat([0.0, 1e-4, 0.01, 0.4], 20))
    batch = gathered_losses(losses[None], 10_000)
    expected = gathered(Pilot.from_losses(losses, 10_000))
    assert batch.probes.shape == (1, 80, 1, N_FEATURES)
    # Both find the normal law on nodes of their own, which among 10,000 classes are far apart.
    assert_same(batch, expected, probes=1e-12, whole=1e-3)


@pytest.mark.parametrize(("n_classes", "depth"), [(50, 1), (50, 20), (10_000, 33), (10**7, 40)])
def test_lists_that_were_cut_are_gathered_as_pilots_of_them(n_classes, depth, to_the_end):
    rng = np.random.default_rng(depth)
    lost = rng.binomial(n_classes - 1, rng.beta(0.3, 0.02 * n_classes, (3, 200)))
    cut = lost >= depth
    losses = np.minimum(lost, depth)
    batch = gathered_losses(losses, n_classes, cut)
    assert 0.02 < cut.mean() < 0.9
    for row in range(3):
        pilot = Pilot.from_losses(losses[row], n_classes, censored=cut[row])
        one = features.Batch(*(getattr(batch, name)[row : row + 1] for name in PIECES))
        assert_same(one, gathered(pilot), probes=1e-12, whole=2e-3)


def test_some_groups_of_laws_are_lists_that_were_cut():
    depths = [laws.depth(number) for number in range(3, 8000, 4)]
    cut = np.array([depth for depth in depths if depth is not None])
    assert len(cut) / 2000 == pytest.approx(0.25, abs=0.04)  # standard error 0.01
    assert cut.min() == 1 and 190 <= cut.max() <= 200
    sizes = [laws.sizes(number)[0] for number in range(3, 8000, 4)]
    assert all(depth is None or depth < size for depth, size in zip(depths, sizes, strict=True))
    # Evenly on a log scale, but for few classes: standard error 0.02.
    assert np.mean(cut < np.sqrt(200)) == pytest.approx(0.5, abs=0.08)


def test_lists_hold_what_is_not_cut_off(monkeypatch):
    monkeypatch.setattr(laws, "N_VALUES", 256)
    monkeypatch.setattr(laws, "depth", lambda number: None)
    whole = laws.draw_group(7, 2)
    assert not whole.censored.any()
    monkeypatch.setattr(laws, "depth", lambda number: 3)
    listed = laws.draw_group(7, 2)
    assert 0 < listed.censored.mean() < 1
    np.testing.assert_array_equal(listed.censored, whole.losses >= 3)
    np.testing.assert_array_equal(listed.losses, np.minimum(whole.losses, 3))
    np.testing.assert_array_equal(listed.own, whole.own)


def test_problems_gathered_together_are_as_alone(monkeypatch, to_the_end):
    scores = torch.stack([scores_of(seed, 30, 2)[0] for seed in (1, 2, 3)])
    labels = torch.arange(30).repeat_interleave(2)
    together = features.gather(scores, labels, 2, 30)
    monkeypatch.setattr(features, "BUDGET", 1)
    monkeypatch.setattr(fits, "AT_ONCE", 1)
    apart = features.gather(scores, labels, 2, 30)
    for name in PIECES:
        one, other = getattr(together, name), getattr(apart, name)
        np.testing.assert_allclose(one, other, atol=1e-5, err_msg=name)
    assert not np.allclose(together.base[0], together.base[1], atol=0.05)


def test_where_fits_end_moves_them_by_less_than_they_tell(draw):
    batch = gathered_losses(draw.losses, 50)
    for row, losses in enumerate(draw.losses):
        pilot = gathered(Pilot.from_losses(losses, 50))
        # Steps end where 10^-8 could be gained, some 10^-4 errors from the mode. The rest is that
        # both find the normal law on nodes of their own.
        gap = (batch.base[row].numpy() - pilot.base) / pilot.errors
        assert np.abs(gap).max() < 0.01
        np.testing.assert_allclose(batch.errors[row], pilot.errors, rtol=0.01)


@pytest.mark.filterwarnings("ignore::headcount.errors.AssumptionWarning")
@pytest.mark.parametrize(
    ("losses", "n_classes", "per_class"),
    [
        ([0] * 20, 20, 1),
        ([19] * 20, 20, 1),
        ([0] * 19 + [19], 20, 1),
        ([0] * 10 + [19] * 10, 20, 1),
        (list(range(20)), 20, 1),
        ([0] * 7 + [1] * 3 + [0, 1, 1, 1, 1] * 2, 2, 10),
        ([0] * 40 + [1] * 20, 20, 3),
        ([0, 10**7 - 1, 5, 70, 10**6] * 10, 10**7, 5),
        ([0] * 50, 10**7, 1),
    ],
)
def test_fits_agree_at_the_edges(losses, n_classes, per_class, to_the_end):
    lost = torch.tensor([losses])
    n_members = len(losses) // per_class
    labels = np.repeat(np.arange(n_members), per_class)
    fit = BentNormal().fit(Pilot.from_losses(losses, n_classes, labels=labels))
    odds, errors = within_reach(*fit.curve(class_counts(n_classes)))
    for ties in (None, torch.zeros_like(lost)) if n_classes < 1000 else (None,):
        batch = fits.fit_losses(lost, ties, n_classes, n_members)
        np.testing.assert_allclose(torch.sigmoid(batch.base[0]), expit(odds), atol=1e-4)
        np.testing.assert_allclose(batch.errors[0], errors, rtol=1e-3)


def test_probes_of_one_class_count_as_fewer():
    def worth(losses, n_members):
        return float(fits.independent_probes(torch.tensor([losses]), None, n_members)[0])

    # All probes of a class alike: as many as classes. Classes all but alike: all probes, no more.
    assert worth([0, 0, 7, 7, 0, 0, 7, 7], 4) == pytest.approx(4)
    assert worth([0, 7, 0, 7, 0, 7, 0, 6], 4) == 8
    # All alike in everything: nothing varies, so the fewest.
    assert worth([0] * 8, 4) == 4
    # In between: right or not, and right among a quarter of the classes, by a loop over classes.
    losses = [0, 0, 0, 3, 2, 9, 0, 1]
    total = clustered = 0.0
    for value in (lambda lost: float(lost == 0), lambda lost: np.exp(-lost / 4)):
        gaps = [value(lost) - np.mean([value(other) for other in losses]) for lost in losses]
        total += sum(gap**2 for gap in gaps)
        clustered += sum((gaps[i] + gaps[i + 1]) ** 2 for i in range(0, 8, 2))
    assert 4 < 8 * total / clustered < 8
    assert worth(losses, 4) == pytest.approx(8 * total / clustered)


# -- problems with scores ---------------------------------------------------------------------------


def numbers(part):
    """Return the numbers of the groups that are made for a part of the work."""
    return [number for path, number in learn.wanted(Path()) if path.name.startswith(part)]


def test_nothing_held_out_is_learned_from():
    shown = [
        problem
        for number in [*numbers("train")[::13], *numbers("calibrate")[::9]]
        if learn.kind(number) == "geometry"
        for problem in learn.draw_group(number, 10)
    ]
    families = [problem.family for problem in shown]
    assert len(shown) > 500
    assert not set(families) & set(problems.HELD_OUT)
    assert set(families) == {*problems.TRAINING, PLAIN}
    # 0.35 of groups that are like the simulations of paper 001 in size, else 0.12.
    assert 0.12 < families.count(PLAIN) / len(families) < 0.35


def test_groups_for_learning_calibrating_and_judging_share_no_problem():
    learned, calibrated = numbers("train"), numbers("calibrate")
    assert (len(learned), len(calibrated)) == (1800, 96)

    def seeds(numbered):
        return [problem.seed for problem in learn.draw_group(numbered, learn.GROUP)]

    # Seeds are counted on from a group's number: none reaches those of the next group.
    edges = (0, 1, max(learned), min(calibrated), max(calibrated))
    in_order = [seed for number in edges for seed in seeds(number)]
    judged = range(learn.JUDGED_SEED, learn.JUDGED_SEED + len(learn.JUDGED))
    in_order += [seed for number in judged for seed in seeds(number)]
    # Those of two sizes share none either.
    for n_classes in (100, 500):
        in_order += [problem.seed for problem in learn.paper(n_classes, 10)]
    assert (np.diff(in_order) > 0).all()


def test_of_four_groups_two_are_geometry_one_of_sources_and_one_of_laws():
    for part in ("train", "calibrate"):
        kinds = [learn.kind(number) for number in numbers(part)]
        assert kinds[:4] == ["geometry", "sources", "geometry", "laws"]
        assert [kinds.count(name) * 4 for name in ("geometry", "sources", "laws")] == [
            2 * len(kinds), len(kinds), len(kinds)
        ]  # fmt: skip
    without = [number for _, number in learn.wanted(Path(), 0.0)]
    assert len(without) == 3 * (1800 + 96) / 4
    assert not any(learn.kind(number) == "sources" for number in without)


def test_sizes_are_within_limits():
    drawn = np.array([learn.sizes(number) for number in range(0, 4000)])
    n_classes, per_class, members = drawn.T
    assert (n_classes >= 10).all() and (n_classes <= 4000).all()
    assert (per_class >= 1).all() and (per_class <= learn.MOST_PER_CLASS).all()
    assert (n_classes * per_class <= np.maximum(learn.MOST_PROBES, n_classes)).all()
    assert (members <= n_classes).all() and (members >= np.minimum(12, n_classes)).all()
    # On a log scale evenly: a quarter of sizes below 10 * 400^(1/4); the standard error is 0.007.
    assert np.mean(n_classes < 10 * 400**0.25) == pytest.approx(0.25, abs=0.03)
    # In 0.12 of the groups of more than 12 classes some have no probes: standard error 0.005.
    assert np.mean((members < n_classes)[n_classes > 40]) == pytest.approx(0.12, abs=0.02)


def test_settings_of_paper_001_have_their_known_truth():
    settings = [
        one for one in learn.paper(100, 2, 1) if one.population == one.noise_law == "normal"
    ]
    assert {(one.n_dims, round(one.noise**2, 6)) for one in settings} == {
        (5, 0.1), (5, 0.2), (3, 0.1), (10, 0.6)
    }  # fmt: skip
    one = settings[0]
    tensors = learn.make_group([one], 100, "cpu", truth_probes=3000, truth_classes=3000)
    exact = IsotropicGaussian(one.n_dims, one.noise, None).accuracy(
        np.round(class_counts(100)[[3, 5, 7]]).astype(int)
    )
    # 3,000 fresh probes, rivals shared: standard error about 0.01.
    np.testing.assert_allclose(tensors["truth"][0, [3, 5, 7]], exact, atol=0.03)
    assert tensors["known"].tolist() == [1] * 8 + [0] * 2  # 3,200 classes and more are not known


def chance_unbeaten(losses, ties, n_rivals, k):
    """Return how likely none of k - 1 rivals wins; each of the tied ones may stand above."""
    levels = range(losses, losses + ties + 1)
    return np.mean([comb(n_rivals - lost, k - 1) / comb(n_rivals, k - 1) for lost in levels])


@pytest.mark.parametrize("quantum", [0.0, 0.2])
def test_truths_are_those_of_fresh_classes_and_probes(quantum):
    drawn = [
        replace(
            problems.draw(seed, family="plain", n_classes=32, probes_per_class=2), quantum=quantum
        )
        for seed in (1, 2)
    ]
    # Twenty of the 32 classes have probes.
    tensors = learn.make_group(drawn, 20, "cpu", truth_probes=150, truth_classes=512)
    real = problems.realise_many(drawn, "cpu", 512, n_truth_probes=150)
    assert tensors["known"].tolist() == [1] * 8 + [0] * 2  # 16 times 32 is as far as it goes
    for row, one in enumerate(real):
        fresh = one.truth_losses.tolist()
        tied = [0] * 150 if one.truth_ties is None else one.truth_ties.tolist()
        losses = one.oracle_losses.tolist()
        ties = [0] * 64 if one.oracle_ties is None else one.oracle_ties.tolist()
        assert (max(tied) > 0) == (max(ties) > 0) == (quantum > 0)
        for at, k in ((2, 16), (3, 32), (5, 128), (7, 512)):
            pairs = zip(fresh, tied, strict=True)
            truth = np.mean([chance_unbeaten(*pair, 511, k) for pair in pairs])
            assert float(tensors["truth"][row, at]) == pytest.approx(truth, rel=1e-5)
            expected = [chance_unbeaten(losses[i], ties[i], 512, k) for i in range(40)]
            chances = tensors["chances"][row, :, :, at].flatten().float()
            np.testing.assert_allclose(chances, expected, atol=1e-3)  # half precision


def test_chances_of_single_probes_average_to_the_truth(group):
    # Over six problems of 50 probes: standard error about 0.02.
    chances = group.chances.float().mean(dim=(0, 1, 2))
    known = group.known > 0
    gap = (chances - group.truth.mean(dim=0))[known]
    assert gap.abs().max() < 0.08
    assert group.probes.shape == (6, 25, 2, N_FEATURES)
    assert group.whole.shape == (6, N_GLOBALS)
    # What errors are weighed by: how many classes have probes.
    np.testing.assert_allclose(group.whole[:, network.EFFECTIVE].exp(), 25, rtol=1e-5)


# -- laws -------------------------------------------------------------------------------------------


def test_accuracies_of_laws_are_means_of_powers():
    y = np.array([-2.0, 0.0, 1.0, 3.0])
    counts = np.array([2, 3, 10.5, 100])
    brute = [np.mean([stats.norm.cdf(value) ** (k - 1) for value in y]) for k in counts]
    np.testing.assert_allclose(laws.accuracies(y, counts), brute, rtol=1e-12)
    # Where one rival in 10^16 wins, U is one to double precision, but among 10^16 it is not.
    rare = laws.accuracies(np.array([8.2]), np.array([1e16]))
    assert rare[0] == pytest.approx(np.exp(-1e16 * ndtr(-8.2)), rel=1e-9)
    assert 0.1 < rare[0] < 0.9


@pytest.fixture
def plain_laws(monkeypatch):
    """Set the accuracy that is aimed at; leave out probes that are never beaten, or blind."""

    def aim(target, never=(0.0, 0.7), blind=(0.0, 0.3)):
        monkeypatch.setattr(laws, "NEARLY_PERFECT", 0.0)
        monkeypatch.setattr(laws, "TARGETS", (target, target))
        monkeypatch.setattr(laws, "NEVER", never)
        monkeypatch.setattr(laws, "BLIND", blind)

    return aim


@pytest.mark.parametrize("shape", sorted(set(laws.SHAPES), key=laws.SHAPES.index))
@pytest.mark.parametrize(("n_classes", "target"), [(10, 0.3), (10**7, 0.9)])
def test_a_law_has_the_accuracy_that_was_drawn(plain_laws, monkeypatch, shape, n_classes, target):
    plain_laws(target)
    monkeypatch.setattr(laws, "SHAPES", (shape,))
    y = laws.draw_law(np.random.default_rng(1), n_classes)
    assert y.shape == (laws.N_VALUES,) and (np.diff(y) >= 0).all()
    # By chances of being beaten, for which no power of U is taken.
    brute = np.exp((n_classes - 1) * np.log1p(-ndtr(-y))).mean()
    assert brute == pytest.approx(target, abs=1e-6)


def test_now_and_then_a_law_leaves_hardly_an_error(monkeypatch):
    monkeypatch.setattr(laws, "NEARLY_PERFECT", 1.0)
    monkeypatch.setattr(laws, "NEVER", (0.0, 0.0))
    monkeypatch.setattr(laws, "BLIND", (0.0, 0.0))
    monkeypatch.setattr(laws, "N_VALUES", 1024)
    errors = [
        1 - (ndtr(laws.draw_law(np.random.default_rng(seed), 100)) ** 99).mean()
        for seed in range(40)
    ]
    # Between 10^-4 and 10^-1.5, evenly on a log scale: the mean of 40 is 2.75 give or take 0.11.
    assert min(errors) > 10**-4 and max(errors) < 10**-1.5
    assert np.mean(-np.log10(errors)) == pytest.approx(2.75, abs=0.35)


def test_shares_of_probes_that_are_never_beaten(plain_laws, monkeypatch):
    monkeypatch.setattr(laws, "SHAPES", (lambda rng: 0.3 * rng.normal(size=laws.N_VALUES),))
    monkeypatch.setattr(laws, "N_VALUES", 1024)
    plain_laws(0.5, never=(1.0, 0.7))
    shares = []
    for seed in range(60):
        y = laws.draw_law(np.random.default_rng(seed), 1000)
        shares.append(np.mean(y == laws.FARTHEST))
        # 1,024 values: the share itself is drawn with standard error 0.016.
        assert (ndtr(y) ** 999).mean() == pytest.approx(0.5, abs=0.06)
    # Uniform up to the target, which is below 0.7: mean 0.25, whose standard error is 0.02.
    assert np.mean(shares) == pytest.approx(0.25, abs=0.07)
    assert 0.4 < max(shares) < 0.56
    plain_laws(0.5, never=(0.25, 0.7))
    some = [
        (laws.draw_law(np.random.default_rng(seed), 1000) == laws.FARTHEST).any()
        for seed in range(200)
    ]
    assert np.mean(some) == pytest.approx(0.25, abs=0.1)  # standard error 0.03


def test_shares_of_blind_probes(plain_laws, monkeypatch):
    monkeypatch.setattr(laws, "SHAPES", (lambda rng: 0.01 * rng.normal(size=laws.N_VALUES),))
    plain_laws(0.8, blind=(1.0, 0.3))
    shares, beaten = [], []
    for seed in range(40):
        y = laws.draw_law(np.random.default_rng(seed), 10**6)
        # The others must have y near 5 to be right among a million.
        shares.append(np.mean(y < 4.3))
        beaten.append(y[y < 4.3])
        assert np.exp((10**6 - 1) * np.log1p(-ndtr(-y))).mean() == pytest.approx(0.8, abs=0.02)
    # Uniform up to 1 - target: mean 0.1, whose standard error is 0.01.
    assert np.mean(shares) == pytest.approx(0.1, abs=0.03)
    assert 0.15 < max(shares) < 0.23
    # Their U is uniform: they do as well as a random class.
    assert stats.kstest(ndtr(np.concatenate(beaten)), "uniform").pvalue > 1e-3


class Settled:
    """A generator whose parameters are settled, and whose other numbers are random."""

    def __init__(self, *uniforms, shares=(1.0,)):
        self._rng = np.random.default_rng(3)
        self._uniforms = list(uniforms)
        self._shares = shares

    def __getattr__(self, name):
        return getattr(self._rng, name)

    def uniform(self, low, high, size=None):
        value = self._uniforms.pop(0)
        assert low <= value <= high
        return value if size is None else np.full(size, value)

    def integers(self, low, high):
        assert low <= len(self._shares) < high
        return len(self._shares)

    def dirichlet(self, alpha):
        assert len(alpha) == len(self._shares)
        return self._shares


def test_shapes_are_those_they_are_named_after():
    def agree(values, law):
        # A right law fails once in a thousand seeds; this one does not.
        assert stats.kstest(values, law.cdf).pvalue > 1e-3

    for spread, shares in ((0.5, (1.0,)), (1.5, (0.0, 1.0, 0.0))):
        y = laws._normals(Settled(np.log(spread), shares=shares))
        agree(y - y.mean(), stats.norm(0, spread))
    y = laws._heavy(Settled(3.0, 0.4, np.log(0.7))) / 0.7
    agree(np.where(y > 0, y / 1.4, y / 0.6), stats.t(3))
    chance = stats.norm.logsf(laws._log_normal(Settled(np.log(0.6))))
    agree(chance, stats.norm(-8, 0.6))
    # A beta law of a class among many: chances follow a gamma law.
    for a in (0.4, 3.0):
        chance = stats.norm.logsf(laws._power(Settled(np.log(a), 6.0)))
        agree(np.exp(chance + 6), stats.gamma(a))
    y = laws._stepped(Settled(shares=(0.0, 1.0, 0.0)))
    agree(y - y.mean(), stats.norm(0, 0.15))
    y = laws._stepped(Settled(shares=(0.25, 0.75)))
    upper = np.mean(y > (y.min() + y.max()) / 2)
    assert min(upper, 1 - upper) == pytest.approx(0.25, abs=0.03)  # standard error 0.007


def test_losses_of_laws_are_binomial(draw):
    assert draw.n_classes == 50 and draw.losses.shape == draw.own.shape == (8, 1000)
    chance = stats.norm.sf(draw.own)
    mean, variance = 49 * chance, 49 * chance * (1 - chance)
    # Sums of independent numbers of known variance: within 4 standard errors.
    assert abs((draw.losses - mean).sum()) < 4 * np.sqrt(variance.sum())
    usual = variance > 3
    square = (draw.losses - mean)[usual] ** 2 / variance[usual]
    # A binomial number's squared z has mean 1, variance 2 + (1 - 6 p q) / (n p q).
    assert abs(square.mean() - 1) < 4 * np.sqrt(2.4 / usual.sum())
    assert usual.sum() > 2000
    for own, law in zip(draw.own, draw.laws, strict=True):
        assert stats.ks_2samp(own, law).pvalue > 1e-3


def test_a_law_is_the_same_whatever_it_is_drawn_with(monkeypatch):
    monkeypatch.setattr(laws, "N_VALUES", 256)
    alone, together = laws.draw_group(7, 1), laws.draw_group(7, 3)
    for name in ("losses", "own", "laws"):
        np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[0])
    assert not np.array_equal(together.laws[0], together.laws[1])


def test_sizes_of_laws_are_within_limits():
    n_classes, n_probes = np.array([laws.sizes(number) for number in range(2000)]).T
    assert 10 <= n_classes.min() < 20 and 5e6 < n_classes.max() <= 10**7
    assert 50 <= n_probes.min() < 55 and 7500 < n_probes.max() <= 8000
    # Evenly on a log scale, and independent: standard errors 0.011.
    assert np.mean(n_classes < 10**4) == pytest.approx(0.5, abs=0.05)
    assert np.mean(n_probes < np.sqrt(50 * 8000)) == pytest.approx(0.5, abs=0.05)
    assert abs(np.corrcoef(np.log(n_classes), np.log(n_probes))[0, 1]) < 0.1


def test_problems_of_laws_have_the_truth_of_their_law(draw):
    made = network.Group(**learn.make_laws(draw, "cpu"))
    counts = class_counts(50)
    brute = [[np.mean(ndtr(law) ** (k - 1)) for k in counts] for law in draw.laws]
    np.testing.assert_allclose(made.truth, brute, atol=1e-6)
    chances = ndtr(draw.own)[:, :, None, None] ** (counts - 1)
    np.testing.assert_allclose(made.chances.float(), chances, atol=1e-3)  # half precision
    assert made.known.tolist() == [1] * 10
    assert made.n_probes == 1000
    # What was seen agrees with the truth at 50 classes: standard errors below 0.01.
    right = (draw.losses == 0).mean(axis=1)
    np.testing.assert_allclose(right, made.truth[:, 3], atol=0.035)
    batch = gathered_losses(draw.losses, 50)
    for name in PIECES[1:]:
        np.testing.assert_allclose(getattr(made, name), getattr(batch, name), rtol=1e-5)


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
    with torch.no_grad():
        net.last3.bias[20:23], net.last3.bias[27:] = 6.0, -6.0  # spreads past their limits
    weights = {name: value.numpy().astype(float) for name, value in net.state_dict().items()}
    n_members, per_class = group.probes.shape[1:3]
    members = np.repeat(np.arange(n_members), per_class)
    forecasts = []
    for alone in (False, True):
        probes, whole, base, errors = network.inputs(group, slice(0, 3), alone)
        probes, whole = probes.clone(), whole.clone()
        probes[0, 0, 0, 0], whole[0, 0] = 1000, -1000  # past what networks tell apart
        with torch.no_grad():
            forecast, log_spread, _ = net([(probes, whole, base, errors)])
        forecasts.append(forecast)
        for row in range(3):
            pilot = Features(
                probes[row].flatten(0, 1).double().numpy(), members,
                np.full(n_members, 1 / n_members), whole[row].double().numpy(),
                base[row].double().numpy(), errors[row].double().numpy(), np.empty(0),
                not alone, 0.0,
            )  # fmt: skip
            odds, spread = shipped.run(weights, pilot)
            np.testing.assert_allclose(odds, forecast[row], atol=1e-4)
            np.testing.assert_allclose(np.log(spread), log_spread[row], atol=1e-4)
    assert not np.allclose(forecasts[0], forecasts[1], atol=1e-2)
    assert not np.allclose(forecasts[0], group.base[:3], atol=1e-2)


def test_masked_problems_look_as_pilots_without_scores(to_the_end):
    scores, labels = scores_of(7, 30, 2)
    batch = features.gather(scores[None], labels, 2, 30)
    probes, whole = network.losses_alone(batch.probes, batch.whole)
    bare = gathered(Pilot.from_scores(scores.numpy(), labels.numpy()), use_scores=False)
    assert_same(features.Batch(probes, whole, batch.base, batch.errors), bare, probes=1e-5)
    # Of a copy: the problem itself is shown with its scores another time.
    assert batch.whole[0, -1] == 1 and (batch.probes[..., -1] != 0).any()


def test_problems_of_several_sizes_are_as_alone(group):
    net = random_network(group)
    parts = [network.inputs(group, slice(None), False)]
    probes, *others = network.inputs(group, slice(0, 2), False)
    parts.append((probes[:, :10], *others))
    parts.append((probes[:, :7, :1], *others))
    with torch.no_grad():
        together = net(parts)
        apart = [net([part]) for part in parts]
    for at in range(3):
        np.testing.assert_allclose(together[at], torch.cat([one[at] for one in apart]), atol=1e-5)
    assert not np.allclose(apart[1][0], apart[0][0][:2], atol=1e-3)


def test_features_are_standardised_with_sizes_spread_evenly(group):
    small = network.Group(
        **{name: value[:2] for name, value in vars(group).items() if name != "known"},
        known=group.known,
    )
    means = network.standards([group, small])
    probes = torch.cat([group.probes.flatten(0, 2), small.probes.flatten(0, 2)]).double().numpy()
    whole = torch.cat([group.whole, small.whole]).double().numpy()
    for name, values in (("probe", probes), ("whole", whole)):
        flag = 6 if name == "probe" else -1  # whether there are scores: kept as it is
        mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0, ddof=1), 0.05)
        mean[flag], spread[flag] = 0.0, 1.0
        np.testing.assert_allclose(means[f"{name}_mean"], mean, atol=1e-4)
        np.testing.assert_allclose(means[f"{name}_spread"], spread, rtol=1e-3)
    # Of 100,000 probes every 24th is taken, of 4,000 all.
    many = network.Group(**{**vars(group), "probes": torch.ones(1, 1000, 100, N_FEATURES)})
    few = network.Group(**{**vars(group), "probes": torch.zeros(1, 1000, 4, N_FEATURES)})
    share = float(network.standards([many, few])["probe_mean"][0])
    assert share == pytest.approx(4167 / 8167)


def test_every_problem_is_shown_once_a_round(group, monkeypatch):
    # Up to three problems of 50 probes are shown together with others: half a step.
    monkeypatch.setattr(network, "PROBES_A_STEP", 300)
    other = network.Group(**{**vars(group), "base": group.base[:5]})
    shown = network.steps([group, other], np.random.default_rng(0))
    for _ in range(5):  # rounds, of which none begins within a step
        rows = []
        while len(rows) < 11:
            batch = next(shown)
            rows += [
                (len(one.base), row) for one, part in batch for row in range(part.start, part.stop)
            ]
            assert all(part.stop - part.start <= 3 for _, part in batch)
            assert sum(50 * (part.stop - part.start) for _, part in batch) < 300 + 150
        assert sorted(rows) == [(5, row) for row in range(5)] + [(6, row) for row in range(6)]


def test_groups_are_shown_by_their_shares(group, monkeypatch):
    monkeypatch.setattr(network, "PROBES_A_STEP", 100)  # single problems
    other = network.Group(**{**vars(group), "base": group.base[:5]})
    shown = network.steps([group, other], np.random.default_rng(0), [0.3, 0.1])
    sizes = [len(one.base) for _ in range(2000) for one, _ in next(shown)]
    # Six problems a round, and a third of five: 5/3 of 23/3.
    share = sizes.count(5) / len(sizes)
    assert share == pytest.approx(5 / 23, abs=4 * np.sqrt(5 / 23 * 18 / 23 / len(sizes)))


@pytest.mark.parametrize("many", [800, 10])
def test_objective_by_hand(group, monkeypatch, many):
    monkeypatch.setattr(network, "MANY", many)
    net = random_network(group)
    parts = [(slice(0, 2), False), (slice(3, 4), True)]
    batch = [(group, rows) for rows, _ in parts]
    with torch.no_grad():
        value, error = network.objective(net, batch, [alone for _, alone in parts])
        alone = [net([network.inputs(group, *part)]) for part in parts]
    rows = [0, 1, 3]
    forecast, log_spread, odds = (torch.cat(pieces).double() for pieces in zip(*alone, strict=True))
    truth, base = group.truth[rows].double().numpy(), group.base[rows].double().numpy()
    chances = group.chances[rows].double().numpy().reshape(3, 50, 10)
    emphasis = np.array([0.4, 0.4, 0.5, 1.0, 1.5, 1.5, 1.5, 1.5, 1.0, 0.8])
    known = np.array([1.0] * 9 + [0.0])  # 1,200 fresh classes are 40 times 30
    assert group.known.tolist() == known.tolist()
    squares, unlikely = [], []
    for row in range(3):
        total = 0.0
        for ratio in range(10):
            share = emphasis[ratio] * known[ratio] / (emphasis * known).sum()
            total += share * (expit(forecast[row, ratio].item()) - truth[row, ratio]) ** 2
        squares.append(min(many, 25) * total)
        gaps = logit((4096 * truth[row] + 0.5) / 4097) - forecast[row].numpy()
        z = np.minimum((gaps / np.exp(log_spread[row].numpy())) ** 2, 50)
        unlikely.append((known * (z / 2 + log_spread[row].numpy())).sum())
    p = expit(odds.numpy()).reshape(3, 50, 10)
    entropy = -(chances * np.log(p) + (1 - chances) * np.log(1 - p))
    bend = np.diff(forecast.numpy() - base, n=2, axis=1)
    expected = (
        np.sqrt(np.array(squares) + 0.01).mean()
        + 0.5 * (entropy * known * emphasis).mean()
        + 0.05 * np.mean(unlikely)
        + 1e-3 * (bend**2).mean()
    )
    np.testing.assert_allclose(error, np.sqrt(squares), rtol=1e-4)
    assert float(value) == pytest.approx(expected, rel=1e-4)


def test_only_the_spread_learns_from_how_likely_errors_are():
    forecast = torch.zeros(1, 10, requires_grad=True)
    log_spread = torch.zeros(1, 10, requires_grad=True)
    loss = network._unlikely(forecast, log_spread, torch.full((1, 10), 0.7), torch.ones(10))
    loss.backward()
    assert forecast.grad is None
    # The slope of z^2 / 2 + log s in log s is 1 - z^2.
    z = logit((0.7 * 4096 + 0.5) / 4097)
    np.testing.assert_allclose(log_spread.grad, np.full((1, 10), 1 - z**2), rtol=1e-4)


def test_logits_of_truths_are_never_infinite():
    values = network.smoothed_logit(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
    edge = np.log(4096.5 / 0.5)
    np.testing.assert_allclose(values, [-edge, 0, edge], atol=1e-9)


# -- training ---------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(network, "PROBES_A_STEP", 200)
    monkeypatch.setattr(network, "WITHOUT_SCORES", 0.0)
    monkeypatch.setattr(network, "WARM", 2)


def test_training_learns(group, tmp_path, quick, capsys):
    judged = []
    net = network.train(
        [group], seed=1, n_steps=120, save=tmp_path / "state.pt", every=0.2, judge=judged.append
    )
    assert "step" in capsys.readouterr().out and judged
    row = learn.judge_network(net, {"one": group})["one"]
    assert row["full"] < 0.5 * row["base"]
    assert row["oracle"] < row["base"]
    assert 0 <= row["covered"] <= 1


def test_one_step_by_hand(group, tmp_path, quick):
    save = tmp_path / "state.pt"
    network.train([group], seed=1, n_steps=1, save=save)
    state = torch.load(save, weights_only=True)
    torch.manual_seed(1)
    fresh = network.make_network(network.standards([group])).state_dict()
    for name, before in fresh.items():
        after, average = state["net"][name], state["average"][name]
        # The first average is nine tenths of what was learned.
        np.testing.assert_allclose(average, 0.1 * before + 0.9 * after, atol=1e-6)
        if name.startswith(network.FIXED):
            np.testing.assert_array_equal(after, before)
    assert (state["net"]["last3.weight"] != 0).any()
    # The rate rises over two steps: half of it at the first.
    assert state["optimiser"]["param_groups"][0]["lr"] == pytest.approx(network.RATE / 2)


def test_training_goes_on_where_it_stopped(group, tmp_path, quick):
    save = tmp_path / "state.pt"
    network.train([group], seed=1, n_steps=3, save=save)
    stopped = torch.load(save, weights_only=True)
    assert stopped["step"] == 3
    net = network.train([group], seed=1, n_steps=6, save=save)
    state = torch.load(save, weights_only=True)
    assert state["step"] == 6
    # The optimiser remembers all six steps, and the rate is that of the sixth.
    assert state["optimiser"]["state"][0]["step"] == 6
    rate = network.RATE * 0.5 * (1 + np.cos(np.pi * 5 / 6))
    assert state["optimiser"]["param_groups"][0]["lr"] == pytest.approx(rate)
    assert not torch.equal(state["average"]["last3.weight"], stopped["average"]["last3.weight"])
    # Nothing is left to do, and what is read is what was kept.
    again = network.train([group], seed=1, n_steps=6, save=save)
    for name, value in network.load(save, CPU).state_dict().items():
        assert torch.equal(value, net.state_dict()[name])
        assert torch.equal(value, again.state_dict()[name])


def test_training_ends_in_time_and_its_rate_falls_by_time(group, tmp_path, quick, monkeypatch):
    clock = iter(range(100_000))
    monkeypatch.setattr(network.time, "perf_counter", lambda: float(next(clock)))
    save = tmp_path / "state.pt"
    network.train([group], seed=1, n_steps=10**6, save=save, seconds=40, every=1e9)
    state = torch.load(save, weights_only=True)
    # The clock moves on by one second a step, and by one more before the first.
    assert (state["step"], state["elapsed"]) == (39, 40)
    rate = network.RATE * 0.5 * (1 + np.cos(np.pi * 39 / 40))
    assert state["optimiser"]["param_groups"][0]["lr"] == pytest.approx(rate)
    # Time that was used before a stop counts.
    network.train([group], seed=1, n_steps=10**6, save=save, seconds=50, every=1e9)
    assert torch.load(save, weights_only=True)["step"] in (48, 49)


# -- judging and calibrating ------------------------------------------------------------------------


def tiny_group(seed, n_problems=3, n_known=7):
    rng = np.random.default_rng(seed)
    known = [1.0] * n_known + [0.0] * (10 - n_known)
    return network.Group(
        probes=torch.zeros(n_problems, 2, 2, N_FEATURES),
        chances=torch.tensor(rng.random((n_problems, 2, 2, 10)), dtype=torch.float16),
        whole=torch.ones(n_problems, N_GLOBALS),
        base=torch.tensor(rng.normal(size=(n_problems, 10)), dtype=torch.float32),
        errors=torch.ones(n_problems, 10),
        truth=torch.tensor(rng.random((n_problems, 10)), dtype=torch.float32),
        known=torch.tensor(known),
    )


def known_network(parts):
    """Forecast half a logit above the fit; without scores a quarter below it."""
    ((_, whole, base, _),) = parts
    scored = whole[:, -1:] == 1
    log_spread = torch.linspace(-1, 0.5, 10).expand(len(base), -1)
    return base + torch.where(scored, 0.5, -0.25), log_spread, None


@pytest.mark.parametrize("n_known", [7, 9])
def test_judged_numbers_by_hand(n_known):
    group = tiny_group(0, 40, n_known)  # more than are shown to the network at once
    row = learn.judge_network(known_network, {"one": group})["one"]
    base, truth = group.base.double().numpy(), group.truth.double().numpy()
    # Ratios 1, 2, 4, 8 and, where it is known, 16; weights as the numbers of classes.
    at, weight = (
        ([3, 4, 5, 6], np.array([1, 2, 4, 8]) / 15)
        if n_known == 7
        else ([3, 4, 5, 6, 7], np.array([1, 2, 4, 8, 16]) / 31)
    )

    def error(accuracy):
        gaps = [[(accuracy[i, j] - truth[i, j]) ** 2 for j in at] for i in range(40)]
        return np.mean([np.sqrt(np.dot(weight, gap)) for gap in gaps])

    oracle = group.chances.double().numpy().mean(axis=(1, 2))
    spread = np.exp(np.linspace(-1, 0.5, 10))
    inside = [
        abs(logit((truth[i, j] * 4096 + 0.5) / 4097) - base[i, j] - 0.5) <= 1.645 * spread[j]
        for i in range(40)
        for j in at
    ]
    expected = {
        "base": error(expit(base)),
        "losses": error(expit(base - 0.25)),
        "full": error(expit(base + 0.5)),
        "oracle": error(oracle),
        "covered": np.mean(inside),
    }
    assert row == pytest.approx(expected, rel=1e-5)
    assert 0 < row["covered"] < 1


def test_calibration_takes_errors_in_units_of_stated_spreads(monkeypatch, tmp_path):
    groups = [tiny_group(1), tiny_group(2, 5)]
    for number, one in enumerate(groups):
        torch.save(vars(one), tmp_path / f"calibrate_{number}.pt")
    torch.save(vars(tiny_group(3)), tmp_path / "train_0.pt")
    monkeypatch.setattr(network, "load", lambda path, place: known_network)
    monkeypatch.setattr(learn, "errors_together", lambda ratios: ratios)
    ratios = learn.calibrate(tmp_path, "cpu")
    truth = np.concatenate([one.truth for one in groups]).astype(float)
    base = np.concatenate([one.base for one in groups]).astype(float)
    spread = np.exp(np.linspace(-1, 0.5, 10))
    expected = (logit((truth * 4096 + 0.5) / 4097) - base - 0.5) / spread
    np.testing.assert_allclose(ratios[:, :7], expected[:, :7], atol=1e-5)
    assert np.isnan(ratios[:, 7:]).all()


@pytest.mark.parametrize("freedom", [3.0, 6.0, 20.0])
def test_errors_that_go_together_are_recovered(freedom):
    rng = np.random.default_rng(4)
    n = 60_000
    together = 0.8 ** np.abs(np.subtract.outer(range(5), range(5)))
    together[0] *= -1
    together[:, 0] *= -1  # twice at the corner, which stays one
    scale = np.array([0.5, 1.0, 1.5, 0.8, 2.0])
    chi = np.sqrt(rng.chisquare(freedom, n) / freedom)
    normal = rng.multivariate_normal(np.zeros(5), together, n)
    ratios = scale * normal / chi[:, None]
    ratios[rng.random(n) < 0.3, 4] = np.nan  # not known at the last ratio
    answer = learn.errors_together(ratios)
    assert answer["freedom"] == freedom
    factor = answer["factor"]
    assert (np.triu(factor, 1) == 0).all()
    # A 0.9 quantile of 42,000 numbers is off by at most 1% (one standard error): four of them.
    np.testing.assert_allclose(np.sqrt((factor**2).sum(axis=1)), scale, rtol=0.04)
    # Correlations are those of errors cut at three scales, which are a little nearer to zero.
    size = np.sqrt(np.diag(factor @ factor.T))
    np.testing.assert_allclose(factor @ factor.T / np.outer(size, size), together, atol=0.03)


# -- the command ------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    """Make everything small: four groups of two problems to learn from, four to calibrate on."""
    for name, value in {
        "SIZES": (12, 16),
        "TRUTH": {20: (600, 100)},
        "GROUPS": 4,
        "CALIBRATED": 4,
        "STEPS": 3,
        "JUDGED": ("valid0", "tree", "paper20", "real0"),
        "PAPER": learn.PAPER[:1],
    }.items():
        monkeypatch.setattr(learn, name, value)
    monkeypatch.setattr(laws, "SIZES", (10, 1000))
    monkeypatch.setattr(laws, "PROBES", (50, 60))
    monkeypatch.setattr(learn, "MOST_PER_CLASS", 4)
    # Defaults of arguments were settled when the functions were defined.
    monkeypatch.setattr(learn, "generate", partial(learn.generate, count=2))
    monkeypatch.setattr(learn, "generate_judged", partial(learn.generate_judged, count=2))
    monkeypatch.setattr(sources, "SET_ASIDE", ("aside",))
    monkeypatch.setattr(sources, "MOST_CLASSES", 16)


def write_source(folder, name, n_classes=120, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), rng.integers(2, 5, n_classes)).astype(np.int32)
    vectors = rng.normal(size=(n_classes, 8))[labels] + 0.4 * rng.normal(size=(len(labels), 8))
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{name}.npz", vectors=vectors.astype(np.float16), labels=labels, recipe="{}")


class InProcess:
    """Stands for a process that makes problems: does the same here and now."""

    def __init__(self, command, cwd):
        assert command[1:3] == ["-m", "experiments.training.learn"]
        learn.main(command[3:])

    def wait(self):
        return 0


def test_one_command_makes_the_file_that_the_default_reads(tmp_path, monkeypatch, tiny, capsys):
    monkeypatch.setattr(learn.subprocess, "Popen", InProcess)
    folder, out = tmp_path / "made", tmp_path / "out"
    for seed, name in enumerate(("one", "other", "aside")):
        write_source(tmp_path / "real", name, seed=seed)
    options = [str(folder), "--device", "cpu", "--out", str(out), "--steps", "3"]
    options += ["--sources", str(tmp_path / "real")]
    learn.main(["all", *options, "--parts", "2", "--commit", "abc"])
    assert "paper20" in capsys.readouterr().out
    names = {"train": range(4), "calibrate": range(4)}
    expected = {f"{part}_{i:06d}.pt" for part, every in names.items() for i in every}
    expected |= {f"judge_{name}.pt" for name in ("valid0", "tree", "paper20", "real0")}
    expected |= {"state.pt"}
    assert {path.name for path in folder.iterdir()} == expected
    # Every fourth group is of laws, which come without scores.
    kinds = [network.Group.read(folder / f"train_{i:06d}.pt", CPU).whole[0, -1] for i in range(4)]
    assert kinds == [1, 1, 1, 0]

    with np.load(out / shipped.FILE) as read:
        arrays = dict(read)
    origin = json.loads(str(arrays.pop(shipped.ORIGIN)))
    assert (origin["commit"], origin["steps"], origin["groups"]) == ("abc", 3, 4)
    assert origin["code"] == learn.code_mark() and origin["device"] == "cpu"
    assert origin["sources"] == sources.marks(tmp_path / "real")
    assert (origin["set_aside"], origin["share_of_sources"]) == (["aside"], 0.25)
    assert {name: value.shape for name, value in arrays.items()} == {
        name: value.shape for name, value in shipped.weights().items()
    }
    plain = ("probe_", "whole_", "factor", "freedom")  # the rest is held in half precision
    for name, value in arrays.items():
        assert value.dtype == (np.float32 if name.startswith(plain) else np.float16)
    state = torch.load(folder / "state.pt", weights_only=True)
    assert state["step"] == 3
    errors = learn.calibrate(folder, "cpu")
    for name, value in (state["average"] | errors).items():
        # Half precision has 11 binary digits.
        np.testing.assert_allclose(arrays[name], value, rtol=2**-11, atol=1e-7)

    # What the default reads and runs is what was trained.
    monkeypatch.setattr(shipped, "files", lambda package: out)
    assert shipped.origin() == origin
    weights = shipped.weights.__wrapped__()
    scores, labels = scores_of(8, 16, 2)
    pilot = gathered(Pilot.from_scores(scores.numpy(), labels.numpy()))
    batch = features.gather(scores[None], labels, 2, 16)
    part = (batch.probes, batch.whole, batch.base, batch.errors)
    with torch.no_grad():
        forecast, log_spread, _ = network.load(folder / "state.pt", CPU)([part])
    odds, spread = shipped.run(weights, pilot)
    np.testing.assert_allclose(odds, forecast[0], atol=5e-3)
    np.testing.assert_allclose(np.log(spread), log_spread[0], atol=5e-3)

    # What was made before a stop is not made again; what is missing is.
    lost = folder / "train_000003.pt"
    lost.unlink()
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    learn.main(["generate", *options, "--parts", "6"])  # the first, of which it is not
    assert not lost.exists()
    learn.main(["generate", *options, "--parts", "1"])
    changed = {
        path.name for path in folder.iterdir() if stamps.get(path.name) != path.stat().st_mtime_ns
    }
    assert changed == {lost.name}
    # Step by step it is the same file.
    for task in ("train", "calibrate", "judge"):
        learn.main([task, *options])
    learn.main(["pack", *options, "--commit", "abc"])
    with np.load(out / shipped.FILE) as read:
        for name, value in arrays.items():
            np.testing.assert_array_equal(read[name], value)
    assert not list(out.glob("*.part*"))

    # Another network learns from the same problems but those of real classes.
    options[options.index(str(out))] = str(tmp_path / "bare")
    options = [*options[:-2], "--share-of-sources", "0", "--network", "bare"]
    for task in ("train", "judge", "calibrate", "pack"):
        learn.main([task, *options])
    with np.load(tmp_path / "bare" / shipped.FILE) as read:
        origin = json.loads(str(read[shipped.ORIGIN]))
    assert (origin["sources"], origin["share_of_sources"]) == ({}, 0)
    assert not torch.equal(
        torch.load(folder / "bare.pt", weights_only=True)["net"]["last3.weight"],
        state["net"]["last3.weight"],
    )


def test_only_a_network_without_real_classes_needs_no_sources(tmp_path, capsys):
    for task in ("all", "generate", "pack"):
        with pytest.raises(SystemExit):
            learn.main([task, str(tmp_path / "made"), "--device", "cpu"])
        assert "--share-of-sources 0" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_a_part_that_fails_stops_the_command_before_it_trains(tmp_path, monkeypatch, tiny):
    class Failing(InProcess):
        def __init__(self, command, cwd):
            pass

        def wait(self):
            return 1

    def never(*arguments):
        raise AssertionError("trained on part of the problems")

    monkeypatch.setattr(learn.subprocess, "Popen", Failing)
    monkeypatch.setattr(learn, "train", never)
    options = ["--device", "cpu", "--out", str(tmp_path / "out"), "--share-of-sources", "0"]
    with pytest.raises(SystemExit, match="a process that made problems failed"):
        learn.main(["all", str(tmp_path), *options])
    assert not (tmp_path / "out").exists()


def test_parts_share_all_groups_out(tmp_path, monkeypatch, tiny):
    monkeypatch.setattr(learn, "numbered", lambda number, count, device, of_real: number)
    monkeypatch.setattr(learn, "_write", lambda number, path: path.write_text(str(number)))
    counts = [learn.generate(tmp_path, "cpu", part, 3, ["real"]) for part in range(3)]
    assert counts == [3, 3, 2]
    made = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert made == {path.name: number for path, number in learn.wanted(tmp_path)}


@pytest.mark.parametrize(("n_classes", "most"), [(900, 128), (901, 32)])
def test_groups_of_many_classes_hold_fewer_problems(monkeypatch, n_classes, most):
    monkeypatch.setattr(learn, "sizes", lambda number: (n_classes, 5, n_classes))
    monkeypatch.setattr(learn, "draw_group", lambda number, count: ["scores"] * count)
    monkeypatch.setattr(laws, "draw_group", lambda number, count: ["laws"] * count)
    monkeypatch.setattr(learn, "make_group", lambda drawn, members, device: drawn)
    monkeypatch.setattr(learn, "make_laws", lambda drawn, device: drawn)
    monkeypatch.setattr(
        sources, "draw_size", lambda number, real: SimpleNamespace(n_classes=n_classes)
    )
    monkeypatch.setattr(learn, "make_sources", lambda size, number, count, device: count)
    assert learn.numbered(1, 128, "cpu", ()) == most
    assert learn.numbered(2, 128, "cpu") == ["scores"] * most
    assert learn.numbered(2, 8, "cpu") == ["scores"] * 8
    assert learn.numbered(3, 128, "cpu") == ["laws"] * 128


# -- the file that is shipped -----------------------------------------------------------------------


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=learn.ROOT, capture_output=True)


@pytest.fixture(scope="module")
def commit():
    """The commit that the shipped file names; skipped where its history is not there."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    top = git("rev-parse", "--show-toplevel")
    if top.returncode or Path(top.stdout.decode().strip()).resolve() != learn.ROOT.resolve():
        pytest.skip("this is not a git checkout, so that the commit cannot be looked up")
    name = shipped.origin()["commit"]
    absent = git("cat-file", "-e", f"{name}^{{commit}}").returncode
    if absent and git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        pytest.skip("this is a shallow clone, which does not go back to the commit")
    return name


def test_the_shipped_file_names_the_settings():
    origin, planned = shipped.origin(), learn.settings()
    wanted = planned.pop("groups")
    assert 0.9 * wanted < origin["groups"] <= wanted  # made before the time for them had passed
    assert {name: origin[name] for name in planned} == planned
    names = {"commit", "code", "torch", "device", "sources", "set_aside"}
    assert set(origin) == {*learn.settings(), *names}


def test_the_shipped_file_names_a_commit_before_this_one(commit):
    assert len(commit) == 40
    assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


def test_the_shipped_file_was_made_by_the_code_of_its_commit(commit, tmp_path):
    tree = git("archive", "--format=tar", commit, "experiments", "src")
    assert tree.returncode == 0, tree.stderr.decode()
    with tarfile.open(fileobj=io.BytesIO(tree.stdout)) as files:
        files.extractall(tmp_path, filter="data")
    assert learn.code_mark(tmp_path) == shipped.origin()["code"]


def test_a_mark_of_code_is_of_names_and_contents(tmp_path):
    paths = [path for pattern in learn.SOURCES for path in learn.ROOT.glob(pattern)]
    mark = learn.code_mark()
    for path in paths:
        copy = tmp_path / path.relative_to(learn.ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    assert learn.code_mark(tmp_path) == mark
    laws_file = tmp_path / "experiments/training/laws.py"
    laws_file.rename(laws_file.with_name("law.py"))
    assert learn.code_mark(tmp_path) != mark
    laws_file.with_name("law.py").rename(laws_file)
    assert learn.code_mark(tmp_path) == mark
    laws_file.write_bytes(laws_file.read_bytes() + b" ")
    assert learn.code_mark(tmp_path) != mark
