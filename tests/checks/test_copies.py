"""The check for probes that are compared with themselves: raised, and not raised."""

import numpy as np
import pytest

from check_pilots import findings, healthy, vectors
from headcount import Pilot
from headcount.checks.check_input import CheckInput
from headcount.checks.copies import self_matches
from headcount.pilot.loading import pilot_from_neighbours

SIMILARITIES = ("euclidean", "cosine", "dot")


def look(pilot):
    """The sentence of this check alone, which needs neither a fit nor an observed curve."""
    return self_matches(CheckInput(pilot, None, None))


def enrolled(share=2, change=lambda rows: rows, **options):
    """Probes and a gallery that also holds every `share`-th probe, changed."""
    probes, labels, centres = vectors(**options)
    gallery = np.concatenate([centres, change(probes[::share])])
    return probes, labels, gallery, np.concatenate([np.arange(len(centres)), labels[::share]])


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_probes_that_are_enrolled_are_counted(similarity):
    said = look(Pilot.from_embeddings(*enrolled(), similarity=similarity))
    assert said.startswith("240 of 480 probes have a copy of themselves among the vectors of their")


def test_users_meet_it_with_its_code_and_the_accuracy_of_the_others():
    probes, labels, gallery, gallery_labels = enrolled(sigma=1.0)
    pilot = Pilot.from_embeddings(probes, labels, gallery, gallery_labels)
    said = findings(pilot)["HC021"]
    kept = np.arange(len(probes)) % 2 == 1
    alone = pilot.keep_probes(kept)
    assert pilot.summary().accuracy > 1.3 * alone.summary().accuracy  # what the check is about
    assert f"the others are right {alone.summary().accuracy:.0%} of the time" in said
    assert "HC021" not in findings(alone)
    assert "HC021" not in findings(Pilot.from_embeddings(*vectors(sigma=1.0)))


def test_a_gallery_of_all_probes_is_seen():
    probes, labels, _ = vectors()
    said = look(Pilot.from_embeddings(probes, labels, probes, labels))
    assert said.startswith("480 of 480 probes")


def test_copies_saved_with_fewer_digits_or_rescaled_are_copies():
    single = enrolled(change=lambda rows: rows.astype(np.float32).astype(np.float64))
    assert look(Pilot.from_embeddings(*single)).startswith("240 of 480")
    longer = enrolled(change=lambda rows: (7.3 * rows).astype(np.float32))
    assert look(Pilot.from_embeddings(*longer, similarity="cosine")).startswith("240 of 480")
    assert look(Pilot.from_embeddings(*longer, similarity="euclidean")) is None  # another vector


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_leaving_one_out_is_no_self_match_but_copies_in_the_set_are(similarity):
    probes, labels, _ = vectors()
    assert look(Pilot.from_embeddings(probes, labels, similarity=similarity)) is None
    twice = np.concatenate([probes, probes[:50]]), np.concatenate([labels, labels[:50]])
    said = look(Pilot.from_embeddings(*twice, similarity=similarity))
    assert said.startswith("100 of 530 probes")
    thrice = np.concatenate([probes, probes, probes]), np.concatenate([labels] * 3)
    assert look(Pilot.from_embeddings(*thrice, similarity=similarity)).startswith("1,440 of 1,440")
    other = np.concatenate([probes, probes[:50]]), np.concatenate([labels, labels[:50] + 1])
    assert look(Pilot.from_embeddings(*other, similarity=similarity)) is None  # under another label


def test_one_in_a_hundred_is_enough_and_fewer_are_not():
    assert look(Pilot.from_embeddings(*enrolled(share=100))).startswith("5 of 480 probes")
    assert look(Pilot.from_embeddings(*enrolled(share=200))) is None


def test_the_answer_does_not_depend_on_order_or_type():
    probes, labels, gallery, owners = enrolled()
    rng = np.random.default_rng(1)
    first, second = rng.permutation(len(probes)), rng.permutation(len(gallery))
    turned = Pilot.from_embeddings(probes[first], labels[first], gallery[second], owners[second])
    assert look(turned) == look(Pilot.from_embeddings(probes, labels, gallery, owners))


def test_a_default_vector_that_many_classes_share_is_no_copy():
    """Where detection fails, all get the same vector: those tie, which other checks say."""
    probes, labels, gallery, owners = enrolled(share=10**6)
    probes[:100] = gallery[:20] = 1.0
    assert look(Pilot.from_embeddings(probes, labels, gallery, owners)) is None
    probes[:100] = gallery[:20] = 0.0
    assert look(Pilot.from_embeddings(probes, labels, gallery, owners, similarity="cosine")) is None


@pytest.mark.parametrize("seed", range(12))
def test_codes_and_whole_numbers_are_equal_without_being_copies(seed):
    rng = np.random.default_rng(seed)
    labels, owners = np.repeat(np.arange(60), 5), np.arange(60)
    n_bits = int(rng.choice([8, 16, 32, 64, 128]))
    codes = rng.integers(0, 2, (60, n_bits))
    seen = codes[labels] ^ (rng.random((300, n_bits)) < rng.uniform(0, 0.05))
    n_dims = int(rng.choice([1, 2, 3, 5]))
    places = rng.integers(0, 100, (60, n_dims))
    near = places[labels] + np.round(rng.normal(0, 0.7, (300, n_dims))).astype(int)
    equal = [(a[labels] == b).all(axis=1).mean() for a, b in ((codes, seen), (places, near))]
    assert max(equal) > 0.01  # there would be something to report
    for gallery, probes in ((codes, seen), (places, near)):
        assert look(Pilot.from_embeddings(probes, labels, gallery, owners)) is None
        assert look(Pilot.from_embeddings(probes, labels)) is None


