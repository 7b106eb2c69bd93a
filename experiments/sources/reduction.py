"""Texts, pictures and sounds as vectors of at most 64 numbers, fitted on the source itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

COLUMNS = 64
BUCKETS = 2**16  # of hashed words or letters


def leading_components(features: Any, columns: int = COLUMNS, centre: bool = True) -> Any:
    """Return coordinates along the directions of most variance (of most weight, if not centred).

    Sparse features are never centred.
    """
    columns = min(columns, features.shape[1])
    if sparse.issparse(features):
        return TruncatedSVD(columns, n_iter=4, random_state=0).fit_transform(features)
    features = np.asarray(features, dtype=np.float32)
    if centre:
        features = features - features.mean(axis=0)
    values, directions = np.linalg.eigh(features.T @ features)
    return features @ directions[:, np.argsort(-values)[:columns]]


def mixed_components(features: Any, columns: int = COLUMNS, directions: int = 256) -> Any:
    """Return random mixtures of the leading directions, each of which weighs as much as another.

    Words need many more directions than letters do: the first of them only tell topics apart. A
    random projection keeps the distances between all of them roughly.
    """
    leading = leading_components(features, directions)
    leading = leading / np.maximum(np.linalg.norm(leading, axis=1, keepdims=True), 1e-9)
    leading /= np.maximum(np.sqrt(np.mean(leading**2, axis=0)), 1e-9)
    mixing = np.random.default_rng(0).standard_normal((leading.shape[1], columns))
    return leading @ np.linalg.qr(mixing)[0]


def word_features(texts: list[str]) -> Any:
    """Return tf-idf of hashed words."""
    return _weighted(texts, analyzer="word", token_pattern=r"(?u)\w\w+", lowercase=True)


def letter_features(texts: list[str]) -> Any:
    """Return tf-idf of hashed runs of 2 to 4 letters inside words."""
    return _weighted(texts, analyzer="char_wb", ngram_range=(2, 4), lowercase=True)


def _weighted(texts: list[str], **how: Any) -> Any:
    counts = HashingVectorizer(n_features=BUCKETS, alternate_sign=False, norm=None, **how)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts.transform(texts))


def pixels(pictures: list[NDArray[np.uint8]], side: int = 32) -> NDArray[np.float32]:
    """Return grey values of pictures, each shrunk to `side` rows by averaging blocks."""
    stack = np.stack(pictures).astype(np.float32) / 255
    block = stack.shape[1] // side
    n, height, width = stack.shape
    shrunk = stack.reshape(n, height // block, block, width // block, block).mean(axis=(2, 4))
    return np.asarray(shrunk.reshape(n, -1))


def edge_histograms(
    pictures: list[NDArray[np.uint8]], cell: int = 8, directions: int = 8
) -> NDArray[np.float32]:
    """Return histograms of oriented gradients (HOG): one a cell, each picture of length one.

    The direction is that of an edge, without its sign; each gradient is shared between the two
    nearest directions.
    """
    rows = []
    for start in range(0, len(pictures), 512):
        stack = np.stack(pictures[start : start + 512]).astype(np.float32) / 255
        down, right = np.gradient(stack, axis=(1, 2))
        strength = np.hypot(down, right)
        place = np.mod(np.arctan2(down, right), np.pi) * (directions / np.pi)
        low = np.floor(place).astype(int)
        share = place - low
        n, height, width = stack.shape
        histograms = np.zeros((n, height // cell, width // cell, directions), dtype=np.float32)
        for direction in range(directions):
            weight = strength * (
                (low % directions == direction) * (1 - share)
                + ((low + 1) % directions == direction) * share
            )
            cells = weight.reshape(n, height // cell, cell, width // cell, cell)
            histograms[..., direction] = cells.sum(axis=(2, 4))
        flat = np.sqrt(histograms.reshape(n, -1))
        rows.append(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-6))
    return np.concatenate(rows)


def cepstra(
    sound: NDArray[Any], rate: int, frames: int = 20, coefficients: int = 13
) -> NDArray[np.float32]:
    """Return mel-frequency cepstral coefficients (MFCC) at `frames` times spread over a sound."""
    width, step = int(0.032 * rate), int(0.01 * rate)
    sound = np.pad(np.asarray(sound, dtype=np.float32), (0, max(0, width - len(sound))))
    windows = np.lib.stride_tricks.sliding_window_view(sound, width)[::step]
    power = np.abs(np.fft.rfft(windows * np.hanning(width), axis=1)) ** 2
    log_energy = np.log(power @ mel_filters(rate, width).T + 1e-8)
    bands = log_energy.shape[1]
    angles = np.pi * np.outer(np.arange(coefficients), np.arange(bands) + 0.5) / bands
    cepstrum = log_energy @ np.cos(angles).T
    times = np.linspace(0, len(cepstrum) - 1, frames)
    low = np.floor(times).astype(int)
    high = np.minimum(low + 1, len(cepstrum) - 1)
    share = (times - low)[:, None]
    return np.asarray(
        cepstrum[low] * (1 - share) + cepstrum[high] * share, dtype=np.float32
    ).ravel()


def mel_filters(rate: int, width: int, bands: int = 26) -> NDArray[np.float64]:
    """Return triangular filters with equal distances on the mel scale, one a row."""
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    frequencies = np.fft.rfftfreq(width, 1 / rate)
    rising = (frequencies - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequencies) / (edges[2:] - edges[1:-1])[:, None]
    return np.clip(np.minimum(rising, falling), 0, None)
