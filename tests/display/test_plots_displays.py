"""What all pictures have in common, and names from files in them."""

import io

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager, pyplot

import picture_baselines
from headcount import ParameterError
from headcount.display import plots
from headcount.display.plots import ClassesDisplay, Display
from headcount.display.plots.style import as_label, drawable, legend

matplotlib.use("Agg")
pytestmark = pytest.mark.usefixtures("closed_figures")


PUBLIC = {*plots.__all__, "CoverageDisplay"}  # the last one is of the experiments


@pytest.mark.parametrize("name", picture_baselines.PICTURES)
def test_every_display_keeps_the_contract(name, tmp_path):
    display = picture_baselines.PICTURES[name]()
    assert isinstance(display, Display) and type(display).__name__ in PUBLIC
    frame = display.frame()
    assert len({len(column) for column in frame.values()}) == 1
    assert all(isinstance(column, np.ndarray) for column in frame.values())
    figure, ax = pyplot.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.get_xlabel() and ax.get_title() == ""
    before = pyplot.get_fignums()
    display.save(tmp_path / "a.svg")
    assert pyplot.get_fignums() == before  # saving leaves no figure open
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    with pytest.raises(ParameterError, match="cannot draw"):
        display.save(tmp_path / "a.bmp")
    assert display.plot().figure_ is not figure


def contrast(colour, page):
    def light(c):
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in c)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    a, b = sorted([light(colour), light(page)])
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("name", picture_baselines.PICTURES)
def test_everything_is_seen_on_a_light_and_on_a_dark_page(name):
    # What readers need (WCAG 2.2): 3 to 1 for lines, 4.5 for letters, and a little round-off.
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            ax = picture_baselines.PICTURES[name]().plot().ax_
            page = matplotlib.colors.to_rgb(ax.get_facecolor())
            for line in ax.get_lines():
                assert contrast(matplotlib.colors.to_rgb(line.get_color()), page) > 2.9
            texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.texts]
            if ax.get_legend():
                texts += ax.get_legend().get_texts()
            for text in texts:
                assert contrast(matplotlib.colors.to_rgb(text.get_color()), page) > 4.4


# -- names from files --------------------------------------------------------------------------

NASTY = ["$\\frac{", "_hidden", "a" * 300, "가", "\U00013000", "a\nb", "\x1b[31m", "\u202e", ""]


@settings(max_examples=25)
@given(st.lists(st.text(max_size=40) | st.sampled_from(NASTY), min_size=1, max_size=3))
def test_any_name_can_be_drawn(names):
    # Warnings are errors here, so that a letter without a shape would fail.
    figure = matplotlib.figure.Figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1))
    for name in names:
        ax.plot([], [], label=as_label(drawable(name)) or "-")
    legend(ax)
    figure.savefig(io.BytesIO(), format="png", dpi=10)
    assert len(ax.get_legend().get_texts()) == len(names)


def test_names_are_cut_and_shown_in_legends():
    assert len(drawable("a" * 300)) == 28
    assert as_label(drawable("_hidden")) == " _hidden"
    assert drawable("\U00013000") == "U+13000"
    assert drawable("a\nb") == "a?b"


def test_the_fonts_that_were_chosen_are_used():
    circle = "\u2335"  # which DejaVu Sans Mono has and DejaVu Sans has not
    with matplotlib.rc_context({"font.family": ["DejaVu Sans"]}):
        assert drawable(circle) in ("U+2335", circle)  # another font may be installed
    with matplotlib.rc_context({"font.family": ["DejaVu Sans", "DejaVu Sans Mono"]}):
        assert drawable(circle) == circle


@pytest.mark.parametrize(
    "family", [["sans-serif"], ["Sans-Serif", "monospace"], ["not-at-hand", "serif"]]
)
def test_families_with_a_hyphen_are_names_and_no_patterns(family):
    with matplotlib.rc_context({"font.family": family}):
        assert drawable("ab") == "ab"
    with matplotlib.rc_context({"font.family": ["not-at-hand"]}):
        assert drawable("a\U00013000") == "U+0061U+13000"  # nothing is at hand, and nothing breaks


def test_korean_is_written_where_a_font_for_it_is_installed():
    fonts = {font.name for font in font_manager.fontManager.ttflist}
    assert drawable("가") in ("가", "U+AC00")
    if fonts & {"NanumGothic", "Noto Sans CJK KR", "Malgun Gothic"}:
        assert drawable("가") == "가"
    ClassesDisplay(("가",), np.array([0.5])).plot().figure_.canvas.draw()