def test_copies_of_rounded_vectors_are_seen_where_there_are_many_coordinates():
    def rounded(rows):
        return np.round(rows * 20)

    probes, labels, gallery, owners = enrolled(n_dims=32)
    pilot = Pilot.from_embeddings(rounded(probes), labels, rounded(gallery), owners)
    assert look(pilot).startswith("240 of 480")
    apart = Pilot.from_embeddings(rounded(probes), labels, rounded(gallery[:60]), owners[:60])
    assert look(apart) is None


# -- score matrices --------------------------------------------------------------------------------


def best_of(values, owners, best):
    return np.stack([best(values[:, owners == c], axis=1) for c in range(owners.max() + 1)], axis=1)


def distances(probes, labels, gallery, owners):
    apart = np.sqrt(np.square(probes[:, None] - gallery).sum(axis=2))
    return best_of(apart, owners, np.min)


def cosines(probes, labels, gallery, owners):
    one, two = (v / np.linalg.norm(v, axis=1)[:, None] for v in (probes, gallery))
    return best_of(one.astype(np.float32) @ two.astype(np.float32).T, owners, np.max)


def negated(make):
    return lambda *parts: -make(*parts)


def from_products(probes, labels, gallery, owners):
    """Distances with the round-off of products, which leaves hardly a nought."""
    squares = np.square(probes).sum(axis=1)[:, None] + np.square(gallery).sum(axis=1)
    return best_of(np.sqrt(np.abs(squares - 2 * probes @ gallery.T)), owners, np.min)


def cosine_distances(*parts):
    return 1 - cosines(*parts)


@pytest.mark.parametrize(
    "make, higher",
    [
        (distances, False), (cosines, True), (from_products, False), (cosine_distances, False),
        (negated(distances), True), (negated(cosines), False), (negated(from_products), True),
    ],
)  # fmt: skip
def test_perfect_scores_are_counted(make, higher):
    parts = enrolled(n_dims=20, sigma=1.0)
    said = look(Pilot.from_scores(make(*parts), parts[1], higher_is_better=higher))
    assert said.startswith("240 of 480 probes score with their own class as only a thing compared")
    parts = enrolled(n_dims=20, sigma=1.0, share=10**6)
    values = make(*parts)[1:]
    assert look(Pilot.from_scores(values, parts[1][1:], higher_is_better=higher)) is None


@pytest.mark.parametrize("seed", range(20))
def test_scores_that_reach_their_best_value_are_no_self_matches(seed):
    pilot = healthy(seed)
    raw = np.concatenate([block for _, block in pilot.score_blocks()])
    raw = (raw - raw.mean()) / raw.std()
    power = np.exp(20 * (raw - raw.max(axis=1, keepdims=True)))
    shares = power / power.sum(axis=1, keepdims=True)
    kinds = {
        "raw": raw,
        "scaled": (raw - raw.min()) / np.ptp(raw),
        "capped": np.clip(raw / 2, 0, 1),
        "capped on both sides": np.clip(raw, -1, 1),
        "sigmoid": (1 / (1 + np.exp(-8 * raw))).astype(np.float32),
        "softmax": shares.astype(np.float32),
        "votes": np.round(10 * shares) / 10,
        "log-probabilities": np.log(shares + 1e-300),
    }
    for kind, values in kinds.items():
        for sign in (1, -1):
            made = Pilot.from_scores(sign * values, pilot.labels, higher_is_better=sign > 0)
            assert look(made) is None, kind
    away = Pilot.from_scores(1 - shares, pilot.labels, higher_is_better=False)
    assert look(away) is None


@pytest.mark.parametrize("sharpness", [1, 20, 500])
@pytest.mark.parametrize("seed", range(5))
def test_easy_probes_among_hopeless_ones_are_no_self_matches(seed, sharpness):
    rng = np.random.default_rng(seed)
    labels = np.arange(400) % 40
    raw = rng.normal(size=(400, 40))
    raw[np.arange(400), labels] += np.where(rng.random(400) < 0.6, 20, 0)
    power = np.exp(sharpness * (raw - raw.max(axis=1, keepdims=True)))
    shares = power / power.sum(axis=1, keepdims=True)
    for values in (shares, shares.astype(np.float32), shares - 1, np.log(shares + 1e-300)):
        assert look(Pilot.from_scores(values, labels, higher_is_better=True)) is None


# -- neighbour lists -------------------------------------------------------------------------------


def lists(values, parts, higher):
    """The best ten of all gallery rows, as an index returns them."""
    ids = np.argsort(-values if higher else values, axis=1)[:, :10]
    near = np.take_along_axis(values, ids, axis=1)
    _, labels, _, owners = parts
    return pilot_from_neighbours(
        ids, near, labels, 60, gallery_labels=owners, higher_is_better=higher
    )


def test_neighbours_at_no_distance_are_counted():
    for share in (2, 10**6):
        parts = probes, _, gallery, _ = enrolled(n_dims=20, sigma=1.0, share=share)
        apart = np.square(probes[1:, None] - gallery).sum(axis=2)
        one, two = (v / np.linalg.norm(v, axis=1)[:, None] for v in (probes[1:], gallery))
        parts = (parts[0][1:], parts[1][1:], *parts[2:])
        for values, higher in ((apart, False), (one @ two.T, True)):
            pilot = lists(values, parts, higher)
            said = look(pilot)
            assert said is None if share > 2 else said.startswith("239 of 479 probes score with")
            kept = pilot.keep_probes(np.arange(0, 479, 2))  # those that are not enrolled
            assert look(kept) is None


def test_counts_alone_cannot_tell():
    assert look(Pilot.from_losses([0] * 50 + [1] * 50, 20)) is None
