"""Sources of classes: reduction, copies, and the contract of their files."""

import ast
import json
import struct

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.app import app
from experiments.sources import build, catalogue, layout, packages, reduction
from experiments.sources.catalogue import HELD_OUT, SOURCES, Source
from experiments.sources.documents import halves, plain
from experiments.sources.functions import names_used
from experiments.sources.gathered import Gathered, sample, without_copies
from experiments.sources.learned import read_matrix
from experiments.sources.letters import is_wanted
from experiments.sources.messages import translations
from experiments.sources.speech import trimmed
from headcount.errors import DataError


def gathered(*pairs):
    return Gathered.of_texts(pairs)


def test_copies_are_dropped_and_near_copies_stay():
    items = gathered(
        ("a", "one"), ("a", "two"), ("b", "ONE "), ("b", "three"), ("c", "four"), ("c", "four"),
        ("d", "fours"), ("d", "five"),
    )  # fmt: skip
    kept = without_copies(items)
    assert list(kept.names) == ["a", "a", "d", "d"]
    assert kept.removed == {
        "repeated_items": 1, "classes_of_one_item": 1, "classes_like_another": 1,
    }  # fmt: skip


def test_a_dropped_class_drops_no_other():
    kept = without_copies(
        gathered(("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "3"), ("c", "4"))
    )
    assert set(kept.names) == {"a", "c"}


def test_a_sample_keeps_its_limits_and_is_the_same_every_time():
    items = gathered(*((name, f"{name}{row}") for name in range(9) for row in range(5)))
    chosen = sample(items, 4, 3, seed=1)
    assert [len(list(filter(name.__eq__, chosen.names))) for name in set(chosen.names)] == [3] * 4
    assert chosen.removed == {"classes_beyond_the_limit": 5, "rows_beyond_the_limit": 8}
    assert chosen.items == sample(items, 4, 3, seed=1).items
    assert chosen.items != sample(items, 4, 3, seed=2).items


def test_scaled_vectors_have_a_root_mean_square_of_one():
    vectors = np.random.default_rng(0).normal(3, 700, (50, 4))
    scaled = layout.scaled(vectors).astype(float)
    assert np.mean(scaled**2) == pytest.approx(1, rel=1e-3)
    np.testing.assert_allclose(scaled * np.sqrt(np.mean(vectors**2)), vectors, rtol=1e-3, atol=1)


def test_classes_that_share_a_vector_are_seen():
    vectors = np.array([[0], [1], [2], [1], [3], [4]], dtype=np.float16)
    labels = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    assert layout.distinct_classes(vectors, labels).tolist() == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("vectors", "labels", "message"),
    [
        (np.eye(4), [0, 0, 1, 2], "two rows"),
        (np.eye(4), [0, 1, 0, 1], "together"),
        (np.eye(4), [1, 1, 2, 2], "number its"),
        (np.eye(4)[[0, 1, 0, 2]], [0, 0, 1, 1], "share"),
        (np.full((4, 2), np.inf), [0, 0, 1, 1], "finite"),
        (np.zeros((4, 65)), [0, 0, 1, 1], "at most 64"),
        (np.eye(4), [0, 0, 1], "for each label"),
        (np.zeros((0, 2)), [], "number its"),
    ],
)
def test_the_contract_is_checked(tmp_path, vectors, labels, message):
    vectors, labels = vectors.astype(np.float16), np.array(labels, dtype=np.int32)
    with pytest.raises(DataError, match=rf"^points\.npz .*{message}"):
        layout.write(tmp_path / "points.npz", vectors, labels, {})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "points.npz", vectors=vectors, labels=labels, recipe="{}")
    with pytest.raises(DataError, match=rf"^points\.npz .*{message}"):
        layout.read(tmp_path / "points.npz")


def test_a_file_that_is_no_source_is_refused(tmp_path):
    path = tmp_path / "scores.npz"
    np.savez(path, scores=np.eye(3), labels=np.arange(3))
    for _ in range(2):
        with pytest.raises(DataError, match=r"^scores\.npz is not the file of a source"):
            layout.read(path)
        path.write_text("label,score\n")
    with pytest.raises(DataError, match="there is no file other"):
        layout.read(tmp_path / "other.npz")


