"""Few ranks are summed, many taken from a beta function: both say the same."""

import numpy as np
import pytest

from headcount import Favorability
from headcount.metrics import Top, resolve_metric, top

K = np.array([1, 2, 5, 6, 60, 99, 100, 101, 5000, 10**9, 10**15])
P = np.concatenate([[0.0], np.geomspace(1e-15, 1.0, 60)])


@pytest.mark.parametrize("m", [2, 5, 99, 100])
def test_a_sum_and_a_beta_function_agree(m, monkeypatch):
    law = Favorability(P, np.random.default_rng(m).random(len(P)))
    summed, nodes = Top(m).of_law(law, K), Top(m).of_nodes(law.p, K)
    monkeypatch.setattr(top, "FEW", 1)
    np.testing.assert_allclose(summed, Top(m).of_law(law, K), atol=1e-12)
    np.testing.assert_allclose(nodes, Top(m).of_nodes(law.p, K), atol=1e-12)
    np.testing.assert_allclose(nodes @ law.weights, summed, atol=1e-12)
    assert (summed[m >= K] == 1).all() and summed.max() <= 1


def test_millions_of_ranks_need_no_memory():
    law = Favorability([0.5], [1.0])
    metric = resolve_metric("top-999999999")
    assert metric.of_nodes(law.p, np.array([10.0**9, 3e9])).tolist() == [[1.0], [0.0]]
    assert metric.of_law(law, [10**9, 3 * 10**9]).tolist() == [1.0, 0.0]
