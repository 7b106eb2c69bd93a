"""Texts as means of learned vectors of their pieces."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.sources.functions import docstrings
from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages, needed

LEARNED = "wordllama"
LIBRARIES = ("astropy", "matplotlib", "pandas", "scikit-learn", "scipy", "xarray")


def docstring_vectors(packages: Packages) -> Gathered:
    """Gather: a class is a function, its items are learned vectors of its docstring's halves."""
    folder = packages.python(LEARNED)
    (weights,) = folder.rglob("l2_supercat_256.safetensors")
    (pieces,) = folder.rglob("l2_supercat_tokenizer_config.json")
    vectors = read_matrix(weights)
    tokenizer = needed("tokenizers").Tokenizer.from_file(str(pieces))
    packages.installed("PyPI", "tokenizers")
    texts = docstrings(packages, LIBRARIES)
    return Gathered(
        texts.names, [_mean(text, tokenizer, vectors) for text in texts.items], texts.keys, {}
    )


def read_matrix(path: Path) -> NDArray[np.floating[Any]]:
    """Read a safetensors file that has one matrix."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + size])
    (about,) = (part for name, part in head.items() if name != "__metadata__")
    kind = {"F16": np.float16, "F32": np.float32}[about["dtype"]]
    start, end = about["data_offsets"]
    numbers = np.frombuffer(content[8 + size + start : 8 + size + end], dtype=kind)
    return numbers.reshape(about["shape"])


def _mean(text: str, tokenizer: Any, vectors: NDArray[Any]) -> NDArray[np.float32]:
    pieces: Sequence[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return np.asarray(vectors[list(pieces)].astype(np.float32).mean(axis=0))
