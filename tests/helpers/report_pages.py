"""What the tests of reports share: pilots with names that bite, and how their pages are read."""

import json
import os
import re
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

from headcount import Pilot

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDS_BROWSER = pytest.mark.skipif(
    (CHROMIUM is None or find_spec("playwright") is None)
    and os.environ.get("HEADCOUNT_REQUIRE_BROWSER") != "1",
    reason="needs playwright and Chromium: apt-get install chromium",
)

SCRIPT = '<script>alert("x")</script>'
FORMULA = '=HYPERLINK("x")'
LINE_END = "end\u2028of & line"
NAMES = [SCRIPT, FORMULA, LINE_END]
N_CLASSES, N_PROBES = 40, 120


def make_scores(spread=0.55, seed=0):
    """Distances to centres; the classes with biting names are the hardest ones."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(N_CLASSES, 5))
    labels = np.repeat(np.arange(N_CLASSES), N_PROBES // N_CLASSES)
    wide = np.where(labels < len(NAMES), 3 * spread, spread)
    probes = centres[labels] + wide[:, None] * rng.normal(size=(N_PROBES, 5))
    scores = -np.square(probes[:, None] - centres[None]).sum(axis=2)
    names = np.array(NAMES + [f"class {i}" for i in range(len(NAMES), N_CLASSES)])
    return scores, names[labels], names


def make_pilot(spread=0.55, seed=0):
    scores, labels, names = make_scores(spread, seed)
    return Pilot.from_scores(scores, labels, class_names=names)


def write_npz(path, spread=0.55):
    scores, labels, names = make_scores(spread)
    np.savez(path, scores=scores, labels=labels, class_names=names)
    return path


def embedded(text):
    """The data inside a page."""
    found = re.findall(
        r'<script type="application/json" id="headcount-data">(.*?)</script>', text, re.S
    )
    assert len(found) == 1
    return json.loads(found[0])


def shown(page, name):
    return page.locator(f"#{name}").text_content()


def wait_until(page, condition):
    """Wait for a condition in JavaScript; the page's policy forbids Playwright to look by itself."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never so: {condition}")
