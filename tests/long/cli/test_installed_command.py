"""The installed command makes its longest answer."""

from command_line import ONLY_TOO_FAR
from processes import installed


def test_piped_output_has_no_progress_bar_and_no_colours():
    done = installed("demo", TERM="xterm-256color")
    assert done.returncode == 0 and ONLY_TOO_FAR.fullmatch(done.stderr)
    assert "11,172" in done.stdout
    assert "\x1b" not in done.stdout
