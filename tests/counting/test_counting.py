import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

import brute
from headcount import DataError, Pilot, UnsupportedError, forecast

SIMILARITIES = ("euclidean", "cosine", "dot")


def assert_counts(pilot, expected):
    assert list(zip(pilot.losses.tolist(), pilot.ties.tolist(), strict=True)) == expected


def brute_pilot(probes, labels, gallery, similarity):
    return brute.count_embeddings(probes, labels, gallery, list(range(len(gallery))), similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32])
def test_counts_equal_a_loop_over_all_pairs(similarity, dtype):
    rng = np.random.default_rng(1)
    gallery = (10 * rng.normal(size=(40, 7))).astype(dtype)
    labels = rng.integers(0, 40, 60)
    probes = (gallery[labels] + 6 * rng.normal(size=(60, 7))).astype(dtype)
    pilot = Pilot.from_embeddings(probes, labels, gallery, similarity=similarity)
    assert_counts(pilot, brute_pilot(probes, labels, gallery, similarity))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_exact_duplicates_tie(similarity):
    rng = np.random.default_rng(2)
    gallery = rng.normal(size=(20, 33)).astype(np.float32)
    gallery[10:] = gallery[:10]
    labels = np.arange(20)
    probes = gallery + rng.normal(size=gallery.shape).astype(np.float32)
    pilot = Pilot.from_embeddings(probes, labels, gallery, similarity=similarity)
    assert (pilot.ties == 1).all()
    assert_counts(pilot, brute_pilot(probes, labels, gallery, similarity))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_near_ties_are_decided_in_float64(similarity, offset):
    rng = np.random.default_rng(3)
    base = rng.normal(size=50) + offset
    # Rows that differ in the last bits of float64: float32 cannot tell any two of them apart.
    gallery = base * (1 + 1e-15 * rng.integers(-8, 9, size=(30, 50)))
    labels = rng.integers(0, 30, 40)
    probes = base + rng.normal(size=(40, 50))
    pilot = Pilot.from_embeddings(probes, labels, gallery, similarity=similarity)
    expected = brute_pilot(probes, labels, gallery, similarity)
    assert len({losses for losses, _ in expected}) > 10
    assert_counts(pilot, expected)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_very_unequal_lengths(similarity):
    rng = np.random.default_rng(4)
    gallery = rng.normal(size=(40, 6)) * 10.0 ** rng.integers(-12, 12, size=(40, 1))
    labels = rng.integers(0, 40, 50)
    probes = gallery[labels] * rng.uniform(0.5, 2, size=(50, 1)) + rng.normal(size=(50, 6))
    pilot = Pilot.from_embeddings(probes, labels, gallery, similarity=similarity)
    assert_counts(pilot, brute_pilot(probes, labels, gallery, similarity))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("size, far", [(1.0, 1e40), (1e-15, 1e30), (1e-60, 1.0), (1e-80, 1e80)])
def test_probes_on_another_scale_than_the_gallery(similarity, size, far):
    rng = np.random.default_rng(16)
    gallery = size * rng.normal(size=(30, 5))
    probes = gallery[:20] + 0.3 * size * rng.normal(size=(20, 5))
    probes[3:9] = far * rng.normal(size=(6, 5))
    pilot = Pilot.from_embeddings(probes, np.arange(20), gallery, similarity=similarity)
    assert_counts(pilot, brute_pilot(probes, np.arange(20), gallery, similarity))


