"""Real sets for the yardstick, by their names."""

import numpy as np

from experiments.yardstick import places


def real_sets(folder):
    """Write all of them into a folder: embeddings, of 100 classes or a few more."""
    folder.mkdir()
    for i, name in enumerate(places.FILES):
        rng = np.random.default_rng(i)
        gallery = rng.normal(size=(100 + i, 4))
        np.savez(
            folder / f"{name}.npz",
            gallery=gallery,
            probes=gallery + 0.4 * rng.normal(size=gallery.shape),
            probe_labels=np.arange(100 + i),
            similarity="euclidean",
        )
    return folder
