"""The stories under examples/ run from beginning to end, and say what they should."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"


def tell(story: str, picture: Path) -> str:
    """Run a story as a reader would, check its picture, and return what it printed."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / story, picture],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    return done.stdout


def percents(line: str) -> list[int]:
    return [int(found) for found in re.findall(r"(\d+)%", line)]


def line_with(text: str, beginning: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(beginning))


def test_characters(tmp_path: Path) -> None:
    said = tell("characters.py", tmp_path / "picture.png")
    for size in ("1,000 ", "2,000 ", "5,000 ", "11,172 "):
        forecast, low, high, truth = percents(line_with(said, size))
        assert low <= forecast <= high
        assert abs(forecast - truth) <= 10  # one pilot, and a low one: 92% where most get 93.5%
    assert low <= truth <= high  # at all of them; one pilot may miss it before, and this one does
    assert truth == 54  # at all 11,172, as HANGUL.md says
    random, first = (percents(line_with(said, name)) for name in ("Random pilot", "First of"))
    assert abs(random[1] - truth) < 15 < abs(first[1] - truth)


def test_find_the_function(tmp_path: Path) -> None:
    said = tell("find_the_function.py", tmp_path / "picture.png")
    # Three of the four packages are always there.
    assert int(said.split()[0].replace(",", "")) > 2_000
    forecast, low, high, truth = percents(
        next(line for line in said.splitlines() if line.startswith("Right") and "truth" in line)
    )
    holds = "holds" if low <= truth <= high else "MISSES"
    assert f"The interval {holds} the truth." in said
    assert abs(forecast - truth) < 15
    ten, ten_truth = percents(line_with(said, "Among the first ten"))
    assert ten > forecast
    assert ten_truth > truth
    assert abs(ten - ten_truth) < 15
    assert len(percents(line_with(said, "Five other pilots"))) == 6


def test_classifier(tmp_path: Path) -> None:
    said = tell("classifier.py", tmp_path / "picture.png")
    table, training = said.split("100 codes  ")
    for name in ("naive Bayes", "LDA"):
        forecast, low, high, truth = percents(line_with(table.split("1,000 codes")[1], name))
        assert low <= forecast <= high
        assert abs(forecast - truth) < 15
    # Naive Bayes learns each code on its own; LDA learns from all of them.
    alone, together = percents(line_with(training, "naive Bayes"))
    assert alone == together
    alone, together = percents(line_with(training, "LDA"))
    assert together > alone + 2
