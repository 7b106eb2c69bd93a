"""Take the pictures of the report in docs/: by day, by night, on a phone. Needs Chromium.

Run from the root of the repository: python scripts/make_report_pictures.py
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import headcount
from headcount.datasets import load_hangul

DOCS = Path(__file__).parent.parent / "docs"
WIDE, NARROW = 1000, 375


def write_page(path: Path) -> None:
    """Forecast from the pilot of `headcount demo` and write the report."""
    everything = load_hangul()
    classes = np.random.default_rng(0).choice(everything.class_names, 500, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headcount.ExtrapolationWarning)
        sizes = [1000, everything.n_classes]
        headcount.forecast(everything.subset(classes), classes=sizes).save(path)


def take(browser: Browser, page: Path, name: str, width: int, scheme: str) -> None:
    """Take one picture of the page down to its curve and what is said below it."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(page.as_uri())
    tab.wait_for_selector("#backtest svg")
    below = tab.evaluate("document.querySelector('figure').getBoundingClientRect().bottom")
    shown = {"x": 0, "y": 0, "width": width, "height": below + 6}
    tab.screenshot(path=DOCS / f"report-{name}.png", full_page=True, clip=shown)
    tab.close()


def main() -> None:
    """Write the page and take all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder) / "report.html"
        write_page(page)
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        take(browser, page, "light", WIDE, "light")
        take(browser, page, "dark", WIDE, "dark")
        take(browser, page, "phone", NARROW, "light")
        browser.close()


if __name__ == "__main__":
    main()