@settings(max_examples=60)
@given(st.data())
def test_small_integers_full_of_ties(data):
    similarity = data.draw(st.sampled_from(SIMILARITIES))
    n_classes = data.draw(st.integers(2, 6))
    n_dims = data.draw(st.integers(1, 3))
    vector = st.lists(st.integers(-2, 2), min_size=n_dims, max_size=n_dims)
    gallery = data.draw(st.lists(vector, min_size=n_classes, max_size=n_classes))
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, n_classes - 1), vector), min_size=1, max_size=6)
    )
    labels, probes = [r[0] for r in rows], [r[1] for r in rows]
    expected = brute_pilot(probes, labels, gallery, similarity)
    if all(ties == n_classes - 1 for _, ties in expected):
        return  # refused as constant scores
    pilot = Pilot.from_embeddings(
        np.array(probes), labels, np.array(gallery), similarity=similarity
    )
    assert_counts(pilot, expected)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_several_gallery_rows_a_class_count_by_their_best(similarity):
    rng = np.random.default_rng(5)
    owners = np.concatenate([np.arange(12), np.full(30, 3), rng.integers(0, 12, 40)])
    gallery = rng.integers(-3, 4, size=(len(owners), 4))
    labels = rng.integers(0, 12, 50)
    probes = rng.integers(-3, 4, size=(50, 4))
    pilot = Pilot.from_embeddings(probes, labels, gallery, owners, similarity=similarity)
    expected = brute.count_embeddings(probes, labels, gallery, owners.tolist(), similarity)
    assert sum(ties for _, ties in expected) > 0
    assert_counts(pilot, expected)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_leave_one_out_excludes_only_the_probe_itself(similarity):
    rng = np.random.default_rng(6)
    owners = [0] * 5 + [1] * 3 + [2] + [3] * 4 + [4]
    rows = rng.integers(-2, 3, size=(len(owners), 3))
    rows[1] = rows[0]  # a twin of the probe may match it
    pilot = Pilot.from_embeddings(rows, owners, similarity=similarity)
    assert_counts(pilot, brute.count_embeddings(rows, owners, rows, owners, similarity, True))
    assert pilot.n_classes == 5 and pilot.n_probes == 12
    assert pilot.summary().classes_without_probes == 2


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "i8", "u8", ">f4", "?"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_score_matrices_of_every_type(dtype, order):
    rng = np.random.default_rng(7)
    scores = np.asarray(
        rng.integers(0, 2 if dtype == "?" else 50, size=(70, 30)), dtype=dtype, order=order
    )
    labels = rng.integers(0, 30, 70)
    values = scores.astype(np.float64)
    true = values[np.arange(70), labels][:, None]
    pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
    assert pilot.losses.tolist() == (values > true).sum(axis=1).tolist()
    assert pilot.ties.tolist() == ((values == true).sum(axis=1) - 1).tolist()
    reverse = Pilot.from_scores(scores, labels, higher_is_better=False)
    assert reverse.losses.tolist() == (values < true).sum(axis=1).tolist()
    assert reverse.ties.tolist() == pilot.ties.tolist()


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8"])
def test_more_columns_than_a_narrow_counter_holds(dtype):
    n_classes = 70_000
    scores = np.zeros((2, n_classes), dtype)
    scores[0, 5], scores[1, :] = 1, 1
    scores[1, 9] = 0
    pilot = Pilot.from_scores(scores, [5, 9])
    assert pilot.losses.tolist() == [0, n_classes - 1]
    by_columns = Pilot.from_scores(np.asfortranarray(scores), [5, 9])
    assert by_columns.losses.tolist() == [0, n_classes - 1]


def test_negated_scores_with_the_orientation_flipped_count_the_same():
    scores = np.random.default_rng(8).normal(size=(50, 20)).round(1)
    labels = np.arange(50) % 20
    one = Pilot.from_scores(scores, labels, higher_is_better=True)
    other = Pilot.from_scores(-scores, labels, higher_is_better=False)
    assert one.losses.tolist() == other.losses.tolist()
    assert one.ties.tolist() == other.ties.tolist()


def test_memory_mapped_scores_stay_on_disk(tmp_path):
    scores = np.random.default_rng(9).normal(size=(500, 40)).astype(np.float32)
    np.save(tmp_path / "scores.npy", scores)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    labels = np.arange(500) % 40
    pilot = Pilot.from_scores(mapped, labels, higher_is_better=True)
    assert (
        pilot.losses.tolist()
        == Pilot.from_scores(scores, labels, higher_is_better=True).losses.tolist()
    )
    block = next(pilot.score_blocks(10))[1]
    assert np.array_equal(block, scores[:10].astype(np.float64))


def measured_pilots():
    rng = np.random.default_rng(10)
    gallery = rng.normal(size=(30, 5))
    labels = rng.integers(0, 30, 40)
    probes = gallery[labels] + 0.8 * rng.normal(size=(40, 5))
    for similarity in SIMILARITIES:
        true = np.array([[brute.score(x, g, similarity) for g in gallery] for x in probes])
        if similarity == "euclidean":
            true = -np.sqrt(-true)
        yield Pilot.from_embeddings(probes, labels, gallery, similarity=similarity), true, labels
    yield (
        Pilot.from_scores(-probes @ gallery.T, labels, higher_is_better=False),
        probes @ gallery.T,
        labels,
    )


