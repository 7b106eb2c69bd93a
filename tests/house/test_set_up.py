"""What `make demo`, `make test` and CI install."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

packaging = pytest.importorskip("packaging.requirements")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LISTS = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
LINES = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line[0] != "#"]
LOCKED = dict(line.split("==") for line in LINES)


def commands(*targets):
    """Return what make would run on a fresh machine."""
    words = ["make", "--no-print-directory", "--dry-run", "--always-make", *targets]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line.strip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("extra", LISTS)
def test_every_package_is_locked_to_a_version_that_is_allowed(extra):
    for text in LISTS[extra]:
        needed = packaging.Requirement(text)
        if needed.name != PROJECT["name"]:
            assert needed.specifier.contains(LOCKED[needed.name]), text


@pytest.mark.parametrize("target", ["demo", "test"])
def test_set_up_installs_what_is_locked_and_builds_with_it(target):
    installs = [line for line in commands(target) if "pip install" in line]
    assert installs
    assert all("--constraint requirements.lock" in line for line in installs)
    assert "--no-build-isolation" in installs[-1]


def test_what_builds_the_package_is_locked_and_is_enough(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    assert "hatchling" in LOCKED
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "editables", None)  # not on a fresh machine
    assert (tmp_path / build.build_editable(str(tmp_path))).exists()


def test_ci_tries_the_newest_and_the_oldest_versions():
    script = (ROOT / ".ci/run").read_text()
    assert "\nmake test-newest\n" in script and "\nmake test-oldest\n" in script
    newest = commands("test-newest")
    assert not any("requirements.lock" in line for line in newest)
    oldest = " ".join(commands("test-oldest")).replace("\\", "")
    assert "--resolution lowest-direct" in oldest
    for line in (newest[-1], commands("test-oldest")[-1]):
        assert "pytest" in line and "tests/long" not in line


def test_ci_runs_the_long_tests_and_the_fast_ones_alone_are_measured():
    assert "\nmake test\nmake test-long\n" in (ROOT / ".ci/run").read_text()
    assert "--cov" in commands("test")[-1] and "tests/long" not in commands("test")[-1]
    assert commands("test-long")[-1].endswith(" tests/long")


def test_pre_commit_runs_what_make_lint_runs():
    yaml = pytest.importorskip("yaml")
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"  # nothing is fetched: versions come from the lock file
    entries = [hook["entry"].replace(" --force-exclude", "") for hook in local["hooks"]]
    lint = [line.removesuffix(" .") for line in commands("lint") if "pip" not in line]
    lint = [line for line in lint if line.startswith((".venv/bin/", "PYTHONPATH"))]
    assert [entry.removeprefix("env ") for entry in entries] == lint


def test_the_workflow_calls_the_targets_that_ci_calls_on_every_promised_python():
    yaml = pytest.importorskip("yaml")
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    pythons = job["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    runs = [step["run"] for step in job["steps"] if "run" in step]
    script = (ROOT / ".ci/run").read_text().splitlines()
    assert runs[1:] == ["make lint", "make test", "make docs", "make wheel"]
    assert set(runs[1:]) <= set(script)
