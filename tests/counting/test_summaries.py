"""Pieces: what is kept of each probe's scores."""

import numpy as np
import pytest

from headcount import Pilot


@pytest.mark.parametrize("n_classes", [2, 3, 4, 9])
def test_pieces_of_few_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    scores, labels = rng.normal(size=(20, n_classes)), np.arange(20) % n_classes
    levels = np.array([0.0, 0.05, 0.3, 0.5, 0.99, 1.0])
    pieces = Pilot.from_scores(scores, labels, higher_is_better=True).pieces(5, levels)
    impostors = np.array([np.delete(row, own) for row, own in zip(scores, labels, strict=True)])
    assert pieces.true.tolist() == scores[np.arange(20), labels].tolist()
    assert pieces.top.tolist() == np.sort(impostors, axis=1)[:, ::-1][:, :5].tolist()
    assert pieces.levels.tolist() == levels.tolist()
    np.testing.assert_allclose(pieces.mean, impostors.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        pieces.quantiles, np.quantile(impostors, levels, axis=1).T, rtol=1e-12
    )
    spread = impostors.std(axis=1, ddof=1) if n_classes > 2 else np.zeros(20)
    np.testing.assert_allclose(pieces.spread, spread, rtol=1e-12)
