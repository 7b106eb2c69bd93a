"""What to do about each finding: the words of docs/checks.md, at hand where there are no docs."""

from __future__ import annotations

ADVICE = {
    "HC001": (
        "Add classes, drawn at random from those you expect. One or two probes each are enough."
    ),
    "HC002": ("Add probes, best of new classes."),
    "HC003": (
        "Use finer scores: distances instead of votes of neighbours, more digits, no "
        "rounding to 8 bits. If ties are real, say how your system breaks them: "
        '`tie_rule="lose"` or `"win"` (`--tie-rule`).'
    ),
    "HC004": (
        "All right: use more classes, or harder probes, until some errors appear. None "
        "right: check the labels, and whether high scores are good (`higher_is_better`)."
    ),
    "HC005": (
        "If new classes are added without training (a gallery, prototypes, prompts), use "
        "the scores before the softmax (logits, similarities). If the model will be trained "
        "again, take the forecast as a guide and test it: train on half of the classes, "
        "forecast the whole."
    ),
    "HC006": (
        "Nothing, if the figures are precise enough. Otherwise add probes to the classes "
        "that have few."
    ),
    "HC007": (
        "Look at the pairs named, and merge those that are the same. If more such pairs are "
        "to come with new classes, leave them. A single pair is found only where the other "
        "classes are far apart or have many probes, and fewer are found among coarse scores, "
        "where classes that are merely close tie as well."
    ),
    "HC008": (
        "Look at what was enrolled: an empty or blurred template, a vector of unusual "
        "length, a class with far more training data. For embeddings, try "
        '`similarity="cosine"`.'
    ),
    "HC009": (
        "Remove near copies. Add classes rather than probes. Intervals that resample "
        "classes already allow for it."
    ),
    "HC010": (
        "Try another method (`headcount methods`, `--method`). Look at ties, hubs and "
        "duplicates first: they are the usual reasons."
    ),
    "HC011": (
        "Use a larger pilot, so that its back-test reaches what you ask for. Or take the number "
        "as a guess."
    ),
    "HC012": (
        "Choose the pilot as the classes will come: the same groups in the same mix, or "
        "whole groups at random. For mistakes that cost less inside a group see `headcount "
        "risk`."
    ),
    "HC013": (
        "Make the pilot's mix that of the classes to come, or forecast groups one by one "
        "(`pilot.subset`)."
    ),
    "HC014": (
        "Take the forecast as a guide. Test it: train on half of the classes, forecast the "
        "whole, compare."
    ),
    "HC015": ("Compare one forecast with a larger training run before you rely on it."),
    "HC016": (
        "Keep longer lists. A probe whose true class is not among the first ten adds next "
        "to nothing to the doubt. Classes beyond a list may score as its last entry does, and "
        "the bounds hold that, too: one entry more than you need shows who stands alone."
    ),
    "HC017": (
        "Check that each pilot is given with its own training size, and that all have the "
        "same classes."
    ),
    "HC018": ("Measure at more or larger training sizes."),
    "HC019": ("See the sentence. If it names nothing to add, nothing: the interval allows for it."),
    "HC020": (
        "If the change goes on, make a pilot of the latest classes only (`pilot.subset`) and "
        "forecast from that. If it is a matter of how the pilot was put together (an older "
        "camera, fewer photos), repair that."
    ),
    "HC021": (
        "Enrol some rows of each class and probe with others, none of them in both. Or give one "
        "set without a gallery: each row is then compared with all others and never with itself. "
        "Rows that are there twice: keep one."
    ),
}
