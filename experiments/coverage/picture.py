"""Coverage: how often intervals hold the truth."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount.display.plots.display import Display
from headcount.display.plots.style import (
    GREY,
    SERIES,
    SHADE,
    SIGNS,
    as_label,
    drawable,
    faint_grid,
    legend,
    share_axis,
)
from headcount.errors import DataError
from headcount.metrics import ACCURACY
from headcount.support.words import percent, percent_range

COLUMNS = ("family", "ratio", "pilots", "coverage", "standard_error")
GOOD = 0.05  # coverage may be so far from nominal, on average over a family of pilots
SIDEWAYS = 1.02


@dataclass
class CoverageDisplay(Display):
    """How often intervals hold the truth, against how far beyond the pilot they are.

    Parameters
    ----------
    rows : sequence of dict
        For each family of pilots and ratio: family, ratio, pilots, coverage and its standard
        error.
    confidence : float
        Share of intervals that should hold the truth.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by `plot`.

    Examples
    --------
    >>> from experiments.coverage.picture import CoverageDisplay
    >>> row = {"family": "faces", "ratio": 5, "pilots": 100, "coverage": 0.91}
    >>> display = CoverageDisplay([row | {"standard_error": 0.03}])
    >>> display.frame()["coverage"].tolist()
    [0.91]
    """

    rows: Sequence[Mapping[str, Any]]
    confidence: float = 0.9

    @classmethod
    def from_results(cls, results: Any, metric: str = ACCURACY.name) -> Self:
        """Take the `Results` of the experiment `coverage`, or its JSON file as a dict.

        Families of pilots are drawn, not their single settings. Files from before 19 November 2026
        name no metric: theirs is accuracy.
        """
        whole = results if isinstance(results, Mapping) else vars(results)
        try:
            confidence = float(whole["options"]["confidence"])
            rows = [
                {name: row[name] for name in COLUMNS}
                for row in whole["rows"]
                if row["setting"] == "all"
                and row["coverage"] is not None
                and row.get("metric", ACCURACY.name) == metric
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                "these are not results of 'python -m experiments coverage'; run it again."
            ) from error
        if not rows:
            raise DataError("there is no coverage in these results; run it on more pilots.")
        return cls(rows, confidence)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read the file coverage.json that `python -m experiments coverage` wrote."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(
                f"{Path(path).name} cannot be read as JSON; give the file coverage.json that "
                "'python -m experiments coverage' wrote."
            ) from error
        if not isinstance(document, Mapping):
            raise DataError(
                f"{Path(path).name} holds no results of 'python -m experiments coverage'."
            )
        return cls.from_results(document)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return the data behind the picture.

        Columns: family, ratio, pilots, coverage, standard_error.
        """
        return {name: np.array([row[name] for row in self.rows]) for name in COLUMNS}

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = self._choose_axes(ax)
        low, high = self.confidence - GOOD, min(self.confidence + GOOD, 1.0)
        ax.axhspan(
            low, high, color=GREY, alpha=SHADE, linewidth=0,
            label=f"good: {percent_range(low, high)}",
        )  # fmt: skip
        ax.axhline(self.confidence, color=GREY, linewidth=0.9, dashes=(9, 3))
        for i, family in enumerate(dict.fromkeys(row["family"] for row in self.rows)):
            self._family(ax, family, i)
        ratio_axis(ax, [row["ratio"] for row in self.rows])
        ax.set_ylim(top=1.005)
        share_axis(ax, "y", f"{percent(self.confidence)} intervals that hold the truth")
        faint_grid(ax)
        legend(ax, ncols=2)
        return self

    def _family(self, ax: Any, family: str, i: int) -> None:
        rows = [row for row in self.rows if row["family"] == family]
        rows.sort(key=lambda row: float(row["ratio"]))
        ax.errorbar(
            # Side by side, so that error bars can be told apart.
            [row["ratio"] * SIDEWAYS**i for row in rows],
            [row["coverage"] for row in rows],
            [row["standard_error"] for row in rows],
            color=SERIES[i % len(SERIES)], marker=SIGNS[i % len(SIGNS)], markersize=4,
            linewidth=1, label=as_label(drawable(family)),
        )  # fmt: skip


def ratio_axis(ax: Any, ratios: Sequence[float]) -> None:
    """Make the horizontal axis one of ratios k / K, with a tick for each."""
    shown = sorted(set(ratios))
    ax.set_xscale("log")
    ax.set_xticks(shown, [f"{ratio:g}" for ratio in shown])
    ax.minorticks_off()
    ax.set_xlabel("classes asked about / classes of the pilot")
