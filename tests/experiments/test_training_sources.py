"""Problems of real classes: their truth, what is drawn, and the pilots they give."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.training import learn, sources
from headcount import Pilot, observe
from headcount.errors import DataError, ParameterError
from headcount.estimators import BentNormal
from headcount.estimators.auto.features import class_counts, gather
from headcount.estimators.shared import bending

torch = pytest.importorskip("torch")

PLAIN = sources.View(
    (1, 2), centred=False, power=0.0, subspace="all", n_dims=6, similarity="euclidean",
    rule="best", target=None, known_noise=1.0,
)  # fmt: skip


def made_up(n_classes=60, rows=(3, 4), n_dims=6, name="one", seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.integers(rows[0], rows[1] + 1, n_classes)
    centres = rng.normal(size=(n_classes, n_dims)) * np.linspace(2, 0.5, n_dims) + 1
    vectors = np.repeat(centres, counts, axis=0) + 0.5 * rng.normal(size=(counts.sum(), n_dims))
    return sources.Source(name, vectors.astype(np.float16).astype(np.float32), counts)


def size_of(source, n_classes=15, members=15, known=1, per_class=2):
    return sources.Size(source, n_classes, members, known, per_class)


def write(path, vectors, labels, recipe="{}"):
    vectors, labels = np.asarray(vectors, np.float16), np.asarray(labels, np.int32)
    np.savez(path, vectors=vectors, labels=labels, recipe=recipe)


# -- truth and pilots -------------------------------------------------------------------------------


def similarity(view, probes, known):
    """Scores of all rows and classes, one by one."""
    scores = np.empty((len(probes), len(known)))
    for i, probe in enumerate(probes):
        for j, rows in enumerate(known):
            rows = rows.mean(axis=0, keepdims=True) if view.rule == "mean" else rows
            gaps = np.linalg.norm(probe - rows, axis=1)
            products = rows @ probe
            scores[i, j] = {
                "euclidean": -gaps,
                "squared": -(gaps**2),
                "dot": products,
                "cosine": products / np.linalg.norm(rows, axis=1) / np.linalg.norm(probe),
            }[view.similarity].max()
    return scores


@pytest.mark.parametrize("kind", ["euclidean", "squared", "cosine", "dot"])
@pytest.mark.parametrize(("rule", "known"), [("best", 2), ("mean", 2), ("best", 1)])
def test_the_truth_is_the_observed_curve_of_the_whole_source(monkeypatch, kind, rule, known):
    source = made_up(rows=(4, 5))
    view = replace(PLAIN, similarity=kind, rule=rule)
    per_class = 4 - known
    space = sources.Space(size_of(source, known=known, per_class=per_class), "cpu")
    points = []
    drawn = sources.Space._points

    def kept(self, *arguments):
        points.append(drawn(self, *arguments))
        return points[-1]

    monkeypatch.setattr(sources.Space, "_points", kept)
    real = space.realise(view)
    rows = points[0].double().numpy()
    assert rows.shape == (60, 4, 6)
    scores = similarity(view, rows[:, known:].reshape(-1, 6), rows[:, :known])
    labels = np.repeat(np.arange(60), per_class)
    whole = observe(Pilot.from_scores(scores, labels))
    ks = np.array([2, 5, 15, 30, 60])
    np.testing.assert_allclose(real.accuracies(ks), whole.accuracy(ks), atol=1e-9)
    assert real.n_classes == 60
    # The pilot is the first classes of it, and what is known of each of its probes as well.
    np.testing.assert_allclose(real.scores, scores[: 15 * per_class, :15], atol=2e-5)
    losses = (scores > scores[np.arange(len(labels)), labels][:, None]).sum(axis=1)
    np.testing.assert_array_equal(real.oracle[0], losses[: 15 * per_class])
    alone = [observe(Pilot.from_losses([lost], 60)).accuracy(ks) for lost in losses[:3]]
    np.testing.assert_allclose(real.chances(ks)[:3], alone, atol=1e-9)


def test_equal_rows_tie():
    source = made_up(n_classes=40, rows=(2, 2))
    source.vectors[:] = np.round(source.vectors / 3)  # lattice: many classes share a vector
    space = sources.Space(size_of(source, 10, 10, 1, 1), "cpu")
    real = space.realise(replace(PLAIN, similarity="dot"))
    assert real.truth[1].sum() > 10
    losses, ties = (counts.numpy() for counts in real.truth)
    curve = observe(Pilot.from_losses(losses, 40, ties=ties))
    np.testing.assert_allclose(real.accuracies([2, 20]), curve.accuracy([2, 20]), atol=1e-9)


def test_a_sample_of_probes_gives_nearly_the_truth():
    space = sources.Space(size_of(made_up(400)), "cpu")
    every, some = (space.realise(PLAIN, n_truth=n) for n in (10**6, 200))
    assert len(every.truth[0]) == 800 and len(some.truth[0]) == 200
    exact = float(every.accuracies([400])[0])
    assert 0.1 < exact < 0.9
    assert float(some.accuracies([400])[0]) == pytest.approx(exact, abs=0.12)  # 3.5 errors


def test_groups_hold_what_pilots_of_them_show(monkeypatch):
    monkeypatch.setattr(bending, "ENOUGH", 1e-13)
    monkeypatch.setattr(bending, "STEPS", 400)
    size = size_of(made_up(n_classes=100), 20, 16)
    group = learn.make_sources(size, 5, 3, "cpu")
    assert group["known"].tolist() == [1.0] * 6 + [0.0] * 4  # 4 times 20 of 100, not 8 times
    for row, real in enumerate(sources.realise_group(5, size, 3, "cpu")):
        assert real.scores.shape == (32, 20)
        pilot = Pilot.from_scores(real.scores.numpy(), real.labels.numpy())
        seen = gather(pilot, BentNormal().fit(pilot))
        probes = group["probes"][row].flatten(0, 1).float()
        np.testing.assert_allclose(probes, seen.probes, atol=5e-3, rtol=2e-3)  # half precision
        np.testing.assert_allclose(group["whole"][row], seen.whole, atol=5e-4)
        np.testing.assert_allclose(group["base"][row], seen.base, atol=5e-4)
        asked = np.minimum(class_counts(20), 100)
        np.testing.assert_allclose(group["truth"][row], real.accuracies(asked), atol=1e-6)
        chances = group["chances"][row].flatten(0, 1).float()
        np.testing.assert_allclose(chances, real.chances(asked), atol=1e-3)
    with_more = learn.make_sources(size, 5, 4, "cpu")
    torch.testing.assert_close(with_more["truth"][:3], group["truth"])


def test_pilots_are_drawn_as_truths_are():
    """On average over problems what a pilot shows is the accuracy of its source."""
    space = sources.Space(size_of(made_up(n_classes=300), 30, 30), "cpu")
    gaps = []
    for place in range(60):
        real = space.realise(replace(PLAIN, seed=(place,)))
        pilot = Pilot.from_scores(real.scores.numpy(), real.labels.numpy())
        gaps.append(float(observe(pilot).accuracy(30)) - float(real.accuracies([30])[0]))
    assert np.std(gaps) > 0.01
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(60)


# -- how a source is looked at ----------------------------------------------------------------------


def points_of(view, source=None, **options):
    space = sources.Space(size_of(source or made_up(2000, n_dims=6), **options), "cpu")
    return space._points(view, space._generator(view)).double().numpy()


def test_classes_and_rows_are_in_random_order_and_scaled():
    source = made_up(n_classes=50, rows=(3, 5))
    points = points_of(PLAIN, source)
    flat = points.reshape(-1, 6)
    assert np.square(flat - flat.mean(axis=0)).sum(axis=1).mean() == pytest.approx(1, rel=1e-5)
    # Distances within and between are those of the source's own rows, each shown at most once.
    vectors = source.vectors.astype(float)
    own = np.sort(np.linalg.norm(vectors[:, None] - vectors[None], axis=2), axis=None)
    scale = np.linalg.norm(flat[0] - flat[4])
    gaps = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    factor = own[-1] / gaps.max()  # the same pair, most of the time
    near = np.abs(gaps[0, 4] * factor - own).min()
    assert near < 1e-3 * scale * factor
    assert len(np.unique(flat.round(4), axis=0)) == len(flat)


def test_powers_make_variances_alike_or_less():
    def variances(power):
        points = points_of(replace(PLAIN, power=power)).reshape(-1, 6)
        return np.sort(np.linalg.eigvalsh(np.cov(points.T)))[::-1]

    plain, white, steep = variances(0.0), variances(1.0), variances(-0.5)
    assert plain[0] / plain[-1] > 4
    # 6,000 rows of 2,000 classes.
    np.testing.assert_allclose(white, 1 / 6, rtol=0.15)
    np.testing.assert_allclose(steep / steep[0], (plain / plain[0]) ** 1.5, rtol=0.15)


def test_subspaces_are_the_leading_directions_or_random_ones():
    whole = points_of(PLAIN)
    leading = points_of(replace(PLAIN, subspace="leading", n_dims=2))
    assert leading.shape == (2000, 3, 2)
    ratio = leading[..., 0] / whole[..., 0]
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-3)
    shown = []
    for seed in range(200):
        view = replace(PLAIN, subspace="random", n_dims=3, seed=(seed,))
        space = sources.Space(size_of(made_up()), "cpu")
        directions = space._directions(view, space._generator(view)).double().numpy()
        np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-5)
        shown.append(directions @ directions.T)
    # On average no direction comes first: half of each in three dimensions of six.
    np.testing.assert_allclose(np.mean(shown, axis=0), np.eye(6) / 2, atol=0.08)


def test_means_are_taken_away_or_not():
    source = made_up(n_classes=500)
    away, left = (
        points_of(replace(PLAIN, centred=centred), source).reshape(-1, 6).mean(axis=0)
        for centred in (True, False)
    )
    assert np.linalg.norm(away) < 0.1 < np.linalg.norm(left)


@pytest.mark.parametrize("known_noise", [0.0, 1.0])
def test_noise_reaches_the_target(known_noise):
    source = made_up(n_classes=600, rows=(3, 3))
    space = sources.Space(size_of(source, 50, 50), "cpu")
    for target in (0.2, 0.5):
        view = replace(PLAIN, target=target, known_noise=known_noise)
        clean = float(space.realise(replace(view, target=None)).accuracies([50])[0])
        noisy = float(space.realise(view).accuracies([50])[0])
        assert clean > 0.6
        assert noisy == pytest.approx(target, abs=0.06)  # 384 probes tried: 0.026 each
    # Where a source is harder than that there is none.
    view = replace(PLAIN, target=0.97)
    points = space._points(view, space._generator(view))
    assert space._level(view, points, space._generator(view)) == 0.0


# -- what is drawn ----------------------------------------------------------------------------------


def test_sizes_leave_most_classes_of_a_source_to_the_truth():
    shelf = [made_up(800, (2, 6), name="a"), made_up(4000, (2, 2), name="b")]
    drawn = [sources.draw_size(number, shelf) for number in range(1, 4000, 4)]
    for size in drawn:
        assert 10 <= size.n_classes <= len(size.classes) / 4 + 1
        assert 1 <= size.members <= size.n_classes
        assert size.known >= 1 and size.per_class >= 1
        assert size.source.counts[size.classes].min() >= size.known + size.per_class
        assert len(size.classes) >= len(size.source.counts) / 2
        assert size.n_classes * size.per_class <= sources.MOST_PROBES
    names = [size.source.name for size in drawn]
    assert names.count("a") / 1000 == pytest.approx(0.5, abs=0.065)
    pairs = {(size.known, size.per_class) for size in drawn}
    assert pairs == {(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1)}
    some = [size.members < size.n_classes for size in drawn if size.n_classes > 30]
    assert np.mean(some) == pytest.approx(0.12, abs=0.05)
    # On a log scale evenly.
    sizes = [size.n_classes for size in drawn if size.source.name == "b"]
    assert stats.kstest(np.log(np.array(sizes) / 10) / np.log(100), "uniform").pvalue > 1e-3


def test_views_are_of_all_kinds():
    views = [sources.draw_view((4, place), 40) for place in range(2000)]
    assert views[7] == sources.draw_view((4, 7), 40)
    assert {view.rule for view in views} == {"best", "mean"}
    assert {view.known_noise for view in views} == {0.0, 1.0}
    for name, shares in (("subspace", sources.SUBSPACES), ("similarity", sources.SIMILARITIES)):
        counts = [sum(getattr(view, name) == one for view in views) for one in shares]
        assert stats.chisquare(counts, [2000 * share for share in shares.values()]).pvalue > 1e-3
    assert all((view.n_dims == 40) or view.subspace != "all" for view in views)
    dims = [view.n_dims for view in views if view.subspace != "all"]
    assert min(dims) == 3 and max(dims) >= 39
    targets = [view.target for view in views if view.target is not None]
    assert len(targets) / 2000 == pytest.approx(0.65, abs=0.05)
    assert stats.kstest(targets, stats.uniform(0.05, 0.93).cdf).pvalue > 1e-3
    powers = [view.power for view in views if view.power]
    assert len(powers) / 2000 == pytest.approx(0.5, abs=0.05)
    assert min(powers) >= -0.5 and max(powers) <= 1.0


# -- files ------------------------------------------------------------------------------------------


def test_files_are_read_by_name_and_set_aside_by_name(tmp_path, monkeypatch):
    vectors = np.arange(10.0).reshape(5, 2)
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.npz", vectors, [0, 0, 1, 1, 1])
    shelf = sources.read_sources(tmp_path)
    assert [source.name for source in shelf] == ["a", "b", "c"]
    assert shelf[0].counts.tolist() == [2, 3]
    np.testing.assert_array_equal(shelf[0].vectors, vectors)
    monkeypatch.setattr(sources, "SET_ASIDE", ("b",))
    assert [source.name for source in sources.to_learn_from(shelf)] == ["a", "c"]
    assert [source.name for source in sources.set_aside(shelf)] == ["b"]
    marks = sources.marks(tmp_path)
    assert marks["a"] == marks["b"]
    write(tmp_path / "b.npz", vectors + 1, [0, 0, 1, 1, 1])
    assert sources.marks(tmp_path)["b"] != marks["b"]


def test_files_that_are_no_sources_are_refused(tmp_path):
    write(tmp_path / "one.npz", np.eye(4), [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"one\.npz must number its classes"):
        sources.read_sources(tmp_path)


def test_sources_that_are_held_out_are_refused(tmp_path):
    for held_out in (False, True):
        recipe = json.dumps({"held_out": held_out})
        write(tmp_path / "one.npz", np.eye(4), [0, 0, 1, 1], recipe)
        if not held_out:
            assert len(sources.read_sources(tmp_path)) == 1
    with pytest.raises(ParameterError, match="held out"):
        sources.read_sources(tmp_path)


def test_without_sources_there_is_no_size():
    with pytest.raises(ParameterError, match="no sources to draw from"):
        sources.draw_size(1, ())


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no source"):
        sources.read_sources(tmp_path)
