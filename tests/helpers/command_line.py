"""What the tests of the command line share."""

import io
import itertools
import json
import re
import zipfile

import numpy as np

N_CLASSES, N_PROBES = 20, 60
SCHEMA = {
    "schema", "metric", "n_classes", "n_probes", "method", "confidence", "observed", "forecast", "checks",
    "warnings",
}  # fmt: skip


def make_scores(lead=2):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(N_CLASSES), N_PROBES // N_CLASSES)
    scores = rng.normal(size=(N_PROBES, N_CLASSES))
    scores[np.arange(N_PROBES), labels] += lead
    return scores, labels


def write_npz(folder, **changed):
    scores, labels = make_scores()
    members = {"scores": scores, "labels": labels} | changed
    np.savez(folder / "pilot.npz", **members)
    return str(folder / "pilot.npz")


def write_members(folder, **raw):
    with zipfile.ZipFile(folder / "pilot.npz", "w") as archive:
        for name, content in raw.items():
            archive.writestr(f"{name}.npy", content)
    return str(folder / "pilot.npz")


def npy_bytes(values):
    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


def npy_header(shape):
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


def brute_force_accuracy(scores, labels, k):
    n_classes = scores.shape[1]
    by_class = {}
    for row, true in zip(scores, labels, strict=True):
        rivals = [value for column, value in enumerate(row) if column != true]
        sets = itertools.combinations(rivals, k - 1)
        chances = [
            0.0 if max(drawn) > row[true] else 1 / (1 + sum(v == row[true] for v in drawn))
            for drawn in sets
        ]
        by_class.setdefault(true, []).append(np.mean(chances))
    assert k <= n_classes
    return np.mean([np.mean(values) for values in by_class.values()])


def read_json(text):
    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


# The demo asks for 22 times its pilot, which is further than its back-test reaches.
ONLY_TOO_FAR = re.compile(
    r"headcount: warning: 11,172 classes are further than the back-test reaches: [^\n]*\n"
)
