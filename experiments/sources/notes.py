"""Notes of instruments, played by a synthesiser from two sets of samples."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages, library
from experiments.sources.reduction import cepstra

FLUIDSYNTH = "libfluidsynth.so.3"
SAMPLES = ("timgm6mb-soundfont", "musescore-general-soundfont-small")
RATE = 22_050
LOUDNESS = (70, 110)
INSTRUMENTS, PITCHES = range(128), range(30, 94, 2)
HELD, AFTER = int(0.35 * RATE), int(0.15 * RATE)  # samples with the key down, and after it


def instrument_notes(packages: Packages) -> Gathered:
    """Gather: a class is an instrument and pitch, its items differ in loudness and samples."""
    names, sounds = [], []
    for package in SAMPLES:
        folder = packages.debian(package)
        (path,) = (path for path in folder.rglob("*.sf[23]") if not path.is_symlink())
        for name, sound in _play(path):
            if np.abs(sound).max() > 1e-3:
                names.append(name)
                sounds.append(cepstra(sound, RATE))
    packages.installed("Debian", "libfluidsynth3")
    return Gathered(names, sounds, [sound.tobytes() for sound in sounds], {})


def _play(samples: Path) -> list[tuple[tuple[int, int], NDArray[np.float32]]]:
    """Play each note on its own; the library plays into memory inside this process."""
    fluid: Any = library(FLUIDSYNTH)
    for name in ("new_fluid_settings", "new_fluid_synth"):
        getattr(fluid, name).restype = ctypes.c_void_p
    settings = ctypes.c_void_p(fluid.new_fluid_settings())
    fluid.fluid_settings_setnum(settings, b"synth.sample-rate", ctypes.c_double(RATE))
    for effect in (b"synth.reverb.active", b"synth.chorus.active"):
        fluid.fluid_settings_setint(settings, effect, 0)
    synth = ctypes.c_void_p(fluid.new_fluid_synth(settings))
    if fluid.fluid_synth_sfload(synth, str(samples).encode(), 1) < 0:
        raise ValueError(f"The synthesiser cannot read {samples.name}.")
    notes = []
    for instrument in INSTRUMENTS:
        fluid.fluid_synth_program_change(synth, 0, instrument)
        for pitch in PITCHES:
            for loudness in LOUDNESS:
                fluid.fluid_synth_noteon(synth, 0, pitch, loudness)
                down = _heard(fluid, synth, HELD)
                fluid.fluid_synth_noteoff(synth, 0, pitch)
                sound = np.concatenate([down, _heard(fluid, synth, AFTER)])
                fluid.fluid_synth_all_sounds_off(synth, 0)
                _heard(fluid, synth, RATE // 50)
                notes.append(((instrument, pitch), sound))
    return notes


def _heard(fluid: Any, synth: Any, count: int) -> NDArray[np.float32]:
    left, right = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    fluid.fluid_synth_write_float(
        synth, count, left.ctypes.data_as(ctypes.c_void_p), 0, 1,
        right.ctypes.data_as(ctypes.c_void_p), 0, 1,
    )  # fmt: skip
    return np.asarray((left + right) / 2, dtype=np.float32)
