"""What the pages say can be run, runs; and prints what the pages say it prints."""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import headcount
from headcount.support.words import percent

DOCS = Path(__file__).parents[3] / "docs"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [(kind, body) for kind, body in FENCED.findall(text)]


def run_python(code: str, names: dict[str, object]) -> str:
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(code, "<page>", "exec"), names)
    return said.getvalue()


def run_command(line: str) -> str:
    program, *rest = shlex.split(line.removeprefix("$ "))
    assert program == "headcount"
    wide = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "headcount", *rest]
    return subprocess.run(command, capture_output=True, text=True, env=wide, check=True).stdout


PAGES = ["quickstart.md", "concepts.md", "metrics.md", "mix.md", "own-method.md", "training.md"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = ""
    shown = 0
    for kind, body in blocks(page):
        named = re.match(r"# (\w+\.py)\n", body)  # a block that is a file
        if named is not None:
            (tmp_path / named[1]).write_text(body, encoding="utf-8")
        if kind == "python":
            assert not said, f"{page} does not show what was printed: {said}"
            said = run_python(body, names)
        elif kind == "console":
            assert not said, f"{page} does not show what was printed: {said}"
            said = run_command(body.strip())
        elif kind == "text":
            assert said.rstrip() == body.rstrip()
            said, shown = "", shown + 1
    assert not said
    assert shown


def test_the_first_picture_is_described_as_it_is() -> None:
    """README.md and docs/index.md draw the forecast of `headcount demo` beside the truth."""
    everything = headcount.datasets.load_hangul()
    drawn = np.random.default_rng(0).choice(everything.class_names, 500, replace=False)
    last, truth = everything.n_classes, headcount.observe(everything)
    with pytest.warns(headcount.ExtrapolationWarning):
        made = headcount.forecast(everything.subset(drawn), classes=last)
    k = np.unique(np.geomspace(500, last, 60).astype(int))
    _, upper = made.interval(k)
    above = truth.accuracy(k) - upper
    assert (above > 0).mean() > 0.5 and np.abs(above).max() < 0.05
    low, high = (percent(float(limit)) for limit in made.interval(last))
    words = (
        "Accuracy against classes. Measured: from nearly 100% at 2 classes to "
        f"{percent(float(made.accuracy(500)))} at 500, the pilot. Forecast: on to "
        f"{percent(float(made.accuracy(last)))} at {last:,}, with a band from {low} to {high}. "
        "Truth: a line along the upper edge of the band, mostly just above it, to "
        f"{percent(float(truth.accuracy(last)))} at {last:,}."
    )
    assert f"![{words}](docs/demo.png)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert (DOCS / "index.md").read_text(encoding="utf-8").count(f":alt: {words}\n") == 2
