"""Every picture against the one that was looked at, and that each of its lines is seen there."""

import matplotlib
import pytest
from matplotlib.testing.compare import compare_images

import picture_baselines

matplotlib.use("Agg")

# Root mean square over all pixels, from 0 to 255. Without text, matplotlib 3.8 to 3.11 draw the
# very same pixels; the rest leaves room for another processor's rounding at the edges of lines.
# The faintest line that may go missing makes 3 (tested below).
TOLERANCE = 1.0


def differ(file, picture):
    return compare_images(str(picture_baselines.FOLDER / file), str(picture), TOLERANCE)


@pytest.mark.parametrize("file", picture_baselines.wanted())
def test_pictures_look_as_they_did(file, tmp_path):
    make, style = picture_baselines.wanted()[file]
    picture_baselines.draw(make(), tmp_path / file, style)
    assert differ(file, tmp_path / file) is None


def test_no_baseline_is_left_over():
    names = {path.name for path in picture_baselines.FOLDER.glob("*.png")}
    assert names == set(picture_baselines.wanted())


class Without:
    """A picture that lacks one of its lines or areas."""

    def __init__(self, display, number):
        self.display, self.number = display, number

    def plot(self, ax):
        self.display.plot(ax)
        artists = [*ax.get_lines(), *ax.collections, *ax.patches]
        artists[self.number].set_visible(False)


@pytest.mark.parametrize("name, parts", [("accuracy", 7), ("reversed_roc", 3), ("lead", 4)])
def test_no_line_or_area_can_go_missing(name, parts, tmp_path):
    for number in range(parts):
        display = Without(picture_baselines.PICTURES[name](), number)
        picture_baselines.draw(display, tmp_path / "less.png")
        assert differ(f"{name}.png", tmp_path / "less.png") is not None
    with pytest.raises(IndexError):
        picture_baselines.draw(Without(display.display, parts), tmp_path / "none.png")