def test_leading_components_keep_distances_of_few_directions():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 90))
    vectors = reduction.leading_components(features, 5)
    distances = [np.linalg.norm(rows[:, None] - rows, axis=2) for rows in (features, vectors)]
    np.testing.assert_allclose(*distances, atol=1e-4)


def test_mixed_components_weigh_all_directions_alike():
    """Every direction is stretched to one size, then only turned: nothing is left to choose."""
    features = np.random.default_rng(0).normal(size=(4000, 6)) * [100, 30, 10, 3, 1, 0.3]
    vectors = reduction.mixed_components(features, columns=6, directions=6)
    leading = reduction.leading_components(features, 6)
    leading = leading / np.linalg.norm(leading, axis=1, keepdims=True)
    leading /= np.sqrt(np.mean(leading**2, axis=0))
    np.testing.assert_allclose(vectors @ vectors.T, leading @ leading.T, rtol=1e-4, atol=1e-3)


def test_words_and_letters_weigh_as_scikit_learn_says():
    texts = ["the cat sat", "the cat sat", "the dogs ran"]
    for features in (reduction.word_features(texts), reduction.letter_features(texts)):
        likeness = (features @ features.T).toarray()
        np.testing.assert_allclose(np.diag(likeness), 1)
        assert likeness[0, 1] == pytest.approx(1)
        assert 0 < likeness[0, 2] < 0.5


def test_pixels_are_means_of_blocks():
    picture = np.zeros((64, 64), dtype=np.uint8)
    picture[:2, :2] = [[255, 0], [0, 255]]
    (grey,) = reduction.pixels([picture])
    assert grey.shape == (1024,)
    assert grey[0] == pytest.approx(0.5)
    assert grey[1:].max() == 0


@pytest.mark.parametrize(("turned", "direction"), [(False, 4), (True, 0)])
def test_edges_are_counted_by_their_direction(turned, direction):
    """A change down the picture has the angle of a right angle, one across it the angle zero."""
    picture = np.zeros((16, 16), dtype=np.uint8)
    picture[:, 8:] = 200
    if not turned:
        picture = picture.T
    (histogram,) = reduction.edge_histograms([np.ascontiguousarray(picture)])
    strength = histogram.reshape(-1, 8).sum(axis=0)
    assert strength.argmax() == direction
    assert strength[direction] == pytest.approx(strength.sum())
    assert np.linalg.norm(histogram) == pytest.approx(1)


def test_filters_of_a_sound_cover_it_with_triangles():
    filters = reduction.mel_filters(16_000, 512)
    assert filters.shape == (26, 257)
    peaks = filters.argmax(axis=1)
    assert (np.diff(peaks) > 0).all()
    covered = filters.sum(axis=0)[peaks[0] + 1 : peaks[-1]]  # between the first and last peak
    np.testing.assert_allclose(covered, 1)


def test_louder_sounds_differ_in_the_first_coefficient_only():
    sound = np.random.default_rng(0).normal(size=8000)
    quiet, loud = (reduction.cepstra(sound * gain, 16_000).reshape(20, 13) for gain in (1, 2))
    np.testing.assert_allclose(loud[:, 0] - quiet[:, 0], 26 * np.log(4), rtol=1e-4)
    np.testing.assert_allclose(loud[:, 1:], quiet[:, 1:], atol=1e-3)


def test_silence_is_cut_off():
    sound = np.array([0, 3, 500, 0, -700, 0, 0], dtype=np.int16)
    assert trimmed(sound).tolist() == [500, 0, -700]
    assert trimmed(np.zeros(5, dtype=np.int16)).tolist() == [0] * 5


def test_halves_of_a_text_and_texts_too_short_for_it():
    text = " ".join(map(str, range(10)))
    assert halves("t", text, fewest=4, most=6) == [("t", "0 1 2"), ("t", "3 4 5")]
    assert halves("t", text, fewest=11) == []


def test_a_manual_page_loses_its_commands():
    page = '.\\" a comment\n.SH NAME\n\\fBls\\fR \\- list files\n.so man1/dir.1'
    assert plain(page).split() == ["NAME", "ls", "-", "list", "files"]


def test_names_in_a_function_without_its_docstring():
    (function,) = ast.parse(
        'def f(x):\n    "Say it."\n    return np.sum(x_all, key="Two words")\n'
    ).body
    assert sorted(names_used(function)) == ["Two", "all", "key", "np", "sum", "words"]


