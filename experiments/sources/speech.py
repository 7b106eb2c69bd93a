"""Words spoken by a synthesiser in several voices."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.sources.gathered import Gathered
from experiments.sources.packages import Packages, library
from experiments.sources.reduction import cepstra

ESPEAK = "libespeak-ng.so.1"
SYNCHRONOUS, UTF8 = 2, 1  # of the library's header, as the next two
RATE, PITCH = 1, 3
VOICES = (("{}", 160, 40), ("{}+f3", 190, 60), ("{}+m7", 140, 30))  # with words a minute, pitch
HEARER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)
Spoken = tuple[str, NDArray[np.int16]]


def spoken_words(packages: Packages, language: str, package: str, words: int) -> Gathered:
    """Gather: a class is a word, its items are what three voices of a synthesiser say."""
    texts: set[str] = set()
    for path in packages.debian(package).glob("usr/share/dict/*"):
        if path.is_file() and not path.is_symlink():
            texts |= set(path.read_text(encoding="utf-8").split())
    chosen = sorted(text for text in texts if 4 <= len(text) <= 14 and text.isalpha())
    rng = np.random.default_rng(0)
    chosen = [chosen[place] for place in sorted(rng.permutation(len(chosen))[:words])]
    names, sounds = [], []
    voices = [(voice.format(language), speed, pitch) for voice, speed, pitch in VOICES]
    rate, spoken = _speak(chosen, voices)
    packages.installed("Debian", "libespeak-ng1")
    for word, sound in spoken:
        names.append(word)
        sounds.append(cepstra(trimmed(sound), rate))
    return Gathered(names, sounds, [sound.tobytes() for sound in sounds], {})


def trimmed(sound: NDArray[np.int16], quiet: int = 200) -> NDArray[np.int16]:
    """Cut silence off both ends."""
    loud = np.flatnonzero(np.abs(sound.astype(np.int32)) > quiet)
    return sound[loud[0] : loud[-1] + 1] if len(loud) else sound


def _speak(
    words: Sequence[str], voices: Sequence[tuple[str, int, int]]
) -> tuple[int, list[Spoken]]:
    """Return the sampling rate and what each voice says; the library speaks inside this process."""
    espeak: Any = library(ESPEAK)
    pieces: list[NDArray[np.int16]] = []

    def hear(samples: Any, count: int, _events: Any) -> int:
        if samples and count:
            pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    heard = HEARER(hear)  # kept as long as the library may call it
    rate = espeak.espeak_Initialize(SYNCHRONOUS, 0, None, 0)
    espeak.espeak_SetSynthCallback(heard)
    seed = ctypes.CDLL(None).srand  # of the noise in voices, whoever drew from it before
    spoken: list[Spoken] = []
    for voice, speed, pitch in voices:
        if espeak.espeak_SetVoiceByName(voice.encode()):
            raise ValueError(f"The synthesiser has no voice {voice}.")
        espeak.espeak_SetParameter(RATE, speed, 0)
        espeak.espeak_SetParameter(PITCH, pitch, 0)
        for word in words:
            pieces.clear()
            seed(1)
            text = word.encode() + b"\0"
            espeak.espeak_Synth(text, len(text), 0, 0, 0, UTF8, None, None)
            espeak.espeak_Synchronize()
            if pieces:
                spoken.append((word, np.concatenate(pieces)))
    return rate, spoken
