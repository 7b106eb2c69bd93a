"""Print the worked example of docs/risk.md with the truth beside it; takes about a minute."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
from scipy.linalg import eigh

from headcount import Pilot, observe
from headcount.questions.risk import observe_risk
from headcount.questions.risk.forecasting import forecast_risk

N_PILOT, STRETCH = 1000, 1.5


def recognisers() -> tuple[Pilot, Pilot]:
    """Return the plain recogniser of Hangul syllables and the one that minds families."""
    with as_file(files("headcount.datasets") / "hangul.npz") as path:
        data = np.load(path)
        gallery, probes = data["gallery"].astype(float), data["probes"].astype(float)
    syllables = np.array([chr(0xAC00 + i) for i in range(len(gallery))])
    family = np.arange(len(gallery)) // 28
    means = np.array([gallery[family == f].mean(axis=0) for f in np.unique(family)])
    share, axes = eigh(np.cov(means[family].T), np.cov(gallery.T))
    stretch = axes * (1 + STRETCH * share) @ np.linalg.inv(axes)
    plain = Pilot.from_embeddings(probes, syllables, gallery, syllables)
    careful = Pilot.from_embeddings(
        probes @ stretch, syllables, gallery @ stretch, syllables, similarity="cosine"
    )
    return plain, careful


def main() -> None:
    """Forecast all syllables from a pilot, for both recognisers."""
    plain, careful = recognisers()
    letters = {
        chr(0xAC00 + i): [f"initial {i // 588}", f"vowel {i // 28}"] for i in range(plain.n_classes)
    }
    classes = np.random.default_rng(0).choice(plain.class_names, N_PILOT, replace=False)
    most = plain.n_classes
    for name, whole in (("plain", plain), ("careful", careful)):
        pilot = whole.subset(classes)
        risk = forecast_risk(pilot, letters, most)
        zero_one = forecast_risk(pilot, "zero-one", most)
        true_risk = float(observe_risk(whole, letters).risk(most))
        true_accuracy = float(observe(whole).accuracy(most))
        print(
            f"{name:8} at {N_PILOT:,}: accuracy {float(observe(pilot).accuracy(N_PILOT)):.3f}, "
            f"cost {float(risk.risk(N_PILOT)):.3f}; at {most:,} forecast (truth): "
            f"accuracy {1 - float(zero_one.risk(most)):.3f} ({true_accuracy:.3f}), "
            f"cost {float(risk.risk(most)):.3f} ({true_risk:.3f})"
        )


if __name__ == "__main__":
    main()