@pytest.mark.parametrize("pilot, scores, labels", list(measured_pilots()))
def test_pieces_and_blocks_are_those_of_the_scores(pilot, scores, labels):
    blocks = np.concatenate([block for _, block in pilot.score_blocks(7)])
    np.testing.assert_allclose(blocks, scores, rtol=1e-9, atol=1e-9)
    levels = (0.0, 0.1, 0.5, 0.77, 1.0)
    pieces = pilot.pieces(top=4, levels=levels)
    for i, label in enumerate(labels):
        impostors = np.delete(scores[i], label)
        assert pieces.true[i] == pytest.approx(scores[i, label], abs=1e-9)
        np.testing.assert_allclose(pieces.top[i], np.sort(impostors)[::-1][:4], atol=1e-9)
        assert pieces.mean[i] == pytest.approx(impostors.mean(), abs=1e-9)
        assert pieces.spread[i] == pytest.approx(impostors.std(ddof=1), abs=1e-9)
        np.testing.assert_allclose(pieces.quantiles[i], np.quantile(impostors, levels), atol=1e-9)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_scores_of_duplicates_compare_as_the_counts_say(similarity):
    rng = np.random.default_rng(17)
    gallery = rng.normal(size=(60, 64)).astype(np.float32)
    gallery[30:] = gallery[:30]
    probes = gallery[:30] + rng.normal(size=(30, 64)).astype(np.float32)
    probes[0] = gallery[0]
    pilot = Pilot.from_embeddings(probes, np.arange(30), gallery, similarity=similarity)
    (_, scores), *_ = pilot.score_blocks()
    true = scores[np.arange(30), np.arange(30)][:, None]
    assert (scores > true).sum(axis=1).tolist() == pilot.losses.tolist()
    assert ((scores == true).sum(axis=1) - 1).tolist() == pilot.ties.tolist() == [1] * 30
    assert pilot.pieces(top=1).top[0, 0] == pilot.pieces(top=1).true[0]


def test_callers_on_several_threads_leave_the_process_as_it_was():
    def limits():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    rng = np.random.default_rng(18)
    gallery = rng.normal(size=(800, 16))
    probes = gallery[:200] + rng.normal(size=(200, 16))
    labels, filters = np.arange(200), list(warnings.filters)

    def work(_):
        pilot = Pilot.from_embeddings(probes, labels, gallery)
        forecast(pilot, classes=800, method="no-change")
        return pilot.losses.tolist()

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(6) as pool:
        before = limits()
        assert set(before) == {2}
        expected = Pilot.from_embeddings(probes, labels, gallery).losses.tolist()
        assert all(found == expected for found in pool.map(work, range(12)))
        assert limits() == before
    assert list(warnings.filters) == filters


def test_measuring_counts_in_the_same_pass():
    for pilot, _, _ in measured_pilots():
        losses, ties, _ = pilot._source.measure(3, np.array([0.5]))
        assert losses.tolist() == pilot.losses.tolist()
        assert ties.tolist() == pilot.ties.tolist()


def brute_beats(scores, labels):
    lists = []
    for row, label in zip(scores, labels, strict=True):
        rivals = [
            (c, bool(s == row[label])) for c, s in enumerate(row) if c != label and s >= row[label]
        ]
        lists.append(rivals)
    return lists


def test_beats_name_the_classes_that_beat_or_tie():
    rng = np.random.default_rng(11)
    probes, gallery = rng.integers(-2, 3, (50, 3)), rng.integers(-2, 3, (25, 3))
    labels = rng.integers(0, 25, 50)
    scores = np.array([[brute.score(x, g, "dot") for g in gallery] for x in probes])
    for pilot in (
        Pilot.from_embeddings(probes, labels, gallery, similarity="dot"),
        Pilot.from_scores(scores, labels, higher_is_better=True),
        Pilot.from_scores(-scores, labels, higher_is_better=False),
    ):
        beats = pilot.beats()
        listed = [
            list(zip(beats.classes[a:b].tolist(), beats.tied[a:b].tolist(), strict=True))
            for a, b in zip(beats.start[:-1], beats.start[1:], strict=True)
        ]
        assert listed == brute_beats(scores, labels)


def test_reweighting_classes_counts_a_resampled_population():
    rng = np.random.default_rng(12)
    scores = rng.integers(0, 5, (40, 15))
    labels = rng.integers(0, 15, 40)
    weights = rng.integers(0, 4, 15).astype(float)
    losses, ties = Pilot.from_scores(scores, labels, higher_is_better=True).beats().count(weights)
    for i, label in enumerate(labels):
        others = np.arange(15) != label
        assert losses[i] == weights[others & (scores[i] > scores[i, label])].sum()
        assert ties[i] == weights[others & (scores[i] == scores[i, label])].sum()


