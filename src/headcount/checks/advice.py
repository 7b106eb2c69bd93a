"""What to do about each finding: the words of docs/checks.md, for where there are no docs."""

from __future__ import annotations

ADVICE = {
    "HC001": (
        "Add classes, drawn at random from those you expect. One or two probes each are enough."
    ),
    "HC002": ("Add probes, if possible of new classes."),
    "HC003": (
        "Use finer scores: distances instead of votes of neighbours, more digits, no "
        "rounding to 8 bits. If ties are real, say how your system breaks them: "
        '`tie_rule="lose"` or `"win"` (`--tie-rule`).'
    ),
    "HC004": (
        "If all are right, use more classes, or harder probes, until some errors appear. If none "
        "is right, check the labels, and whether high scores are good (`higher_is_better`)."
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
        "Look at the pairs named, and merge those that are the same. If new classes will bring "
        "more such pairs, leave them. If they come in whole families, say which classes belong "
        "together (`groups=`, `--groups`). The list may not be complete: a single pair is found "
        "only where the other classes are far apart or have many probes. Coarse scores hide "
        "pairs, since classes that are merely close tie as well."
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
        "Choose the pilot in the way the classes will come: the same groups in the same mix, or "
        "whole groups at random. If mistakes inside a group cost less, see `headcount risk`."
    ),
    "HC013": (
        "If the classes to come have another mix of groups, forecast that with `mix=` or `--mix`. "
        "Or forecast groups one by one (`pilot.only_groups`)."
    ),
    "HC014": (
        "Take the forecast as a guide. Test it: train on half of the classes, forecast the "
        "whole, and compare."
    ),
    "HC015": ("Compare one forecast with a larger training run before you rely on it."),
    "HC016": (
        "Keep longer lists. A probe whose true class is not among the first ten adds next "
        "to nothing to the doubt. Classes beyond the end of a list may tie with its last entry, "
        "and the bounds allow for that. One more entry than you need shows whether they do."
    ),
    "HC017": (
        "Check that each pilot is given with its own training size, and that all have the "
        "same classes."
    ),
    "HC018": ("Measure at more or larger training sizes."),
    "HC019": (
        "Add what the message names. If it names nothing, you need do nothing: the interval "
        "allows for it."
    ),
    "HC020": (
        "If the change goes on, make a pilot of the latest classes only (`pilot.subset`) and "
        "forecast from that. If it comes from how the pilot was put together (an older camera, "
        "fewer photos), repair that."
    ),
    "HC021": (
        "Enrol some rows of each class and probe with other rows, so that no row is in both. Or "
        "give one set without a gallery: each row is then compared with all others and never with "
        "itself. If a row is there twice, keep one."
    ),
    "HC022": (
        "Add groups until there are ten or more, and give scores or embeddings. If classes come "
        'one by one from groups that stay the same, say so: `drawn="classes"` (`--drawn classes`).'
    ),
    "HC023": (
        "Nothing, as long as the rows of a class are independent: intervals leave out whole "
        "classes and so allow for the rest. If rows come in bundles (frames of one video), split "
        "by bundles. More folds train on more of the data."
    ),
    "HC024": (
        "Nothing, if this is what you ask. If new documents may be relevant too, take the forecast "
        "for the relevant ones that you judged."
    ),
}
