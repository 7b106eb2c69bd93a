"""scripts/check_site.py finds broken links and whatever a page would fetch from outside."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_site.py"


def check(site: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, site], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_good_site_passes(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "style.css").write_text("p { background: url(data:image/png;base64,AA) }")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="style.css?v=1"><link rel="canonical" href="https://x.org/">'
        '<a href="deep/two%20words.html#here">in</a> <a href="https://x.org">out</a>'
        '<a href="mailto:me">mail</a> <a href="#top">up</a><h1 id="top">Title</h1>'
    )
    (tmp_path / "deep" / "two words.html").write_text('<p id="here"><a href="../index.html">back')
    code, said = check(tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="nowhere.html">x</a>', "no such file"),
        ('<a href="#nowhere">x</a>', "no such place"),
        ('<a href="other.html#nowhere">x</a>', "no such place"),
        ('<img src="gone.png">', "no such file"),
        ('<script src="https://cdn.example/x.js"></script>', "from outside"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "from outside"),
        ('<link rel="preconnect" href="https://fonts.example">', "from outside"),
        ('<img srcset="other.html 1x, https://x.example/b.png 2x">', "from outside"),
        ("<style>@import 'https://x.example/x.css';</style>", "from outside"),
        ('<p style="background: url(https://x.example/a.png)">', "from outside"),
    ],
)
def test_a_fault_is_named(body: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "other.html").write_text('<p id="somewhere">')
    code, said = check(tmp_path)
    assert code == 1
    assert said.startswith("index.html: ")
    assert fault in said


def test_style_sheets_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example/f.woff2') }")
    assert check(tmp_path)[0] == 1


def test_an_empty_site_is_no_site(tmp_path: Path) -> None:
    assert check(tmp_path)[0] == 1
