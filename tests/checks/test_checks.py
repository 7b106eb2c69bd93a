"""The table of checks, and the checks of counts, scores and fits: each raised and not raised."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import headcount
from check_pilots import findings, scores
from headcount import Favorability, Forecast, Pilot, forecast, observe
from headcount.checks import CHECKS, Check, run_checks
from headcount.checks.advice import ADVICE
from headcount.metrics import resolve_metric

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"


# -- the table ----------------------------------------------------------------------------------


def test_codes_are_in_order_and_severities_known():
    assert list(CHECKS) == [f"HC{i:03d}" for i in range(1, len(CHECKS) + 1)]
    assert {entry.severity for entry in CHECKS.values()} == {"info", "warning", "error"}
    assert len({entry.title for entry in CHECKS.values()}) == len(CHECKS)


def test_the_page_has_one_section_for_each_check():
    text = PAGE.read_text(encoding="utf-8")
    sections = re.findall(r"^## (HC\d+)\n\n\*\*(.+?)\*\* \((\w+)\)", text, flags=re.M)
    assert sections == [(e.code, e.title, e.severity) for e in CHECKS.values()]
    assert re.findall(r"^## (\S+)", text, flags=re.M) == list(CHECKS)  # a heading is an anchor
    for part in ("What it means", "Why it matters", "What to do"):
        assert text.count(f"*{part}.*") == len(CHECKS)


def test_a_check_is_plain_data_and_survives_json():
    pilot = Pilot.from_losses([0] * 70 + [1] * 20 + [2] * 10, n_classes=10)
    result = forecast(pilot, classes=20, intervals=False)
    check = result.checks[0]
    assert check.to_dict() == {
        "code": "HC001",
        "severity": "warning",
        "message": check.message,
        "anchor": "checks.md#hc001",
        "advice": ADVICE["HC001"],
    }
    assert Forecast.from_json(result.to_json()).checks == result.checks


def test_a_healthy_pilot_has_nothing_to_report():
    assert findings(Pilot.from_scores(*scores())) == {}


def test_nothing_depends_on_the_order_of_the_data_or_the_sign_of_scores():
    """A pilot on which half of all checks speak, turned around in every way."""
    values, labels = scores(n_classes=30, per_class=8, n_dims=3)
    values = values.round(0)
    values[:, 1] = values[:, 0]
    values[:, 2] += 20
    names, groups = np.array([f"c{i}" for i in range(30)]), np.arange(30) // 10
    lost = (values > values[np.arange(len(labels)), labels][:, None]).sum(axis=1)
    order = lost.reshape(30, 8).mean(axis=1)  # the hardest last
    about = {"groups": groups, "order": order}
    first = findings(Pilot.from_scores(values, names[labels], class_names=names, **about))
    assert {"HC003", "HC008", "HC020"} <= set(first)
    rng = np.random.default_rng(4)
    rows, columns = rng.permutation(len(values)), rng.permutation(30)
    turned = Pilot.from_scores(
        -values[rows][:, columns],
        names[labels[rows]],
        class_names=names[columns],
        higher_is_better=False,
        groups=groups[columns],
        order=order[columns],
    )
    assert findings(turned) == first


def test_a_million_classes_without_scores_are_no_problem():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, 20, 1000)
    pilot = Pilot.from_losses(losses, 1_000_000, labels=np.arange(1000))
    assert set(findings(pilot)) <= {"HC010"}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("level", [-5.0, 0.0, 5.0])
def test_the_smallest_pilots_pass_through(n_classes, level):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n_classes, n_classes)) + level * np.eye(n_classes)
    pilot = Pilot.from_scores(values, np.arange(n_classes), higher_is_better=True)
    codes = [c.code for c in run_checks(pilot, observe(pilot), Favorability([0.1], [1.0]))]
    assert codes[:2] == ["HC001", "HC002"]


def test_names_from_files_cannot_spoil_the_terminal():
    values, labels = scores(n_classes=30)
    values[:, 3] += 40
    names = np.array([f"c{i}" for i in range(30)], dtype="<U90")
    names[3] = "x\x1b[31m" + "y" * 80
    message = findings(Pilot.from_scores(values, labels, class_names=names))["HC008"]
    assert "\x1b" not in message and "y" * 40 not in message and "x?[31m" in message


# -- counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "raised"), [(19, True), (20, False)])
def test_too_few_classes(n_classes, raised):
    pilot = Pilot.from_losses([0] * 80 + [1] * 20, n_classes=n_classes)
    assert ("HC001" in findings(pilot)) == raised


@pytest.mark.parametrize(("n_probes", "raised"), [(49, True), (50, False)])
def test_too_few_probes(n_probes, raised):
    losses = [0] * (n_probes - 10) + [1] * 10
    assert ("HC002" in findings(Pilot.from_losses(losses, n_classes=100))) == raised


def test_probes_count_as_much_as_they_weigh():
    """30 classes of one probe and one of 170: 200 probes that are worth about 32."""
    labels = [*range(30), *[30] * 170]
    losses = np.arange(200) % 4 // 3
    message = findings(Pilot.from_losses(losses, n_classes=100, labels=labels))["HC002"]
    assert "worth about 32 " in message  # 1 / (30 / 31^2 + 170 / (31 * 170)^2)
    assert "HC002" not in findings(
        Pilot.from_losses(losses, n_classes=100, labels=labels, average="micro")
    )


@pytest.mark.parametrize("coarse", [4.0, 0.5])
def test_heavy_ties(coarse):
    """The gap named is that of the two other tie rules."""
    values, labels = scores(n_dims=4)
    values = (values / coarse).round()
    message = findings(Pilot.from_scores(values, labels)).get("HC003", "")
    gaps = {}
    for k in (2, 60):
        won, lost = (
            float(observe(Pilot.from_scores(values, labels, tie_rule=rule)).accuracy(k))
            for rule in ("win", "lose")
        )
        gaps[k] = won - lost
    k = max(gaps, key=lambda k: gaps[k])
    assert gaps[k] > 0.05
    assert f"among {k} classes" in message and f"{100 * gaps[k]:.0f} points" in message


def test_a_few_ties_do_no_harm():
    values, labels = scores()
    pilot = Pilot.from_scores(values.round(1), labels)
    assert 0 < (pilot.ties > 0).mean() < 0.05
    assert "HC003" not in findings(pilot)


def test_ties_far_from_the_top_count_too():
    """Votes: losers have none, and tie with each other; the top is decided by few ties."""
    rng = np.random.default_rng(0)
    losses, ties = np.zeros((2, 200), int)
    losses[rng.choice(200, 40, replace=False)] = 3
    ties[losses == 3] = 90
    assert "among 2 classes" in findings(Pilot.from_losses(losses, 100, ties=ties))["HC003"]


def test_all_right_or_none_right():
    law = Favorability([0.01], [1.0])

    def message(losses):
        pilot = Pilot.from_losses(losses, n_classes=40)
        checks = {c.code: c for c in run_checks(pilot, observe(pilot), law)}
        return checks["HC004"].message if "HC004" in checks else None

    assert "all probes find the right class" in message([0] * 100)
    assert "no probe finds the right class" in message([1] * 50 + [9] * 50)
    assert message([0] * 99 + [1]) is None
    assert message([1] * 99 + [0]) is None


def test_a_perfect_pilot_by_macro_average_is_seen_in_spite_of_round_off():
    labels = np.repeat(np.arange(30), np.arange(30) % 7 + 3)
    pilot = Pilot.from_losses(np.zeros(len(labels), int), 30, labels=labels)
    found_ = run_checks(pilot, observe(pilot), Favorability([0.0], [1.0]))
    assert "HC004" in [check.code for check in found_]


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_unbalanced_probes(average):
    rng = np.random.default_rng(2)

    def codes(counts):
        labels = np.repeat(np.arange(len(counts)), counts)
        losses = rng.binomial(3, 0.2, len(labels))
        return findings(Pilot.from_losses(losses, 100, labels=labels, average=average))

    one_photo_each = codes([1] * 90 + [100] * 3)
    assert "from 1 to 100 probes" in one_photo_each["HC006"]
    assert "HC006" not in codes([5] * 80)
    assert "HC006" not in codes(list(rng.integers(3, 8, 80)))


def test_how_much_imbalance_costs():
    """Half the classes have 1 probe, half 9: the variance is that of mean 5 / harmonic mean 1.8."""
    labels = np.repeat(np.arange(100), [1, 9] * 50)
    losses = np.arange(500) % 5 // 4
    message = findings(Pilot.from_losses(losses, 100, labels=labels))["HC006"]
    assert "500 probes are worth only about 180 evenly" in message
    labels = np.repeat(np.arange(60), [1, 1, 97] * 20)
    losses = np.arange(len(labels)) % 5 // 4
    message = findings(Pilot.from_losses(losses, 100, labels=labels, average="micro"))["HC006"]
    # 1,980^2 / (20 * (1 + 1 + 97^2)) = 20.8
    assert "60 classes are worth only about 21 equal" in message


def censored(accuracy, depth, n_probes=400, exact=0.0):
    """A share is right; the others are known to `depth` losses, a share of them exactly."""
    n_wrong = round(n_probes * (1 - accuracy))
    losses = np.concatenate([np.zeros(n_probes - n_wrong, int), np.full(n_wrong, depth)])
    cut = np.zeros(n_probes, bool)
    cut[n_probes - n_wrong + round(exact * n_wrong) :] = True
    return Pilot.from_losses(losses, 1000, censored=cut)


@pytest.mark.parametrize(
    ("accuracy", "depth", "exact", "raised"),
    [
        (0.95, 1, 0.0, True),  # the first place alone
        (0.3, 1, 0.5, True),  # 35% of probes are known to be wrong, and no more
        (0.95, 1, 0.9, False),  # nearly all known
        (0.7, 10, 0.0, False),  # ten places are plenty
        (0.3, 2, 0.0, True),
    ],
)
def test_lists_cut_too_early(accuracy, depth, exact, raised):
    pilot = censored(accuracy, depth, exact=exact)
    checks = run_checks(pilot, observe(pilot), Favorability([0.001], [1.0]))
    assert ("HC016" in [check.code for check in checks]) == raised


# -- where users meet them ----------------------------------------------------------------------


def test_the_command_line_lists_code_and_sentence(run, npz):
    values, labels = scores(n_classes=30)
    values[:, 3] += 40
    path = npz(scores=values, labels=labels, higher_is_better=True)
    code, out, err = run("forecast", path, "--classes", "60")
    assert code == 0 and "classes" in out
    assert "headcount: warning HC008: 1 class scores high whatever is shown (3 beats" in err
    code, out, _ = run("forecast", path, "--classes", "60", "--json")
    # No problem that the default learned from has such a class.
    codes = {c["code"] for c in json.loads(out)["checks"]}
    assert codes - {"HC010", "HC011"} == {"HC008", "HC019"}
    assert json.loads(out)["checks"][0]["anchor"] == "checks.md#hc008"


def test_check_is_public_enough():
    assert Check("HC001", "warning", "x.").anchor == "checks.md#hc001"
    assert headcount.checks.CHECKS["HC010"].severity == "warning"


# -- several relevant documents -------------------------------------------------------------------


def test_it_is_said_which_relevant_documents_a_metric_looks_at():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 3.0, "b": 2.0, "c": 1.0}}
    several = Pilot.from_run(run, {"q": {"a": 1, "c": 1}, "r": {"b": 1}}, n_classes=30)
    single = Pilot.from_run(run, {"q": {"a": 1}, "r": {"b": 1}}, n_classes=30)
    law = Favorability([0.1], [1.0])

    def said(pilot, name):
        found = run_checks(pilot, observe(pilot), law, metric=resolve_metric(name))
        return [check.message for check in found if check.code == "HC024"]

    for name, words in {
        "recall@5": "recall@5 looks at all of them (top-m and mrr look at the best one)",
        "top-5": "top-5 accuracy looks at the best one (recall, ndcg and map look at all)",
    }.items():
        (message,) = said(several, name)
        assert message.startswith("queries have 1 to 2 relevant documents, and ")
        assert words in message and "join are taken to be relevant to no query" in message
        assert said(single, name) == []
