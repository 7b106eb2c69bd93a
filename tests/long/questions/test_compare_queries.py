"""Two systems on the same queries: what they share cancels."""

import pytest

from headcount import Pilot, compare
from headcount.display.report.contents import Reproduction
from headcount.display.report.pages.comparison import comparison_contents
from headcount.questions.compare import are_paired
from queries import two_systems

K, PLAIN = 200, "probit-normal"


@pytest.fixture(scope="module")
def runs():
    return two_systems(60, K)


def test_what_systems_share_cancels(runs):
    run, other, qrels = runs
    one, two = (Pilot.from_run(each, qrels, n_classes=K) for each in (run, other))
    assert are_paired(one, two)
    asked = {"classes": 250, "metric": "ndcg@10", "method": PLAIN}
    paired = compare({"a": one, "b": two}, **asked).pair("a", "b")
    renamed = Pilot.from_run(
        {f"x{q}": d for q, d in other.items()},
        {f"x{q}": d for q, d in qrels.items()},
        n_classes=K,
    )
    apart = compare({"a": one, "b": renamed}, **asked).pair("a", "b")
    assert paired.paired and not apart.paired
    for k in (K, 250):
        near, far = paired.at(k), apart.at(k)
        assert near.upper - near.lower < 0.75 * (far.upper - far.lower)
        assert near.difference == pytest.approx(far.difference, abs=1e-9)


def test_a_system_is_level_with_itself(runs):
    run, _, qrels = runs
    pilot = Pilot.from_run(run, qrels, n_classes=K)
    both = compare({"a": pilot, "b": pilot}, classes=250, metric="map", method=PLAIN)
    lead = both.pair("a", "b").at(250)
    assert lead.lower == pytest.approx(0, abs=1e-6) and lead.upper == pytest.approx(0, abs=1e-6)


def test_what_is_shared_is_called_queries(runs):
    run, other, qrels = runs
    pilots = {n: Pilot.from_run(r, qrels, n_classes=K) for n, r in (("a", run), ("b", other))}
    result = compare(pilots, classes=250, metric="mrr", method=PLAIN)
    assert result.shared == "probes"
    said = comparison_contents(result, Reproduction("")).subtitle
    assert said.endswith("on the same probes.")