def test_what_is_set_aside_for_judging_is_not_drawn():
    assert all(map(is_wanted, "aЖषΩヿ9+"))
    assert not any(map(is_wanted, "漢한త㈱⼀🀄. "))


def test_translations_are_read_in_either_byte_order(tmp_path):
    texts = [(b"", b"header"), (b"one", "één".encode()), (b"p\0q", b"r")]
    for order in "<>":
        table, body, start = [], b"", 28 + 16 * len(texts)
        for column in (0, 1):
            for pair in texts:
                table += [len(pair[column]), start + len(body)]
                body += pair[column] + b"\0"
        head = [0x950412DE, 0, len(texts), 28, 28 + 8 * len(texts), 0, 0]
        path = tmp_path / "program.mo"
        path.write_bytes(struct.pack(f"{order}{7 + len(table)}I", *head, *table) + body)
        assert translations(path) == [("one", "één")]


def made_up(_packages):
    """Gather: a class is a number, its items are its name with an ending."""
    texts = [(n, f"number {n * 7919} {ending}") for n in range(70) for ending in ("one", "two")]
    return Gathered.of_texts(texts)


MADE_UP = Source(made_up, reduction.letter_features, "text", classes=50)


def test_a_source_is_written_by_the_contract_and_again_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "SOURCES", {"made_up": MADE_UP})
    paths = [tmp_path / folder / "made_up.npz" for folder in "ab"]
    for path in paths:
        answer = CliRunner().invoke(app, ["sources", str(path.parent)])
        assert answer.exit_code == 0, answer.output
    files = [np.load(path) for path in paths]
    vectors, labels, recipe = (files[0][name] for name in ("vectors", "labels", "recipe"))
    assert vectors.dtype == np.float16
    assert labels.dtype == np.int32
    assert labels.tolist() == np.repeat(np.arange(50), 2).tolist()
    recipe = json.loads(str(recipe))
    assert recipe["classes"] == 50
    assert recipe["about"].startswith("Gather: a class is a number")
    assert recipe["removed"]["classes_beyond_the_limit"] == 20
    for name in files[0].files:
        np.testing.assert_array_equal(files[0][name], files[1][name])


def test_a_source_that_there_is_not(tmp_path):
    answer = CliRunner().invoke(app, ["sources", str(tmp_path), "--only", "faces"])
    assert "there is no source 'faces'" in str(answer.exception)


def test_classes_that_fall_together_are_dropped():
    def gather(_packages):
        return gathered(("a", "x1"), ("a", "x2"), ("b", "y1"), ("b", "y2"))

    numbers = {"x1": 1.0, "x2": 2.0, "y1": 3.0, "y2": 1.0}
    source = Source(
        gather,
        lambda texts: np.array([[numbers[text], 0] for text in texts]),
        "text",
        reduction=lambda features: features,
    )
    _, labels, removed = build.arrays(gather(None), source, 0)
    assert labels.tolist() == [0, 0]
    assert removed["classes_with_a_vector_of_another"] == 1


def test_held_out_sources_are_three_or_more_and_none_has_a_variant_in_training():
    assert len(HELD_OUT) >= 3
    assert len({SOURCES[name].kind for name in HELD_OUT}) >= 3

    def gatherer(name):
        return getattr(SOURCES[name].gather, "func", SOURCES[name].gather)

    held_out = {gatherer(name) for name in HELD_OUT}
    assert not held_out & {gatherer(name) for name in SOURCES if name not in HELD_OUT}


def test_what_must_be_installed_is_named(monkeypatch):
    monkeypatch.setitem(packages.NEEDED, "no_such_module", "pip install it")
    with pytest.raises(Exception, match="pip install it"):
        packages.needed("no_such_module")
    with pytest.raises(Exception, match="pip install it"):
        packages.library("no_such_module")


def test_a_matrix_of_learned_vectors_is_read(tmp_path):
    matrix = np.arange(6, dtype=np.float16).reshape(2, 3)
    about = {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}
    head = json.dumps({"__metadata__": {}, "embedding": about}).encode()
    path = tmp_path / "weights.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + matrix.tobytes())
    np.testing.assert_array_equal(read_matrix(path), matrix)
