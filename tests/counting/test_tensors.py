"""Tensors reach the choice of a source as they are, and give what arrays give."""

import numpy as np
import pytest

from headcount import DataError, Pilot

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(31)
N_PROBES, N_CLASSES, N_DIMS = 60, 9, 3
LABELS = RNG.integers(0, N_CLASSES, N_PROBES)
VECTORS = RNG.integers(-3, 4, (N_PROBES, N_DIMS)).astype(np.float64)
GALLERY = RNG.integers(-3, 4, (N_CLASSES, N_DIMS)).astype(np.float64)
SCORES = VECTORS @ GALLERY.T  # whole numbers, full of ties


class Watched(torch.Tensor):
    """A tensor that remembers who asked for its numbers."""

    asked: tuple[str, ...] = ()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", str(function))
        if name in ("cpu", "numpy", "__array__", "tolist", "item", "to"):
            Watched.asked += (name,)
        return super().__torch_function__(function, types, args, kwargs or {})


def watched(values):
    Watched.asked = ()
    return torch.tensor(values).as_subclass(Watched)


def test_no_number_of_a_tensor_is_asked_for_before_the_choice():
    for call, words in (
        (lambda: Pilot.from_scores(watched(SCORES), LABELS[1:]), "59 labels for 60 rows"),
        (lambda: Pilot.from_scores(watched(SCORES), LABELS + 5), "outside the columns"),
        (lambda: Pilot.from_scores(watched(SCORES[:, 0]), LABELS), "rows and columns"),
        (lambda: Pilot.from_scores(watched(SCORES + 0j), LABELS), "their type is torch.complex128"),
        (lambda: Pilot.from_embeddings(watched(VECTORS), LABELS[1:], GALLERY), "for 60 probes"),
        (lambda: Pilot.from_embeddings(watched(VECTORS), LABELS, GALLERY[:, 1:]), "3 dimensions"),
        (lambda: Pilot.from_embeddings(VECTORS, LABELS, watched(GALLERY), [0]), "for 9 gallery"),
        (lambda: Pilot.from_embeddings(watched(VECTORS[:, :0]), LABELS), "no dimensions"),
    ):
        with pytest.raises(DataError, match=words):
            call()
        assert Watched.asked == ()
    Pilot.from_scores(watched(SCORES), LABELS, higher_is_better=True)
    assert Watched.asked.count("cpu") == 1  # the source in use counts on the host


def test_a_tensor_without_numbers_gets_as_far_as_the_choice():
    """On PyTorch's "meta" device a tensor has a shape and a type, and nothing to move."""
    meta = torch.empty((N_PROBES, N_CLASSES), device="meta")
    with pytest.raises(DataError, match="59 labels for 60 rows"):
        Pilot.from_scores(meta, LABELS[1:])
    with pytest.raises(DataError, match="probes and gallery disagree: 9 dimensions against 3"):
        Pilot.from_embeddings(meta, LABELS, GALLERY)
    for call in (
        lambda: Pilot.from_scores(meta, LABELS),
        lambda: Pilot.from_embeddings(meta, LABELS),
    ):
        with pytest.raises(NotImplementedError, match="meta tensor") as refused:
            call()
        assert any("headcount/counting/source.py" in str(entry.path) for entry in refused.traceback)


TYPES = {
    torch.float64: np.float64,
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.bfloat16: np.float32,
    torch.int8: np.int8,
    torch.int64: np.int64,
}


@pytest.mark.parametrize("tensor_type", TYPES, ids=str)
def test_tensors_give_what_arrays_give(tensor_type):
    def both(values):
        tensor = torch.tensor(values).to(tensor_type)
        array = tensor.float() if tensor_type == torch.bfloat16 else tensor
        return tensor, np.asarray(array).astype(TYPES[tensor_type])

    scores, vectors, gallery = both(7 * SCORES), both(3.3 * VECTORS), both(2.7 * GALLERY)
    for tensor, array in (
        [Pilot.from_scores(s, LABELS, higher_is_better=False) for s in scores],
        [Pilot.from_embeddings(v, LABELS, g) for v, g in zip(vectors, gallery, strict=True)],
        [Pilot.from_embeddings(v, LABELS, similarity="cosine") for v in vectors],
    ):
        assert tensor.losses.tolist() == array.losses.tolist()
        assert tensor.ties.tolist() == array.ties.tolist()
        assert tensor.true_scores().tolist() == array.true_scores().tolist()
        assert tensor.pieces().mean.tolist() == array.pieces().mean.tolist()


def test_a_tensor_on_a_tape_is_read_all_the_same():
    scores = torch.tensor(SCORES, requires_grad=True)
    expected = Pilot.from_scores(SCORES, LABELS, higher_is_better=True)
    pilot = Pilot.from_scores(scores, LABELS, higher_is_better=True)
    assert pilot.losses.tolist() == expected.losses.tolist()


def test_bad_numbers_in_a_tensor_are_refused_in_the_same_words():
    scores = torch.tensor(SCORES)
    scores[3, 2] = float("nan")
    with pytest.raises(DataError, match=r"1 of 60 rows holds NaN.*row 3, column 2 is nan"):
        Pilot.from_scores(scores, LABELS)
    vectors = torch.tensor(VECTORS).half()
    vectors[5, 1] = float("inf")
    with pytest.raises(DataError, match=r"probes: 1 of 60 rows.*row 5, column 1 is inf.*float16"):
        Pilot.from_embeddings(vectors, LABELS, GALLERY)
    with pytest.raises(DataError, match=r"gallery: 1 of 60 rows.*row 5, column 1 is inf.*float16"):
        Pilot.from_embeddings(VECTORS, LABELS % 3, vectors)
