"""Every command answers in the metric that is asked for, its page, too."""

import numpy as np
import pytest

import report_pages
from command_line import read_json
from headcount import forecast
from interval_pilots import gaussian

pytestmark = pytest.mark.filterwarnings("ignore::headcount.ExtrapolationWarning")
OPTIONS = ("--metric", "top-3", "--method", "probit-normal")


@pytest.fixture
def saved(tmp_path):
    pilot = gaussian(60, sigma=0.5)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    np.savez(tmp_path / "p.npz", scores=scores, labels=pilot.labels)
    return tmp_path / "p.npz"


def test_commands_answer_in_the_metric(saved, answer, run):
    top = forecast(saved, classes=[30, 120], metric="top-3", method="probit-normal")
    found = read_json(answer("forecast", saved, "--classes", "30,120", *OPTIONS, "--json"))
    assert found["metric"] == "top-3"
    assert found["forecast"][0]["value"] == pytest.approx(top.value(120), abs=1e-9)
    assert found["forecast"][0]["lower"] == pytest.approx(top.interval(120)[0], abs=1e-9)
    text = answer("forecast", saved, "--classes", "30,120", *OPTIONS)
    assert "top-3 accuracy" in text and "among the best 3" in text
    row = read_json(answer("capacity", saved, "--target", "0.9", *OPTIONS, "--json"))
    assert (row["metric"], row["capacity"][0]["classes"]) == ("top-3", top.capacity(0.9))
    tested = read_json(answer("backtest", saved, *OPTIONS, "--repeats", "2", "--json"))
    assert tested["metric"] == "top-3"
    assert tested["observed"] == pytest.approx(top.backtest.observed)
    code, out, _ = run(
        "gate", saved, "--classes", "120", "--min", top.interval(120)[0] - 1e-6, *OPTIONS,
        "--allow-extrapolation", "--json",
    )  # fmt: skip
    assert (code, read_json(out)["metric"]) == (0, "top-3")


def test_a_comparison_has_a_page_in_the_metric(run, tmp_path):
    files = [
        report_pages.write_npz(tmp_path / f"{name}.npz", s) for name, s in (("a", 0.5), ("b", 0.7))
    ]
    out = tmp_path / "out.html"
    assert run("compare", *files, "--classes", "200", *OPTIONS, "--report", out)[0] == 0
    text = out.read_text(encoding="utf-8")
    assert "--metric top-3" in text
    assert report_pages.embedded(text)["metric"]["label"] == "top-3 accuracy"
