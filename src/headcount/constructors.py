"""How a pilot is made: from scores, embeddings, losses or a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headcount import arrays
from headcount.classes import (
    Groups,
    Order,
    enough,
    groups_of,
    number_of_classes,
    order_of,
    positions,
)
from headcount.classifiers import classifier_name, classifier_scores
from headcount.errors import DataError
from headcount.gallery import enrolled, leave_one_out
from headcount.losses import checked_counts, checked_possible_ties
from headcount.ranks import METRICS, ScoreMatrix

REVERSED = 0.4


class PilotConstructors:
    """The four ways to make a pilot; `Pilot` says what it then offers."""

    if TYPE_CHECKING:
        losses: NDArray[np.int64]
        ties: NDArray[np.int64]
        weights: NDArray[np.float64]
        n_classes: int

        def __init__(self, *counts: NDArray[Any], **parts: Any) -> None: ...

        def _made_by(self, classifier: str) -> Self: ...

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        labels: Any,
        *,
        class_names: Any = None,
        higher_is_better: bool | None = None,
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        order: Order = None,
    ) -> Self:
        """Make a pilot from a score matrix, one row a probe and one column a class.

        Parameters
        ----------
        scores : array, frame or tensor of shape (n_probes, n_classes)
            Any integer or floating type, memory-mapped or not; it is read once and never copied
            whole. The columns of a frame name the classes.
        labels : sequence of int or str
            True class of each probe: its column number, or its name where classes have names.
        class_names : sequence, optional
            Name of each column.
        higher_is_better : bool, optional
            False for distances. When not stated, higher is taken to be better, and scores that
            would then be worse than guessing are refused.
        average, tie_rule, groups, order
            See `Pilot`. `groups` and `order` list a value for each column, or map class names to
            values.

        Returns
        -------
        Pilot
        """
        matrix = arrays.as_matrix(scores, "scores")
        n_probes, n_classes = matrix.shape
        enough(n_classes, n_probes)
        names = arrays.column_names(scores) if class_names is None else class_names
        names = np.arange(n_classes) if names is None else arrays.as_labels(names, "class names")
        arrays.same_length(names, "class names", n_classes, "columns")
        given = arrays.as_labels(labels, "labels")
        arrays.same_length(given, "labels", n_probes, "rows of scores")
        true = positions(given, names, numbered=True)
        upwards = higher_is_better is None or arrays.truth(higher_is_better, "higher_is_better")
        source = ScoreMatrix(matrix, true, upwards)
        losses, ties = source.count()
        arrays.refuse_not_finite(source.bad > 0, matrix, "scores")
        _refuse_constant(ties, n_classes)
        pilot = cls(
            losses,
            ties,
            names,
            n_classes=n_classes,
            labels=true,
            source=source,
            average=average,
            tie_rule=tie_rule,
            groups=groups_of(groups, names),
            order=order_of(order, names),
        )
        if higher_is_better is None:
            _refuse_reversed(pilot)
        return pilot

    @classmethod
    def from_embeddings(
        cls,
        probes: Any,
        probe_labels: Any,
        gallery: Any = None,
        gallery_labels: Any = None,
        *,
        metric: str = "euclidean",
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        order: Order = None,
    ) -> Self:
        """Make a pilot from probe vectors and enrolled (gallery) vectors.

        Parameters
        ----------
        probes : array of shape (n_probes, n_dimensions)
            Read block by block, so it may be memory-mapped. No score matrix is ever held.
        probe_labels : sequence of int or str
            True class of each probe.
        gallery : array of shape (n_gallery, n_dimensions), optional
            Enrolled vectors; several of one class are allowed, and its best score counts. Without
            a gallery every row of `probes` is compared with all others (leave one out); classes
            with a single row then only compete.
        gallery_labels : sequence of int or str, optional
            Class of each gallery row; by default row i is class i.
        metric : {"euclidean", "cosine", "dot"}
            How vectors are compared. A vector of length zero has cosine 0 with everything.
        average, tie_rule, groups, order
            See `Pilot`.

        Returns
        -------
        Pilot
        """
        arrays.choice(metric, "metric", tuple(METRICS))
        vectors = arrays.as_matrix(probes, "probes")
        arrays.finite_vectors(vectors, "probes")
        given = arrays.as_labels(probe_labels, "probe labels")
        arrays.same_length(given, "probe labels", len(vectors), "probes")
        if gallery is None:
            if gallery_labels is not None:
                raise DataError(
                    "gallery labels were given without a gallery; give both or neither."
                )
            source, names = leave_one_out(vectors, given, metric)
        else:
            source, names = enrolled(vectors, given, gallery, gallery_labels, metric)
        losses, ties = source.count()
        _refuse_constant(ties, source.n_classes)
        return cls(
            losses,
            ties,
            names,
            n_classes=source.n_classes,
            labels=source.true,
            source=source,
            average=average,
            tie_rule=tie_rule,
            groups=groups_of(groups, names),
            order=order_of(order, names),
        )

    @classmethod
    def from_losses(
        cls,
        losses: Any,
        n_classes: int,
        *,
        ties: Any = None,
        censored: Any = None,
        possible_ties: Any = None,
        labels: Any = None,
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        order: Order = None,
    ) -> Self:
        """Make a pilot from counts alone.

        Parameters
        ----------
        losses : sequence of int
            For each probe, how many wrong classes score above its true class (its rank minus one).
        n_classes : int
            How many classes competed, the true one included.
        ties : sequence of int, optional
            How many wrong classes score exactly as the true one.
        censored : sequence of bool, optional
            True where `losses` is only a lower bound, as when a list was cut off before the true
            class appeared.
        possible_ties : sequence of int, optional
            How many classes may tie with the true one though they do not count as ties: of a
            censored probe those of its losses that may be ties, as the last of a list may; of
            others those beyond a list whose last entry scores as the true class does. They widen
            the bounds of the observed curve, and nothing else.
        labels : sequence of int or str, optional
            True class of each probe. Without labels every probe weighs the same.
        average, tie_rule, groups, order
            See `Pilot`.

        Returns
        -------
        Pilot

        Examples
        --------
        >>> from headcount import Pilot
        >>> Pilot.from_losses([0, 0, 3], n_classes=10).summary().accuracy
        0.6666666666666666
        """
        n_classes = number_of_classes(n_classes, 1)
        lost, tied, cut = checked_counts(losses, ties, censored, n_classes)
        possible = checked_possible_ties(possible_ties, lost, tied, cut, n_classes)
        enough(n_classes, len(lost))
        names, true = np.arange(0), None
        if labels is not None:
            given = arrays.as_labels(labels, "labels")
            arrays.same_length(given, "labels", len(lost), "losses")
            names, true = np.unique(given, return_inverse=True)
            if len(names) > n_classes:
                raise DataError(
                    f"labels name {len(names):,} classes, but n_classes is {n_classes:,}; "
                    "check n_classes."
                )
        return cls(
            lost,
            tied,
            names,
            n_classes=n_classes,
            censored=cut,
            possible_ties=possible,
            labels=true,
            average=average,
            tie_rule=tie_rule,
            groups=groups_of(groups, names),
            order=order_of(order, names),
        )

    @classmethod
    def from_classifier(
        cls,
        clf: Any,
        X: Any,  # noqa: N803 (scikit-learn's name)
        y: Any,
        *,
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        order: Order = None,
    ) -> Self:
        """Make a pilot from a fitted scikit-learn classifier and a test set.

        Scores are its `decision_function`, else its `predict_log_proba`, else `predict_proba`.

        Parameters
        ----------
        clf : fitted classifier
            Anything with `classes_` and one of the three methods.
        X : array of shape (n_probes, n_features)
            Test points, not used in training.
        y : sequence
            Their true classes, as in `clf.classes_`.
        average, tie_rule, groups, order
            See `Pilot`.

        Returns
        -------
        Pilot

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from headcount import Pilot
        >>> X, y = load_digits(return_X_y=True)
        >>> pilot = Pilot.from_classifier(GaussianNB().fit(X[:900], y[:900]), X[900:], y[900:])
        >>> pilot
        Pilot(10 classes, 897 probes)
        """
        if not hasattr(clf, "classes_"):
            raise DataError(
                f"{type(clf).__name__} has no classes_; fit it first, and use a classifier."
            )
        pilot = cls.from_scores(
            classifier_scores(clf, X),
            y,
            class_names=clf.classes_,
            higher_is_better=True,
            average=average,
            tie_rule=tie_rule,
            groups=groups,
            order=order,
        )
        return pilot._made_by(classifier_name(clf))


def _refuse_constant(ties: NDArray[np.int64], n_classes: int) -> None:
    if (ties == n_classes - 1).all():
        raise DataError(
            f"scores: all {len(ties):,} probes score every class the same, so nothing can be "
            "learned from them; check how the scores were made."
        )


def _refuse_reversed(pilot: PilotConstructors) -> None:
    won = 1 - (pilot.losses + pilot.ties / 2) / (pilot.n_classes - 1)
    accuracy = float(pilot.weights @ won)
    if accuracy < REVERSED:
        raise DataError(
            f"scores: between two classes the true one wins only {accuracy:.0%} of the time, worse "
            "than guessing; if these are distances, say higher_is_better=False "
            "(--lower-is-better), otherwise say higher_is_better=True (--higher-is-better)."
        )