def test_beats_past_the_budget_are_refused():
    scores = np.random.default_rng(13).normal(size=(50, 20))
    pilot = Pilot.from_scores(scores, np.arange(50) % 20, higher_is_better=True)
    with pytest.raises(UnsupportedError, match="budget"):
        pilot.beats(budget=5 * int(pilot.losses.sum()) - 1)
    assert len(pilot.beats(budget=5 * int(pilot.losses.sum())).classes) == pilot.losses.sum()


@pytest.mark.parametrize("source", ["embeddings", "scores", "leave one out"])
def test_subsets_are_what_only_those_classes_would_have_given(source):
    rng = np.random.default_rng(14)
    rows = rng.integers(-3, 4, size=(90, 3))
    labels = np.repeat(np.arange(30), 3)
    gallery = rng.integers(-3, 4, size=(30, 3))
    kept = rng.choice(30, 11, replace=False)
    inside = np.isin(labels, kept)
    if source == "embeddings":
        pilot = Pilot.from_embeddings(rows, labels, gallery)
        expected = brute.count_embeddings(
            rows[inside],
            labels[inside],
            gallery[np.sort(kept)],
            np.sort(kept).tolist(),
            "euclidean",
        )
    elif source == "scores":
        scores = rows @ gallery.T
        pilot = Pilot.from_scores(scores, labels, higher_is_better=True)
        true = scores[np.arange(90), labels][:, None]
        part = scores[:, np.sort(kept)]
        counts = zip(
            (part > true).sum(axis=1)[inside], (part == true).sum(axis=1)[inside] - 1, strict=True
        )
        expected = [(int(a), int(b)) for a, b in counts]
    else:
        pilot = Pilot.from_embeddings(rows, labels)
        expected = brute.count_embeddings(
            rows[inside], labels[inside], rows[inside], labels[inside].tolist(), "euclidean", True
        )
    from_scores = pilot.subset(kept)
    assert_counts(from_scores, expected)
    pilot.beats()
    from_beats = pilot.subset(kept)
    assert_counts(from_beats, expected)
    assert from_beats.class_names.tolist() == sorted(kept.tolist())
    # The subset of a subset, once by each way, is a subset.
    fewer = np.sort(kept)[:4]
    assert from_scores.subset(fewer).losses.tolist() == from_beats.subset(fewer).losses.tolist()
    assert from_beats.subset(fewer).losses.tolist() == pilot.subset(fewer).losses.tolist()


def test_beats_serve_subsets_without_reading_scores():
    scores = np.random.default_rng(15).normal(size=(30, 10))
    pilot = Pilot.from_scores(scores, np.arange(30) % 10, higher_is_better=True)
    before = pilot.subset([1, 4, 7]).losses.tolist()
    pilot.beats()
    scores[:] = 0.0  # whoever looks at the scores now sees nothing
    assert pilot.subset([1, 4, 7]).losses.tolist() == before


def test_rows_with_bad_values_are_counted_once_each():
    scores = np.ones((5, 4), np.float32)
    scores[1, 2], scores[3, :] = np.nan, np.inf
    with pytest.raises(DataError, match=r"2 of 5 rows hold NaN.*row 1, column 2 is nan"):
        Pilot.from_scores(scores, np.zeros(5, np.int64))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bad_values_are_found_wherever_they_are(order, dtype):
    scores = np.asarray(np.random.default_rng(20).normal(size=(40, 2500)), dtype, order=order)
    labels = np.arange(40)
    true = scores[np.arange(40), labels][:, None]
    clean = Pilot.from_scores(scores, labels, higher_is_better=True)
    assert clean.losses.tolist() == (scores > true).sum(axis=1).tolist()
    assert (clean.ties == 0).all()
    places = {3: 0, 7: 1021, 11: 1022, 12: 2499}  # around the ends of a stretch of counters
    for value, (row, column) in zip((np.nan, np.inf, -np.inf, np.nan), places.items(), strict=True):
        flawed = scores.copy(order="K")
        flawed[row, column] = value
        words = f"1 of 40 rows holds NaN.*row {row}, column {column} is {value}"
        with pytest.raises(DataError, match=words):
            Pilot.from_scores(flawed, labels)
