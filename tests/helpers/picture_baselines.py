"""Pictures of made-up answers, to be compared with those in `tests/display/baselines`.

After a change that is meant: `python tests/helpers/picture_baselines.py` draws them all again; look at
them before they are committed.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from experiments.coverage.picture import CoverageDisplay
from headcount.curves.curve import Curve
from headcount.curves.favorability import Favorability
from headcount.curves.reversed_roc import ROCCurve
from headcount.display.plots import (
    BacktestDisplay,
    CapacityDisplay,
    ClassesDisplay,
    CMCDisplay,
    ComparisonDisplay,
    CurveDisplay,
    DiscriminabilityDisplay,
    LeadDisplay,
    ReversedROCDisplay,
)
from headcount.metrics import Top
from headcount.questions.compare import Crossing
from headcount.uncertainty.backtest import Backtest, BacktestStep

FOLDER = Path(__file__).parents[1] / "display" / "baselines"
K = 100
CLASSES = np.unique(np.append(np.geomspace(2, 5000, 40).round(), K)).astype(int)
REGION = np.where(CLASSES <= K, "observed", "forecast")


def falling(speed):
    """A curve of accuracy, with limits that open beyond the pilot."""
    value = 1 / (1 + (CLASSES / 1000) ** speed)
    off = 0.02 + 0.08 * np.maximum(np.log10(CLASSES / K), 0)
    return value, np.clip(value - off, 0, 1), np.clip(value + off, 0, 1)


def accuracy():
    value, lower, upper = falling(1.0)
    curve = Curve(CLASSES, value, REGION, lower, upper)
    return CurveDisplay(curve, K, target=0.8, supported=1000, band="90% interval")


def top():
    curve = Curve(CLASSES, np.sqrt(falling(1.0)[0]), REGION, quantity=Top(5))
    return CurveDisplay(curve, K, Top(5), supported=1000)


def capacity():
    target = np.linspace(0.5, 0.99, 50)
    classes = 1000 * (1 / target - 1)
    upper = np.where(target < 0.6, np.inf, classes * 2)
    return CapacityDisplay(
        target, classes, K, 1000 / 1100, 5000, lower=classes / 1.5, upper=upper, supported=400,
        band="90% interval",
    )  # fmt: skip


def cmc():
    ranks = np.arange(1, 21)
    share = np.array([1 - 0.6 ** (ranks * speed) for speed in (3.0, 1.0, 0.3)])
    return CMCDisplay((50, K, 1000), ranks, share, K)


def steps():
    losses = np.array([0, 0, 0, 0, 0, 0, 1, 1, 3, 20]) / (K - 1)
    return ROCCurve(losses, losses, np.full(10, 0.1))


def law():
    p = np.geomspace(1e-5, 0.5, 300)
    return Favorability(p, np.exp(-0.5 * (np.log(p / 3e-3) / 1.5) ** 2)).reversed_roc()


def reversed_roc():
    curves = {"reversed ROC of the pilot": steps(), "estimated reversed ROC": law()}
    return ReversedROCDisplay(curves, 0.5 / (K - 1))


def discriminability():
    return DiscriminabilityDisplay(
        {"measured in the pilot": steps(), "estimated": law()}, 0.5 / (K - 1)
    )


def backtest_of(method, shift):
    sizes = (50, 20, 10)
    return Backtest(
        K, method, 0.8,
        tuple(
            BacktestStep(m, K / m, tuple(0.8 + shift * i + np.array([-0.02, 0.0, 0.03])), 0.8)
            for i, m in enumerate(sizes)
        ),
        np.array([2, 100]), np.zeros((3, 2)),
    )  # fmt: skip


def backtest():
    return BacktestDisplay.from_backtest(backtest_of("kde", 0.04))


def backtests():
    return BacktestDisplay.from_backtest([backtest_of("kde", 0.04), backtest_of("other", -0.06)])


def comparison():
    curves = {
        name: Curve(CLASSES, value, REGION, lower, upper)
        for name, (value, lower, upper) in {"old": falling(1.0), "new": falling(0.6)}.items()
    }
    crossing = Crossing(1000, "old", "new", None, None)
    return ComparisonDisplay(
        curves, {"old": K, "new": K}, crossings=(crossing,), band="90% interval"
    )


def lead():
    gap = falling(1.0)[0] - falling(0.6)[0]
    return LeadDisplay(
        "old", "new", CLASSES, gap, gap - 0.05, gap + 0.05,
        Crossing(1000, "old", "new", None, None), "90% interval",
    )  # fmt: skip


def coverage():
    rows = [
        {"family": family, "ratio": r, "pilots": 99, "coverage": c, "standard_error": 0.03}
        for family, shares in {"faces": (0.91, 0.88, 0.8), "words": (0.95, 0.96, 0.97)}.items()
        for r, c in zip((1, 5, 20), shares, strict=True)
    ]
    return CoverageDisplay(rows)


def hardest():
    return ClassesDisplay(("rn", "m", "$l_1$"), np.array([0.3, 0.12, 0.005]))


def hubs():
    return ClassesDisplay(("o", "0"), np.array([0.2, 0.1]), "hubs")


PICTURES = {
    make.__name__: make
    for make in (
        accuracy, top, capacity, cmc, reversed_roc, discriminability, backtest, backtests,
        comparison, lead, coverage, hardest, hubs,
    )
}  # fmt: skip
DARK = ("accuracy", "comparison")


def draw(display, path, style="default"):
    """Draw into a small file, without text.

    Letters look different from one release of matplotlib to the next, and weigh more than all
    lines together; words are tested as words.
    """
    from matplotlib import style as styles
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    with styles.context(style, after_reset=True):
        figure = Figure(figsize=(3.2, 2.0))
        ax = figure.add_axes((0.03, 0.03, 0.94, 0.94))
        display.plot(ax)
        if ax.get_legend():
            ax.get_legend().remove()
        for text in figure.findobj(Text):
            text.set_visible(False)
        figure.savefig(path, dpi=80, metadata={"Software": None})


def wanted():
    """Names of the files, with what they show and in which style."""
    light = {f"{name}.png": (make, "default") for name, make in PICTURES.items()}
    dark = {f"{name}-dark.png": (PICTURES[name], "dark_background") for name in DARK}
    return light | dark


if __name__ == "__main__":
    mpl.use("Agg")
    for file, (make, style) in wanted().items():
        draw(make(), FOLDER / file, style)
        print(file, file=sys.stderr)
