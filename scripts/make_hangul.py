"""Rebuild the bundled Hangul data set from two Debian fonts.

All 11,172 Hangul syllables (U+AC00 to U+D7A3) are drawn in two fonts and reduced to small
integer vectors.  The sans-serif font is the gallery (one row a class), the serif font the
probes (one row a class); class ``i`` is ``chr(0xAC00 + i)`` in both.

Needs
-----
Debian package : fonts-nanum (NanumGothic.ttf and NanumMyeongjo.ttf)
PyPI packages : numpy, pillow

Usage
-----
``python scripts/make_hangul.py [--output PATH]``

Notes
-----
The two fonts are the only inputs and nothing is drawn at random, so two runs on one machine
give the same bytes.  Another version of FreeType (inside Pillow), of the linear algebra library
(inside numpy) or of zlib may move a few values by one, or pack the same values differently.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

try:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image, ImageDraw, ImageFont
except ImportError as error:
    _PYPI_NAMES = {"PIL": "pillow"}
    _MISSING = (error.name or "numpy").split(".")[0]
    sys.exit(
        f"The Python package {_PYPI_NAMES.get(_MISSING, _MISSING)} is missing; "
        "install numpy and pillow."
    )

FIRST_SYLLABLE = 0xAC00
N_CLASSES = 11172
DEBIAN_PACKAGE = "fonts-nanum"
GALLERY_FONT = "NanumGothic.ttf"
PROBE_FONT = "NanumMyeongjo.ttf"
DEFAULT_OUTPUT = Path(__file__).resolve().parents[1] / "src/headcount/datasets/hangul.npz"
MAX_BYTES = 1_200_000

# Drawn about twice as large as needed, so that shrinking averages the outline instead of
# following the pixel grid of one size.
FONT_PIXELS = 96
CANVAS = 160
IMAGE = 48
MARGIN = 4

# Four stroke directions are what Hangul strokes use: horizontal, vertical, two diagonals.
N_DIRECTIONS = 4
EDGE_BLUR = 1.0
# The pooling blur forgives the small shifts of a stroke between fonts.  Grid points lie 4 pixels
# apart, little more than one blur width, so that hardly any of the blurred picture is lost.
POOL_BLUR = 3.0
POOL_STEP = 4

# Few enough that the full alphabet is hard and the file small; with 64 it gets clearly easier.
N_COMPONENTS = 32

SEED = 0
PILOT_CLASSES = 500
PILOT_DRAWS = 20

Floats = NDArray[np.float64]
Int8s = NDArray[np.int8]
Ints = NDArray[np.int64]


def find_font(name: str) -> Path:
    """Find a font file by name, first where Debian puts it, then by asking fontconfig."""
    files = sorted(Path("/usr/share/fonts").rglob(name))
    if not files:
        files = [path for path in fontconfig_files() if path.name == name]
    if not files:
        sys.exit(f"The font file {name} is missing; install the Debian package {DEBIAN_PACKAGE}.")
    return files[0]


def fontconfig_files() -> list[Path]:
    """List the font files that fontconfig knows, none when it is not installed."""
    try:
        answer = subprocess.run(
            ["fc-list", "--format", "%{file}\n"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(Path(line) for line in answer.stdout.splitlines() if line)


def draw(font: ImageFont.FreeTypeFont, text: str) -> Image.Image:
    """Draw one character and cut the picture down to its ink (0 x 0 when there is none)."""
    canvas = Image.new("L", (CANVAS, CANVAS))
    ImageDraw.Draw(canvas).text((CANVAS // 2, CANVAS // 2), text, fill=255, font=font, anchor="mm")
    box = canvas.getbbox() or (0, 0, 0, 0)
    if box[2] - box[0] and (min(box) == 0 or max(box) == CANVAS):
        sys.exit(f"U+{ord(text):04X} does not fit on the drawing canvas.")
    return canvas.crop(box)


def draw_syllables(path: Path) -> list[Image.Image]:
    """Draw all syllables in one font and check that each has a picture of its own."""
    # The basic layout gives the same picture whether or not Pillow was built with libraqm.
    font = ImageFont.truetype(str(path), FONT_PIXELS, layout_engine=ImageFont.Layout.BASIC)
    glyphs = [draw(font, chr(FIRST_SYLLABLE + i)) for i in range(N_CLASSES)]
    # U+FFFF is never a character, so it shows what the font draws for a missing one.
    absent = draw(font, "\uffff")
    drawings = {(absent.size, absent.tobytes())}
    for i, glyph in enumerate(glyphs):
        key = (glyph.size, glyph.tobytes())
        if not glyph.width or key in drawings:
            sys.exit(f"{path.name} has no drawing of its own for U+{FIRST_SYLLABLE + i:04X}.")
        drawings.add(key)
    return glyphs


def normalise(glyphs: list[Image.Image]) -> Floats:
    """Stretch every glyph to one box, because fonts differ in proportions and side bearings."""
    images = np.zeros((len(glyphs), IMAGE, IMAGE))
    inner = IMAGE - 2 * MARGIN
    for image, glyph in zip(images, glyphs, strict=True):
        small = glyph.resize((inner, inner), Image.Resampling.BOX)
        image[MARGIN:-MARGIN, MARGIN:-MARGIN] = np.asarray(small) / 255.0
    return images


def blur_matrix(sigma: float, step: int) -> Floats:
    """Give the matrix that blurs a line of pixels and keeps every ``step``-th value."""
    pixels = np.arange(IMAGE)
    points = np.arange((step - 1) / 2, IMAGE, step)
    weights = np.exp(-0.5 * ((points[:, None] - pixels[None, :]) / sigma) ** 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def direction_features(images: Floats) -> Floats:
    """Describe each picture by how much edge of each direction lies around each grid point.

    Raw pixels mostly compare stroke weight between a sans-serif and a serif font; edge
    directions compare where the strokes run, which is what the two fonts share.
    """
    smooth = blur_matrix(EDGE_BLUR, 1)
    pool = blur_matrix(POOL_BLUR, POOL_STEP)
    down, right = np.gradient(smooth @ images @ smooth.T, axis=(1, 2))
    strength = np.hypot(down, right)
    # Modulo pi: both sides of a stroke count as the same direction.
    angle = np.arctan2(down, right) % np.pi / np.pi * N_DIRECTIONS
    parts = []
    for direction in range(N_DIRECTIONS):
        half = N_DIRECTIONS / 2
        away = np.abs((angle - direction + half) % N_DIRECTIONS - half)
        pooled = pool @ (np.maximum(0.0, 1.0 - away) * strength) @ pool.T
        # The square root keeps one heavy stroke from outweighing several fine ones.
        parts.append(np.sqrt(pooled).reshape(len(images), -1))
    features = np.hstack(parts)
    # Unit length takes out the overall stroke weight of the font.
    return np.asarray(features / np.linalg.norm(features, axis=1, keepdims=True))


def principal_axes(features: Floats) -> Floats:
    """Give the leading principal axes as columns, with signs fixed for a repeatable result."""
    _, vectors = np.linalg.eigh(np.cov(features, rowvar=False))
    axes = vectors[:, ::-1][:, :N_COMPONENTS]
    largest = np.abs(axes).argmax(axis=0)
    return np.asarray(axes * np.sign(axes[largest, np.arange(N_COMPONENTS)]))


def embed(gallery: Floats, probes: Floats) -> tuple[Int8s, Int8s]:
    """Project both fonts on the gallery's principal axes and round to int8.

    The axes come from the gallery alone, as in a recogniser that is set up before any probe is
    seen.  Each font is centred on its own mean: the mean holds the style of the font, uses no
    labels, and would otherwise push all probes the same way.
    """
    axes = principal_axes(gallery)
    reduced = [(rows - rows.mean(axis=0)) @ axes for rows in (gallery, probes)]
    # One scale for all keeps the distances; the largest value just fits, so nothing is clipped.
    scale = 127.0 / max(np.abs(rows).max() for rows in reduced)
    first, second = (np.rint(rows * scale).astype(np.int8) for rows in reduced)
    return first, second


def squared_distances(probes: Int8s, gallery: Int8s) -> NDArray[np.float32]:
    """Give squared distances; float32 is exact here, as all sums of int8 products are < 2**24."""
    left, right = probes.astype(np.float32), gallery.astype(np.float32)
    lengths = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.asarray(lengths - 2.0 * (left @ right.T), dtype=np.float32)


def count_losses(probes: Int8s, gallery: Int8s) -> tuple[Ints, Ints]:
    """Count, for each probe, the wrong classes nearer than and exactly as near as the true one."""
    losses = np.empty(len(probes), dtype=np.int64)
    ties = np.empty(len(probes), dtype=np.int64)
    for rows in np.array_split(np.arange(len(probes)), 12):
        distances = squared_distances(probes[rows], gallery)
        true = distances[np.arange(len(rows)), rows][:, None]
        losses[rows] = (distances < true).sum(axis=1)
        ties[rows] = (distances == true).sum(axis=1) - 1
    return losses, ties


def pilot_accuracy(probes: Int8s, gallery: Int8s) -> float:
    """Give the mean accuracy over random draws of a few hundred classes (a tie counts as right)."""
    rng = np.random.default_rng(SEED)
    scores = []
    for _ in range(PILOT_DRAWS):
        classes = rng.choice(N_CLASSES, PILOT_CLASSES, replace=False)
        losses, _ = count_losses(probes[classes], gallery[classes])
        scores.append(float((losses == 0).mean()))
    return sum(scores) / len(scores)


def write_npz(path: Path, members: dict[str, NDArray[np.generic]]) -> None:
    """Write a compressed npz with fixed dates, under a temporary name until it is complete."""
    temporary = path.with_name(path.name + ".tmp")
    with zipfile.ZipFile(temporary, "w") as archive:
        for name, array in members.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # the same on every platform
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, buffer.getvalue(), compresslevel=9)
    os.replace(temporary, path)


def report(path: Path, probes: Int8s, gallery: Int8s) -> None:
    """Print how hard the data are and how large the file is."""
    losses, ties = count_losses(probes, gallery)
    small = pilot_accuracy(probes, gallery)
    print(f"accuracy at {PILOT_CLASSES} classes, mean of {PILOT_DRAWS} draws: {small:.4f}")
    print(f"accuracy at {N_CLASSES} classes: {(losses == 0).mean():.4f}")
    print(f"probes where a wrong class ties with the true one: {(ties > 0).sum()}")
    print(f"... of these, with no class nearer still: {((ties > 0) & (losses == 0)).sum()}")
    print(f"file size: {path.stat().st_size} bytes")


def main() -> None:
    """Build the file and print its figures."""
    parser = argparse.ArgumentParser(description="Rebuild the bundled Hangul data set.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="file to write")
    output: Path = parser.parse_args().output
    paths = [find_font(name) for name in (GALLERY_FONT, PROBE_FONT)]
    features = [direction_features(normalise(draw_syllables(path))) for path in paths]
    gallery, probes = embed(*features)
    members: dict[str, NDArray[np.generic]] = {
        "probes": probes,
        "gallery": gallery,
        "probe_labels": np.arange(N_CLASSES, dtype=np.int16),
        "metric": np.array("euclidean"),
    }
    write_npz(output, members)
    report(output, probes, gallery)
    if output.stat().st_size > MAX_BYTES:
        sys.exit(f"The file is larger than the {MAX_BYTES} bytes the package allows.")


if __name__ == "__main__":
    main()
