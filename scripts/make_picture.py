"""Draw docs/demo.png, the picture of the README: the demo's forecast and the truth beside it."""

from __future__ import annotations

import numpy as np

from headcount import forecast, observe
from headcount.datasets import load_hangul
from headcount.display.plots import GREY, CurveDisplay
from headcount.display.plots.style import legend


def main() -> None:
    """Draw the first pilot of `headcount demo`."""
    everything = load_hangul()
    names = np.random.default_rng(0).choice(everything.class_names, 500, replace=False)
    result = forecast(everything.subset(names), classes=everything.n_classes)
    display = CurveDisplay.from_forecast(result).plot()
    beyond = np.unique(np.geomspace(500, everything.n_classes, 60).astype(int))
    display.ax_.plot(
        beyond, observe(everything).accuracy(beyond), color=GREY, linewidth=2, label="truth"
    )
    legend(display.ax_, above=True, abreast=True)
    display.figure_.savefig("docs/demo.png", dpi=110)


if __name__ == "__main__":
    main()
