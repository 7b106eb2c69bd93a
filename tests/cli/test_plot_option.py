"""`--plot` of the commands that draw something else than a forecast's curve."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from command_line import make_scores, write_npz


@pytest.fixture
def files(tmp_path):
    """Two pilots of the same classes."""
    scores, labels = make_scores()
    found = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        found.append(Path(write_npz(tmp_path / name, scores=scores, labels=labels)))
        scores = scores + np.random.default_rng(1).normal(size=scores.shape)
    return found


def words(command, files):
    return {
        "backtest": ["backtest", files[0], "--method", "no-change,kde", "--repeats", 2],
        "compare": ["compare", *files, "--classes", 20, "--method", "no-change"],
        "forecast": ["forecast", files[0], "--classes", 20, "--method", "kde", "--no-intervals"],
        "capacity": ["capacity", files[0], "--target", 0.8, "--no-intervals", "--method", "kde"],
    }[command]


@pytest.mark.parametrize("command", ["backtest", "compare", "capacity"])
def test_the_picture_is_drawn_beside_the_answer(command, files, run, tmp_path):
    asked = words(command, files)
    drawn = tmp_path / "drawn.png"
    assert run(*asked, "--plot", drawn) == run(*asked)
    assert image.imread(drawn).shape == (630, 1050, 4) and image.imread(drawn).std() > 0.05


@pytest.mark.parametrize("command", ["backtest", "compare", "capacity"])
def test_no_input_is_overwritten_and_no_other_kind_of_file_written(command, files, refused):
    asked = words(command, files)
    held = [path.read_bytes() for path in files]
    assert "also an input" in refused(*asked, "--plot", asked[1])
    if command == "compare":
        assert "also an input" in refused(*asked, "--plot", asked[2])
    assert ".gif" in refused(*asked, "--plot", files[0].parent / "a.gif")
    assert [path.read_bytes() for path in files] == held


def test_a_backtest_with_nothing_to_draw_still_answers(run, tmp_path):
    np.savez(tmp_path / "small.npz", losses=[0, 1], n_classes=3)
    code, out, err = run("backtest", tmp_path / "small.npz", "--plot", tmp_path / "a.png")
    assert code == 0 and out
    assert "nothing was drawn" in err and not (tmp_path / "a.png").exists()


@pytest.mark.parametrize("command", ["backtest", "compare", "forecast", "capacity"])
def test_a_picture_may_show_error_rates(command, files, run, refused, tmp_path):
    asked = words(command, files)
    assert "--plot or --report" in refused(*asked, "--error-rate")
    for name, more in (("right", []), ("wrong", ["--error-rate"])):
        code, _, _ = run(*asked, "--plot", tmp_path / f"{name}.svg", *more)
        assert code == 0
    texts = [(tmp_path / f"{name}.svg").read_text() for name in ("wrong", "right")]
    assert ["error rate" in text for text in texts] == [True, False]
