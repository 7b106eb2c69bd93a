"""The pictures of the pages on concepts and metrics, for light and dark pages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import headcount
from headcount.display.plots import BLUE, GREY, ORANGE, BacktestDisplay, CurveDisplay

matplotlib.use("agg")

PILOT = 500
SIZES = (100, 60_000)  # of a sample and of a catalogue
INK = {"light": "#1c1c1c", "dark": "#d8d8d8"}


@dataclass
class Story:
    """What the pictures show: a pilot of 500 Korean syllables out of 11,172."""

    ink: str = ""

    @cached_property
    def everything(self) -> headcount.Pilot:
        """All syllables."""
        return headcount.datasets.load_hangul()

    @cached_property
    def pilot(self) -> headcount.Pilot:
        """The pilot of `headcount demo`."""
        names = self.everything.class_names
        return self.everything.subset(np.random.default_rng(0).choice(names, PILOT, replace=False))

    @cached_property
    def forecast(self) -> headcount.Forecast:
        """Its forecast; the demo's."""
        with warnings.catch_warnings():  # that it goes far is what the page is about
            warnings.simplefilter("ignore", headcount.ExtrapolationWarning)
            return headcount.forecast(self.pilot, classes=self.everything.n_classes)


def curve(story: Story) -> Any:
    """Draw measured, forecast and true accuracy."""
    display = CurveDisplay.from_forecast(story.forecast).plot()
    beyond = np.unique(np.geomspace(PILOT, story.everything.n_classes, 60).astype(int))
    truth = headcount.observe(story.everything).accuracy(beyond)
    display.ax_.plot(beyond, truth, color=story.ink, linewidth=1, label="what really happens")
    display.ax_.legend(frameon=False)
    return display.figure_


def capacity(story: Story) -> Any:
    """Draw a target, and how many classes are held above it."""
    display = CurveDisplay.from_forecast(story.forecast, target=0.8).plot()
    classes = story.forecast.capacity(0.8)
    display.ax_.plot([classes, classes], [0, 0.8], color=GREY, linewidth=0.8)
    display.ax_.annotate(
        f"80% up to about {round(classes, -2):,} classes", (classes, 0.1), xytext=(-8, 0),
        xycoords=display.ax_.get_xaxis_transform(), textcoords="offset points", ha="right",
        color=story.ink,
    )  # fmt: skip
    return display.figure_


def rivals(story: Story) -> Any:
    """Draw three probes: where their true class scores among all others."""
    from matplotlib import pyplot

    scores = np.concatenate([block for _, block in story.pilot.score_blocks()])
    labels, losses = story.pilot.labels, story.pilot.losses
    probes = [int(np.flatnonzero(losses == lost)[0]) for lost in (0, 1, losses.max())]
    figure, axes = pyplot.subplots(3, 1, figsize=(7, 4), layout="constrained", sharex=True)
    for ax, probe in zip(axes, probes, strict=True):
        true = scores[probe, labels[probe]]
        others = np.delete(scores[probe], labels[probe])
        ax.vlines(others[others <= true], 0, 0.8, color=GREY, alpha=0.5, linewidth=0.8)
        ax.vlines(others[others > true], 0, 0.8, color=ORANGE, linewidth=1.6)
        ax.plot([true], [1.05], "v", color=BLUE, markersize=9, clip_on=False)
        lost = int(losses[probe])
        title = "no rival beats it: U is close to 100%"
        if lost:
            title = f"{lost} of {len(others)} beat it: U is about {1 - lost / len(others):.1%}"
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_ylim(0, 1.2)
        ax.spines[["top", "right", "left"]].set_visible(False)
    axes[-1].set_xlabel("score of a class (further right is better)")
    handles = [
        pyplot.Line2D([], [], color=BLUE, marker="v", linestyle="", label="true class"),
        pyplot.Line2D([], [], color=ORANGE, label="rival that beats it"),
        pyplot.Line2D([], [], color=GREY, label="other rivals"),
    ]
    figure.legend(handles=handles, frameon=False, ncols=3, loc="outside upper center")
    return figure


def powers(story: Story) -> Any:
    """Draw how the chance of a single probe falls with the number of classes."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    classes = np.geomspace(2, 100_000, 200)
    kinds = (0.9, 0.99, 0.999, 0.9999, 0.99999)
    chances = np.array([u ** (classes - 1) for u in kinds])
    for u, chance in zip(kinds, chances, strict=True):
        ax.plot(classes, chance, color=GREY, linewidth=1)
        ax.annotate(
            f"U = {u:.5g}", (1 + np.log(0.8) / np.log(u), 0.8), xytext=(5, 2),
            textcoords="offset points", color=story.ink, fontsize=9,
        )  # fmt: skip
    ax.plot(classes, chances.mean(axis=0), color=BLUE, linewidth=2.5, label="the five together")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda k, _: f"{k:,.0f}")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("classes")
    ax.set_ylabel("chance of being right")
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left")
    return figure


def backtest(story: Story) -> Any:
    """Draw what forecasts from part of the classes said about all of them."""
    tested = story.forecast.backtest
    assert tested is not None  # the default method is always back-tested
    return BacktestDisplay.from_backtest(tested).plot().figure_


def sampled(story: Story) -> Any:
    """Draw recall@10 of two systems whose order among 99 sampled rivals is not that of all."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    classes = np.unique(np.geomspace(20, 200_000, 200).astype(int))
    systems = {"good at every item": (2.6, 0.7), "excellent at some": (3.2, 1.9)}
    for (name, (mu, tau)), colour in zip(systems.items(), (ORANGE, BLUE), strict=True):
        law = headcount.simulate.theory.probit_normal_law(mu, tau)
        ax.plot(classes, law.value(classes, "recall@10"), color=colour, linewidth=2.2, label=name)
        for k in SIZES:
            value = float(law.value(k, "recall@10"))
            ax.plot([k], [value], "o", color=colour)
            ax.annotate(
                f"{value:.0%}", (k, value), xytext=(6, 5), textcoords="offset points",
                color=story.ink, fontsize=9,
            )  # fmt: skip
    texts = (("99 sampled rivals", 0.02, "bottom"), ("the whole catalogue", 0.96, "top"))
    for k, (text, height, end) in zip(SIZES, texts, strict=True):
        ax.axvline(k, color=GREY, linewidth=0.8, zorder=0)
        ax.annotate(
            text, (k, height), xytext=(-5, 0), xycoords=ax.get_xaxis_transform(), va=end,
            textcoords="offset points", ha="right", rotation=90, color=story.ink, fontsize=9,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_ylim(0, 1.04)
    ax.xaxis.set_major_formatter(lambda k, _: f"{k:,.0f}")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_xlabel("items in the catalogue")
    ax.set_ylabel("recall@10")
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.24, 0.02))
    return figure


PICTURES: dict[str, Callable[[Story], Any]] = {
    "curve": curve,
    "rivals": rivals,
    "powers": powers,
    "capacity": capacity,
    "backtest": backtest,
    "sampled": sampled,
}


def draw(folder: Path) -> None:
    """Draw every picture twice: ink for light pages and for dark ones, on no background."""
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    story = Story()
    for page, story.ink in INK.items():
        inked = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
        style = dict.fromkeys(inked, story.ink) | {"svg.hashsalt": "headcount"}
        for name, picture in PICTURES.items():
            with pyplot.rc_context(style):
                figure = picture(story)
                path = folder / f"{name}-{page}.svg"
                figure.savefig(path, transparent=True, metadata={"Date": None})
                pyplot.close(figure)


def _draw(app: Any) -> None:
    draw(Path(app.srcdir) / "generated" / "pictures")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", _draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
