from pathlib import Path

import pytest

import headcount
from headcount.datasets import load_hangul


@pytest.fixture(scope="module")
def hangul():
    return load_hangul()


def test_hangul_is_hard_but_not_hopeless(hangul):
    assert hangul.n_classes == hangul.n_probes == 11_172
    assert hangul.class_names[0] == "가" and hangul.class_names[-1] == "힣"
    assert 0.3 < hangul.summary().accuracy < 0.7


def test_hangul_is_small():
    data = Path(headcount.__file__).parent / "datasets"
    assert (data / "hangul.npz").stat().st_size <= 1_200_000
    assert "licence" in (data / "HANGUL.md").read_text(encoding="utf-8").lower()
