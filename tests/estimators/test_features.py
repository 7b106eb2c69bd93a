"""What the learned default sees of a pilot: by hand, from the scores, and alike in torch."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import kurtosis, skew

from headcount import AssumptionWarning, Pilot, observe
from headcount.estimators import BentNormal
from headcount.estimators.auto import features as written
from headcount.estimators.auto.features import (
    N_GLOBALS,
    N_LOSSES,
    N_SIZES,
    RANKS,
    SPANS,
    gather,
)


def scores_and_labels(seed=0, n_classes=40, per_class=3, noise=0.7):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 6))
    labels = np.repeat(np.arange(n_classes), per_class)
    points = centres[labels] + noise * rng.normal(size=(len(labels), 6))
    return -np.linalg.norm(points[:, None] - centres[None], axis=2), labels


@pytest.fixture(scope="module")
def pilot():
    return Pilot.from_scores(*scores_and_labels())


def gathered(pilot, **options):
    return gather(pilot, BentNormal().fit(pilot), **options)


def test_features_of_a_probe_by_hand():
    scores, labels = scores_and_labels()
    features = gathered(Pilot.from_scores(scores, labels))
    row = 17
    impostors = np.sort(np.delete(scores[row], labels[row]))[::-1]
    true = scores[row, labels[row]]
    spread = impostors.std(ddof=1)
    z, z_true = (impostors - impostors.mean()) / spread, (true - impostors.mean()) / spread
    losses = (impostors > true).sum()
    n = len(impostors)

    def tame(x):
        return np.sign(x) * np.log1p(abs(x))

    gaps, units = [], []
    for span in SPANS:
        unit = np.mean(z[:span]) - z[span]
        gaps.append(tame((z_true - z[span]) / unit))
        units.append(np.log(unit))
    others = labels != labels[row]
    means = np.array([np.delete(s, c).mean() for s, c in zip(scores, labels, strict=True)])
    spreads = np.array([np.delete(s, c).std(ddof=1) for s, c in zip(scores, labels, strict=True)])
    column = ((scores[:, labels[row]] - means) / spreads)[others]
    beaten = (scores[:, labels[row]] > scores[np.arange(len(labels)), labels])[others].mean()
    expected = [
        np.log((losses + 0.5) / (n - losses + 0.5)), np.log1p(losses), float(losses == 0), 0.0,
        0.0, np.log(40), 1.0,
        tame(z_true), *z[np.array(RANKS) - 1], *np.quantile(z, written.LEVELS),
        tame(skew(z)), tame(kurtosis(z)), *gaps, *units,
        column.mean(), column.std(), np.log(beaten * n + 0.5),
    ]  # fmt: skip
    np.testing.assert_allclose(features.probes[row], expected, atol=1e-10)
    assert features.coarseness == 0


def test_observed_curve_is_the_exact_one_and_goes_between_whole_numbers(pilot):
    counts = np.array([2.0, 5.0, 10.0, 40.0])
    np.testing.assert_allclose(
        written.observed_curve(pilot, counts), observe(pilot).accuracy(counts), atol=1e-12
    )
    between = written.observed_curve(pilot, np.array([5.0, 5.5, 6.0]))
    assert between[0] > between[1] > between[2]


def test_features_of_the_whole_by_hand():
    # Five classes without probes, others with 1 to 5 of them: each number of its own.
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(35), rng.integers(1, 6, 35))
    labels = np.append(labels, labels[-3:])
    losses = np.minimum(rng.geometric(0.4, len(labels)) - 1, 39)
    pilot = Pilot.from_losses(losses, 40, labels=labels, average="micro")
    base = BentNormal().fit(pilot)
    features = gather(pilot, base)
    counts = 40 * 2.0 ** np.arange(-3, 7)
    np.testing.assert_array_equal(features.counts, counts)
    curve, errors = base.curve(counts)
    np.testing.assert_allclose(features.base, curve, rtol=1e-12)
    np.testing.assert_allclose(features.errors, errors, rtol=1e-12)
    observed = observe(pilot).accuracy([5, 10, 20, 40])
    fitted = base.predict([5, 10, 20, 40])
    # Equally weighted classes that tell as much (Kish), from the shares of the classes.
    shares = np.bincount(labels) / len(labels)
    n_effective = 1 / np.square(shares).sum()
    assert n_effective < 34
    expected = [
        *logit(observed), *((observed - fitted) * np.sqrt(n_effective)), *curve, *np.log(errors),
        base.base_.mu_, np.log(base.base_.tau_), 0.0, np.log(40), np.log(n_effective),
        np.log(len(labels)), np.log(len(labels) / 35), 0.0,
    ]  # fmt: skip
    assert len(features.whole) == len(expected) == N_GLOBALS
    np.testing.assert_allclose(features.whole, expected, atol=1e-9)
    np.testing.assert_allclose(features.class_weights, shares[shares > 0])
    np.testing.assert_array_equal(features.members, labels)


def test_sizes_of_a_pilot_with_scores_and_of_one_without_labels(pilot):
    sizes = [0, np.log(40), np.log(40), np.log(120), np.log(3), 1]
    np.testing.assert_allclose(gathered(pilot).whole[-N_SIZES:], sizes)
    bare = gathered(Pilot.from_losses(pilot.losses, 40))
    np.testing.assert_allclose(
        bare.whole[-N_SIZES:], [0, np.log(40), np.log(120), np.log(120), 0, 0], atol=1e-12
    )


def test_features_of_probes_known_only_from_below():
    rng = np.random.default_rng(1)
    whole = rng.binomial(39, rng.beta(0.5, 5, 80))
    cut = whole >= 4
    listed = Pilot.from_losses(np.minimum(whole, 4), 40, censored=cut)
    features = gathered(listed)
    assert 10 < cut.sum() < 70
    np.testing.assert_array_equal(features.probes[:, 4], cut)
    np.testing.assert_allclose(features.probes[:, 1], np.log1p(np.minimum(whole, 4)))
    assert features.whole[-N_SIZES] == pytest.approx(cut.mean())
    # The middle of what lists leave possible, as the observed curve has it.
    middle = written.observed_curve(listed, np.array([5.0, 10.0, 20.0, 40.0]))
    np.testing.assert_allclose(middle, observe(listed).accuracy([5, 10, 20, 40]), atol=1e-12)
    # Lists that hold everything are no lists that were cut.
    full = gathered(Pilot.from_losses(whole, 40, censored=np.zeros(80, bool)))
    np.testing.assert_array_equal(full.probes, gathered(Pilot.from_losses(whole, 40)).probes)


def test_counts_are_two_at_least_and_logits_within_reach():
    assert written.class_counts(4).tolist() == [2, 2, 2, 4, 8, 16, 32, 64, 128, 256]
    edge = written.LOGIT_REACH
    np.testing.assert_allclose(
        written.logit(np, np.array([0.0, 1e-9, 0.3, 1.0])), [-edge, -edge, logit(0.3), edge]
    )
    odds, errors = written.within_reach(np.array([-50.0, 1.0, 50.0]), np.array([0.0, 0.3, 99.0]))
    assert odds.tolist() == [-edge, 1.0, edge]
    assert errors.tolist() == [written.LEAST_ERROR, 0.3, edge]
    # A pilot where nothing is lost: all that is seen stays finite.
    with pytest.warns(AssumptionWarning):
        features = gathered(Pilot.from_losses([0] * 300, 10**6))
    assert np.isfinite(features.whole).all()
    assert np.abs(features.base).max() <= edge


def test_features_ignore_linear_maps_and_losses_ignore_scores(pilot):
    scores, labels = scores_and_labels()
    mapped = gathered(Pilot.from_scores(3e3 * scores - 1e4, labels))
    np.testing.assert_allclose(mapped.probes, gathered(pilot).probes, atol=1e-9)
    bare = gathered(pilot, use_scores=False)
    assert not bare.has_scores
    assert (bare.probes[:, N_LOSSES - 1 :] == 0).all()
    counted = gathered(Pilot.from_losses(pilot.losses, 40, labels=pilot.labels))
    np.testing.assert_array_equal(bare.probes, counted.probes)
    np.testing.assert_array_equal(bare.whole, counted.whole)


def test_blocks_of_scores_do_not_show(pilot, monkeypatch):
    whole = gathered(pilot).probes
    blocks = pilot.score_blocks
    monkeypatch.setattr(Pilot, "score_blocks", lambda self: blocks(7))
    np.testing.assert_allclose(gathered(pilot).probes, whole, atol=1e-12)


def test_impostors_all_alike_give_finite_features():
    scores = np.zeros((4, 5))
    scores[np.arange(3), np.arange(3)] = (1.0, 0.0, -1.0)
    features = gathered(Pilot.from_scores(scores, [0, 1, 2, 3]))
    assert np.isfinite(features.probes).all()
    assert features.coarseness == 1


# -- the same in torch ------------------------------------------------------------------------------


def all_features(xp, scores, labels, losses, ties, cut, observed, base, errors, point):
    """All that is written for both, from arrays of one module."""
    n_classes = scores.shape[-1]
    best = written.impostors(xp, scores, labels)
    middle, sums = written.score_features(xp, scores, best, labels)
    sizes = (n_classes, 7.5, n_classes - 1, len(labels))
    return [
        best,
        written.loss_features(xp, losses, ties, cut, n_classes, True),
        middle,
        written.rival_features(xp, sums, labels),
        written.whole_features(
            xp, observed, (base, errors, *point), cut.mean(axis=-1), sizes, True
        ),
    ]


@pytest.mark.parametrize("n_classes, per_class", [(8, 2), (20, 1), (40, 3), (150, 2)])
def test_numpy_and_torch_see_the_same(n_classes, per_class):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(n_classes)
    scores, labels = zip(
        *(scores_and_labels(seed, n_classes, per_class) for seed in range(3)), strict=True
    )
    scores, labels = np.stack(scores), labels[0]
    scores[1] = 1e3 * scores[1] - 1e5
    scores[2] = scores[2].round(1)  # ties
    true = np.take_along_axis(scores, labels[None, :, None], axis=2)
    losses = (scores > true).sum(axis=2).astype(float)
    ties = (scores == true).sum(axis=2) - 1.0
    observed, base = rng.random((3, 4)), rng.normal(size=(3, 10))
    errors, point = rng.uniform(0.01, 2, (3, 10)), rng.normal(size=(2, 3))
    cut = rng.integers(0, 2, losses.shape).astype(float)
    arrays = (scores, labels, losses, ties, cut, observed, base, errors)
    expected = all_features(np, *arrays, point)
    doubles = all_features(torch, *map(torch.tensor, arrays), torch.tensor(point))
    for double, exact in zip(doubles, expected, strict=True):
        assert double.dtype == torch.float64
        np.testing.assert_allclose(double, exact, atol=1e-12, rtol=1e-12)
    singles = [
        torch.tensor(array, dtype=torch.float32 if array.dtype.kind == "f" else None)
        for array in (*arrays, point)
    ]
    rounded = [
        array.numpy().astype(float) if array.is_floating_point() else labels for array in singles
    ]
    for single, exact in zip(
        all_features(torch, *singles), all_features(np, *rounded), strict=True
    ):
        assert single.dtype == torch.float32
        np.testing.assert_allclose(single, exact, atol=2e-4, rtol=1e-4)


def test_several_pilots_at_once_are_as_alone():
    scores, labels = zip(*(scores_and_labels(seed, 25, 2) for seed in range(3)), strict=True)
    scores, labels = np.stack(scores), labels[0]
    best = written.impostors(np, scores, labels)
    together, sums = written.score_features(np, scores, best, labels)
    for row in range(3):
        alone, own_sums = written.score_features(np, scores[row], best[row], labels)
        np.testing.assert_array_equal(together[row], alone)
        np.testing.assert_array_equal(sums[row], own_sums)


def test_impostors_are_the_wrong_classes_best_first():
    scores = np.array([[3.0, 1.0, 2.0], [0.5, 9.0, -1.0]])
    before = scores.copy()
    assert written.impostors(np, scores, np.array([2, 1])).tolist() == [[3.0, 1.0], [0.5, -1.0]]
    np.testing.assert_array_equal(scores, before)
