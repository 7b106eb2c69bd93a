"""Random recognition problems and the truth about them."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.problems import points as points
from experiments.problems import problems
from experiments.problems import scores as scoring
from experiments.problems import worlds as worlds
from experiments.problems.families import SCORES, Problem
from experiments.problems.worlds import Draws
from headcount import Pilot, observe
from headcount.errors import MissingExtraError, ParameterError
from headcount.simulate.theory import IsotropicGaussian

torch = pytest.importorskip("torch")

CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # small products: threads only get in each other's way
    yield
    torch.set_num_threads(before)


def plain(**changes):
    """Round normal classes with known centres, and nothing else."""
    made = Problem(1, "normal", 40, 2, n_dims=4, target=0.6)
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: problems.draw(0, family="round"), "family"),
        (lambda: problems.draw(-1), "seed"),
        (lambda: problems.draw(0, n_classes=1), "n_classes"),
        (lambda: problems.draw(0, probes_per_class=0), "probes_per_class"),
        (lambda: problems.realise_many([plain(), plain(n_classes=41)]), "2 sizes"),
        (lambda: problems.realise(plain(), n_truth=100, n_truth_probes=10).truth(101), "100"),
        (
            lambda: problems.realise(plain(), n_truth=9, n_truth_probes=9, oracle=False).oracle(2),
            "oracle",
        ),
    ],
)
def test_bad_questions_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_torch_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"headcount\[torch\]"):
        problems.realise(plain())


# -- counting and the curve -------------------------------------------------------------------------


def test_chances_by_enumeration():
    n, losses, ties = 6, np.array([0, 1, 3, 6, 0]), np.array([0, 2, 1, 0, 6])
    got = scoring.accuracies(torch.tensor(losses), torch.tensor(ties), n, range(1, n + 2))
    for row, (beaten, tied) in enumerate(zip(losses, ties, strict=True)):
        rivals = [2] * beaten + [1] * tied + [0] * (n - beaten - tied)
        for m in range(n + 1):
            # Unbeaten, and first among the t it ties with: one chance in t + 1.
            sets = [
                (2 not in some) / (1 + some.count(1)) for some in itertools.combinations(rivals, m)
            ]
            assert got[row, m] == pytest.approx(np.mean(sets), abs=1e-12)


def test_chances_agree_with_the_observed_curve_at_8191_rivals():
    rng = np.random.default_rng(0)
    losses = np.minimum(rng.geometric(0.01, 300) - 1, 8000)
    ties = rng.integers(0, 4, 300)
    ks = [1, 2, 10, 100, 1000, 8192]
    for tied in (None, ties):
        curve = observe(Pilot.from_losses(losses, 8192, ties=tied)).accuracy(ks)
        rows = None if tied is None else torch.tensor(tied)
        got = scoring.accuracies(torch.tensor(losses), rows, 8191, ks).mean(dim=0)
        np.testing.assert_allclose(got, curve, atol=1e-9)


@pytest.mark.parametrize("cells", [1, 1 << 25])
@pytest.mark.parametrize("step", [None, 0.5])
def test_counts_are_those_of_plain_comparison(monkeypatch, cells, step):
    monkeypatch.setattr(scoring, "CELLS", cells)  # 1: a probe at a time
    generator = torch.Generator().manual_seed(3)
    probes = torch.randn(2, 11, 3, generator=generator)
    rows = [torch.randn(2, 7, 3, generator=generator) for _ in range(2)]
    steps = None if step is None else torch.full((2, 1, 1), step)
    how = replace(scoring.rule(Draws([plain()] * 2, "trial", CPU)), step=steps)
    labels = torch.arange(11) % 7
    losses, ties = scoring.count(how, probes, rows, labels=labels)
    true = torch.linspace(-1, 1, 22).round(decimals=0).reshape(2, 11)
    outside, outside_ties = scoring.count(how, probes, rows, true=true)
    for problem, probe in itertools.product(range(2), range(11)):
        scores = [
            max(float(part[problem, c] @ probes[problem, probe]) for part in rows) for c in range(7)
        ]
        if step is not None:
            scores = [np.round(score / step) * step for score in scores]
        own = scores[labels[probe]]
        assert losses[problem, probe] == sum(score > own for score in scores)
        assert outside[problem, probe] == sum(s > float(true[problem, probe]) for s in scores)
        if step is not None:
            assert ties[problem, probe] == sum(score == own for score in scores) - 1
            same = sum(s == float(true[problem, probe]) for s in scores)
            assert outside_ties[problem, probe] == same
    assert (ties is None) == (step is None)


@pytest.mark.parametrize("score", SCORES)
def test_products_are_the_scores_they_are_named_after(score):
    draws = Draws([plain(score=score, evening=0.9)], "trial", CPU)
    shared = worlds.world(draws)
    classes, probes = points.draw_classes(draws, shared, 6), points.draw_probes(draws, shared, 6)
    level = torch.full((1, 1, 1), 0.5)
    x = points.probe_vectors(shared, classes, torch.arange(6), probes, level)
    how = scoring.rule(draws)
    side = scoring.class_side(how, [classes.centre], classes)
    made = scoring.products(how, scoring.probe_side(how, x, probes), side)
    got = scoring.shown(how, made, x.square().sum(dim=2, keepdim=True), probes)[0]
    x, c = x[0].double().numpy(), classes.centre[0].double().numpy()
    distance = np.linalg.norm(x[:, None] - c, axis=2)
    lengths = np.linalg.norm(c, axis=1)
    expected = {
        "euclidean": -distance,
        "squared": -(distance**2),
        "log": -np.log(distance**2),
        "cosine": x @ c.T / np.linalg.norm(x, axis=1)[:, None] / lengths,
        "dot": x @ c.T / lengths**0.9,
    }
    np.testing.assert_allclose(got, expected[score], rtol=2e-4, atol=2e-5)


# -- truth against theory ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "law"),
    [
        ({"noise": 0.3}, IsotropicGaussian(4, 0.3, None)),
        ({"noise": 0.2, "gallery_rows": 1, "score": "log"}, IsotropicGaussian(4, 0.2, 1)),
        ({"noise": 0.3, "gallery_rows": 3}, IsotropicGaussian(4, 0.3, 3)),
        (
            {"noise": 0.3, "gallery_rows": 3, "gallery_rule": "mean"},
            IsotropicGaussian(4, 0.3, 3, "mean"),
        ),
    ],
)
def test_truth_is_that_of_theory(changes, law):
    made = problems.realise(plain(**changes), n_truth=3000, n_truth_probes=3000)
    ks = [2, 10, 40, 300, 3000]
    # Four standard errors, and half of that again for the rivals, which all probes share.
    off = np.abs(made.truth(ks) - law.accuracy(ks))
    assert (off < 6 * made.truth_error(ks) + 1e-4).all()


def test_mislabelled_probes_win_half_the_time():
    # With next to no noise all other probes are right, and a stranger is as close to its
    # supposed class as to any: 1 - share / 2 among two classes, by symmetry.
    spoiled = plain(noise=1e-3, impossible_share=0.3)
    made = problems.realise(spoiled, n_truth=2000, n_truth_probes=4000)
    assert abs(made.truth(2) - 0.85) < 4 * made.truth_error(2)


# -- pilots and truth -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """Small problems of every family, with the truth at 8 times the classes."""
    drawn = [
        problems.draw(seed, family=name, n_classes=40, probes_per_class=2)
        for seed in range(14)
        for name in problems.FAMILIES
    ]
    return problems.realise_many(drawn, n_truth=400, n_truth_probes=400)


def test_every_family_realises(many):
    for made in many:
        assert made.scores.shape == (80, 40) and made.scores.dtype == torch.float32
        assert bool(torch.isfinite(made.scores).all())
        assert made.labels.tolist() == [c for c in range(40) for _ in range(2)]


def test_truth_is_what_pilots_show_on_average(many):
    ks = [2, 10, 40]
    gaps = np.array(
        [observe(problems.to_pilot(made)).accuracy(ks) - made.truth(ks) for made in many]
    )
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    assert (error < 0.008).all()  # else the next line says nothing
    assert (np.abs(gaps.mean(axis=0)) < 3 * error).all()


def test_oracle_is_the_truth_on_average(many):
    ks = [2, 40, 320]
    gaps = np.array([made.oracle(ks) - made.truth(ks) for made in many])
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    assert (error < 0.008).all()
    assert (np.abs(gaps.mean(axis=0)) < 3 * error).all()


def test_accuracy_is_spread_and_near_its_target(many):
    truth = np.array([float(made.truth(40)) for made in many])
    low, high = np.quantile(truth, [0.1, 0.9])
    assert low < 0.35 and high > 0.8
    honest = [made.problem.impossible_share == 0 for made in many]
    target = np.array([made.problem.target for made in many])
    off = np.abs(truth - target)[honest]
    # 384 trial probes and 400 fresh ones: standard errors of 0.025 each.
    assert np.median(off) < 0.04 and np.mean(off < 0.15) > 0.95


def test_realising_twice_gives_the_same(many):
    again = problems.realise(many[3].problem, n_truth=400, n_truth_probes=400)
    torch.testing.assert_close(again.scores, many[3].scores, rtol=1e-4, atol=1e-4)
    other = problems.realise(replace(many[3].problem, seed=999), n_truth=400)
    assert not torch.allclose(other.scores, many[3].scores)


def test_the_size_of_the_truth_does_not_change_the_pilot(many):
    again = problems.realise(many[0].problem, n_truth=50, n_truth_probes=20, oracle=False)
    torch.testing.assert_close(again.scores, many[0].scores, rtol=1e-4, atol=1e-4)
    assert again.oracle_losses is None and len(again.truth_losses) == 20


def test_batches_give_what_single_problems_do(monkeypatch, many):
    monkeypatch.setattr(problems, "NUMBERS", 1)
    drawn = [made.problem for made in many[:26]]
    alone = problems.realise_many(drawn, n_truth=400, n_truth_probes=400)
    monkeypatch.setattr(problems, "NUMBERS", 1 << 40)
    assert len(problems.batches_of(drawn, 800, "cpu")) < 15
    together = problems.realise_many(drawn, n_truth=400, n_truth_probes=400)
    for one, two in zip(alone, together, strict=True):
        assert one.problem == two.problem
        assert one.noise == pytest.approx(two.noise, rel=1e-3)
        # Round-off may move a score across a rounding step, or a rival past a probe.
        near = torch.isclose(one.scores, two.scores, rtol=1e-2, atol=1e-2)
        assert near.float().mean() > 0.999
        assert (one.truth_losses - two.truth_losses).abs().float().mean() < 0.02
        assert (one.oracle_losses - two.oracle_losses).abs().float().mean() < 0.02


# -- parts ------------------------------------------------------------------------------------------


def test_student_noise_has_its_law_and_variance_one():
    draws = Draws([plain(n_dims=2, seed=4)], "trial", CPU)
    tail = torch.full((1, 1, 1), 3.0)
    got = worlds.law(draws, 20_000, "heavy_tailed", tail).double().numpy().ravel()
    assert stats.kstest(got * np.sqrt(3), stats.t(3).cdf).pvalue > 1e-3


def test_few_coordinates_of_sparse_vectors_count():
    draws = Draws([plain(n_dims=50, density=0.1)], "trial", CPU)
    got = worlds.law(draws, 4000, "sparse", None).double().numpy().ravel()
    assert np.mean(got**2) == pytest.approx(1, rel=0.03)
    # The rest has a variance of 0.03; of those that count, 10%, few are as small as that.
    assert np.mean(got > 0.75) == pytest.approx(0.1 * 2 * stats.norm.sf(0.75 * 0.1**0.5), rel=0.05)
    assert stats.kurtosis(got) > 10


@pytest.mark.parametrize("warp", [2.0, -0.8])
def test_warped_scores_keep_their_order_and_bend(warp):
    made = plain(noise=0.3, score="cosine", n_dims=20)
    straight, bent = (
        problems.realise(replace(made, warp=rate), n_truth=10, n_truth_probes=10).scores.numpy()
        for rate in (0.0, warp)
    )
    assert (np.argsort(straight, axis=1) == np.argsort(bent, axis=1)).all()
    skewness = stats.skew(bent, axis=1).mean() - stats.skew(straight, axis=1).mean()
    assert np.sign(warp) * skewness > 0.5


def test_words_are_poisson():
    uniform = torch.linspace(0, 1, 100_001, dtype=torch.float64)[:-1] + 5e-6
    for rate in (0.05, 1.0, 7.5, 40.0):
        got = points.poisson_counts(torch.full_like(uniform, rate), uniform).floor().numpy()
        law = stats.poisson(rate)
        # A grid of uniform numbers gives the law itself, from 12 on its normal approximation.
        assert got.mean() == pytest.approx(rate, rel=2e-3 if rate < 12 else 0.02)
        assert got.var() == pytest.approx(rate, rel=0.02)
        if rate < 12:
            for value in range(4):
                assert np.mean(got == value) == pytest.approx(law.pmf(value), abs=1e-4)


def test_noise_of_scores_is_normal_and_of_the_asked_size():
    draws = Draws([plain(score_noise=0.25)], "trial", CPU)
    shared = worlds.world(draws)
    classes = points.draw_classes(draws, shared, 4000)
    probes = points.draw_probes(draws, shared, 3)
    noise = (probes.nuisance @ classes.nuisance.mT)[0].double().numpy()
    assert all(stats.kstest(row / 0.25, "norm").pvalue > 1e-3 for row in noise)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("normal", stats.norm()),
        ("log-normal", stats.lognorm(1, loc=-1.6487 / 2.1612, scale=1 / 2.1612)),
        ("exponential", stats.expon(-1)),
    ],
)
def test_hubs_are_of_the_law_that_is_asked_for(name, law):
    draws = Draws([plain(), plain(hub_spread=0.4, hub_law=name)], "trial", CPU)
    bias = points.draw_classes(draws, worlds.world(draws), 4000).bias[..., 0].double().numpy()
    assert (bias[0] == 0).all()
    assert stats.kstest(bias[1] / 0.4, law.cdf).pvalue > 1e-3
    # Mean zero, spread one: 4,000 numbers of a law with kurtosis up to 114.
    assert law.mean() == pytest.approx(0, abs=1e-3) and law.std() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "chance"),
    [
        ({"n_parts": 2, "n_letters": 10, "within": 1e-8}, 0.01),
        ({"n_parts": 8, "n_letters": 2, "within": 1e-8}, 2.0**-8),
        ({"twin_share": 0.5, "n_twins": 20, "twin_gap": 1e-4}, 0.25 / 20),
    ],
)
def test_how_often_classes_coincide(changes, chance):
    draws = Draws([plain(**changes)], "world", CPU)
    shared = worlds.world(draws)
    centre = points.draw_classes(draws, shared, 2000).centre[0]
    close = torch.cdist(centre, centre, compute_mode="donot_use_mm_for_euclid_dist") < 2e-3
    pairs = (int(close.sum()) - 2000) / (2000 * 1999)
    # The share of twins among 2,000 has a relative error of 0.022, its square twice that, and
    # four errors are 0.18.
    assert pairs == pytest.approx(chance, rel=0.18)


def test_trees_have_relatives_at_every_level():
    tree = plain(population="clustered", branching=(3, 4, 5), within=1e-6, n_dims=60)
    shared = worlds.world(Draws([tree], "world", CPU))
    leaves = shared.centres[0].double()
    assert len(leaves) == 60
    squared = torch.cdist(leaves, leaves) ** 2
    # Brothers share two of three steps, cousins one: squared distances of 2/3, 4/3 and 2.
    brothers, cousins, strangers = squared[0, 1:5], squared[0, 5:20], squared[0, 20:]
    assert brothers.mean() == pytest.approx(2 / 3, rel=0.3)
    assert cousins.mean() == pytest.approx(4 / 3, rel=0.3)
    assert strangers.mean() == pytest.approx(2, rel=0.3)
