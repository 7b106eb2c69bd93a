"""Pilot: what was measured, validated once and immutable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.counting import (
    SIMILARITIES,
    Beats,
    Pieces,
    Source,
    canonical_order,
    source_of_embeddings,
    source_of_scores,
)
from headcount.errors import DataError, ParameterError, UnsupportedError
from headcount.pilot.classifiers import (
    classifier_name,
    classifier_scores,
    cross_validated_scores,
    number_of_folds,
)
from headcount.pilot.gallery import classes_of_gallery, classes_of_rows, refuse_single_rows
from headcount.pilot.labels import (
    Groups,
    Order,
    enough,
    groups_of,
    number_of_classes,
    order_of,
    positions,
    refuse_duplicates,
)
from headcount.pilot.losses import (
    LossRows,
    LossTable,
    checked_counts,
    checked_possible_ties,
    collapse,
)
from headcount.pilot.mixes import check_groups
from headcount.pilot.ranking import Ranking, rank_classes, rank_documents
from headcount.pilot.summary import PilotSummary, summarise
from headcount.pilot.whole_groups import GroupedPilot, merge_groups
from headcount.support import validation
from headcount.support.words import OF_RUNS, OURS, Nouns, counted

AVERAGES = ("macro", "micro")
TIE_RULES = ("random", "lose", "win")
DRAWN = ("groups", "classes", "strata")
RIVALS = ("shared", "independent")
ANY = 5e-324  # the least number above zero
FEWEST_JOINING = 2  # classes that are not always present
FEWEST_GROUPS = 10  # as many as classes that a back-test hides the rest from
BEATS_BUDGET = 1 << 30
REVERSED = 0.4  # between two classes: less often right is worse than guessing


class Pilot:
    """The experiment you have: K classes, N probes, and how the true class of each probe fared.

    Make one with `from_scores`, `from_embeddings`, `from_losses` or `from_classifier`; read one
    from files with `headcount.load`. Rows keep the order they were given in; every method works on
    `table()`, whose order does not depend on it.

    Attributes
    ----------
    n_classes, n_probes : int
        K and N.
    class_names : ndarray
        Name of each class, in ascending order for embeddings, in column order for scores.
    labels : ndarray of int64 or None
        For each probe, the position of its true class in `class_names`.
    losses, ties : ndarray of int64
        For each probe, how many wrong classes score above, and equal to, its true class.
    censored : ndarray of bool
        Whether `losses` is only a lower bound.
    possible_ties : ndarray of int64
        How many classes may tie with the true one, though they do not count in `ties`, because a
        list was cut: of a censored probe some of its losses, of others classes beyond the list.
    weights : ndarray of float64
        Weight of each probe in an average; they sum to one.
    average : {"macro", "micro"}
        Macro: every class with probes weighs the same. Micro: every probe does.
    tie_rule : {"random", "lose", "win"}
        What happens when a wrong class scores exactly as the true one. Random: each of the tied
        classes is chosen with the same chance, and results are exact expectations.
    groups : ndarray or None
        Group of each class, for classes that belong together (the alphabet of a character).
    drawn : {"groups", "classes", "strata"}
        How the groups came into the pilot, and how those to come will. Groups: whole, with all of
        their classes, as families and alphabets do. Classes: one by one from groups that stay the
        same, as men and women do. Strata: the same, and how many came from each was fixed before.
        Without groups it means nothing.
    order : ndarray of float64 or None
        Where each class stands in an order that may matter (when it was added, its batch, how
        often it is asked for); only used to check that nothing changes along it.
    classifier : str or None
        Kind of classifier that gave the scores, where `from_classifier` was told.
    folds : int or None
        In how many folds the scores were cross-validated; None where no probe was trained with.
    rivals : {"shared", "independent"}
        Whether all probes met the same classes, or each its own random ones (sampled negatives).
    ranking : Ranking or None
        What stays at every size: all graded documents of each query, where there are several
        (`from_run`), and classes or documents that are always present (`with_always`). `losses` and
        `ties` are those of the true class, or of the best relevant document.
    nouns : Nouns
        What classes and probes are called in everything that is made from the pilot; see
        `with_nouns`.
    listed_scores : ndarray of float64, shape (n_probes, 2), or None
        Of nearest-neighbour lists, the scores of the true class and of the best other one, higher
        is better; -inf for what is not in the list.

    Examples
    --------
    >>> import headcount
    >>> scores = [[0.9, 0.1, 0.3], [0.2, 0.8, 0.8], [0.7, 0.5, 0.1]]
    >>> pilot = headcount.Pilot.from_scores(scores, [0, 1, 2])
    >>> pilot.losses.tolist(), pilot.ties.tolist()
    ([0, 0, 2], [0, 1, 0])
    """

    def __init__(
        self,
        losses: NDArray[np.int64],
        ties: NDArray[np.int64],
        class_names: NDArray[Any],
        *,
        n_classes: int,
        censored: NDArray[np.bool_] | None = None,
        possible_ties: NDArray[np.int64] | None = None,
        labels: NDArray[np.int64] | None = None,
        source: Source | None = None,
        listed_scores: NDArray[np.float64] | None = None,
        beats: Beats | None = None,
        average: str = "macro",
        tie_rule: str = "random",
        groups: NDArray[Any] | None = None,
        drawn: str = "groups",
        order: NDArray[np.float64] | None = None,
        classifier: str | None = None,
        folds: int | None = None,
        rivals: str = "shared",
        ranking: Ranking | None = None,
        nouns: Nouns = OURS,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.n_probes = len(losses)
        self.average = validation.choice(average, "average", AVERAGES)
        self.tie_rule = validation.choice(tie_rule, "tie_rule", TIE_RULES)
        self.losses = _frozen(losses)
        self.ties = _frozen(ties)
        self.censored = _frozen(np.zeros(len(losses), np.bool_) if censored is None else censored)
        self.possible_ties = _frozen(
            np.zeros(len(losses), np.int64) if possible_ties is None else possible_ties
        )
        self.labels = None if labels is None else _frozen(labels)
        self.class_names = _frozen(class_names)
        self.groups = None if groups is None else _frozen(groups)
        self.drawn = validation.choice(drawn, "drawn", DRAWN)
        self.order = None if order is None else _frozen(order)
        self.classifier = classifier
        self.folds = folds
        self.rivals = validation.choice(rivals, "rivals", RIVALS)
        self.ranking = ranking
        self.nouns = nouns
        self.listed_scores = None if listed_scores is None else _frozen(listed_scores)
        self.weights = _frozen(self._weights() if weights is None else weights)
        self._source = source
        self._beats = beats
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse changes: a pilot is what was measured; only the beats list is filled in later."""
        if getattr(self, "_sealed", False) and name != "_beats":
            raise AttributeError("a Pilot cannot be changed; make a new one")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        """Refuse to forget, too."""
        raise AttributeError("a Pilot cannot be changed; make a new one")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Seal what was unpickled or copied: NumPy makes the arrays anew, and writeable."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)
        for name in ("_table", "settled", "merged"):
            self.__dict__.pop(name, None)  # made again where it is asked for

    # -- how it is made -------------------------------------------------------------------------

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
        drawn: str = "groups",
        order: Order = None,
        folds: int | None = None,
        always: Any = None,
    ) -> Pilot:
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
        average, tie_rule, groups, drawn, order
            See `Pilot`. `groups` and `order` list a value for each column, or map class names to
            values.
        folds : int, optional
            In how many folds the scores were cross-validated, as those of scikit-learn's
            `cross_val_predict` are. Check HC023 then says what that means.
        always : sequence, optional
            Classes that are present at every size; see `with_always`.

        Returns
        -------
        Pilot
        """
        table = validation.as_table(scores, "scores")
        n_probes, n_classes = table.shape
        enough(n_classes, n_probes)
        names = validation.column_names(scores) if class_names is None else class_names
        names = (
            np.arange(n_classes) if names is None else validation.as_labels(names, "class names")
        )
        validation.same_length(names, "class names", n_classes, "columns")
        true_names = validation.as_labels(labels, "labels")
        validation.same_length(true_names, "labels", n_probes, "rows of scores")
        true = positions(true_names, names, numbered=True)
        upwards = higher_is_better is None or validation.truth(higher_is_better, "higher_is_better")
        source = source_of_scores(table, true, upwards)
        losses, ties = source.count()
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
            drawn=drawn,
            order=order_of(order, names),
            folds=number_of_folds(folds),
        )
        if higher_is_better is None:
            _refuse_reversed(pilot)
        return pilot if always is None else pilot.with_always(always)

    @classmethod
    def from_embeddings(
        cls,
        probes: Any,
        probe_labels: Any,
        gallery: Any = None,
        gallery_labels: Any = None,
        *,
        similarity: str = "euclidean",
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        drawn: str = "groups",
        order: Order = None,
        always: Any = None,
    ) -> Pilot:
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
        similarity : {"euclidean", "cosine", "dot"}
            How vectors are compared. A vector of length zero has cosine 0 with everything.
        average, tie_rule, groups, drawn, order
            See `Pilot`.
        always : sequence, optional
            Classes that are present at every size; see `with_always`.

        Returns
        -------
        Pilot
        """
        validation.choice(similarity, "similarity", SIMILARITIES)
        vectors = validation.as_table(probes, "probes")
        validation.some_dimensions(vectors, "probes")
        true_names = validation.as_labels(probe_labels, "probe labels")
        validation.same_length(true_names, "probe labels", vectors.shape[0], "probes")
        if gallery is None:
            if gallery_labels is not None:
                raise DataError(
                    "gallery labels were given without a gallery; give both or neither."
                )
            names, owners = classes_of_rows(true_names)
            source = source_of_embeddings(vectors, owners, similarity)
            refuse_single_rows(source.n_classes, source.n_probes)
        else:
            enrolled = validation.as_table(gallery, "gallery")
            validation.some_dimensions(enrolled, "gallery")
            validation.same_dimensions(vectors, enrolled)
            names, true, owners = classes_of_gallery(true_names, gallery_labels, enrolled.shape[0])
            source = source_of_embeddings(vectors, true, similarity, enrolled, owners)
        losses, ties = source.count()
        _refuse_constant(ties, source.n_classes)
        pilot = cls(
            losses,
            ties,
            names,
            n_classes=source.n_classes,
            labels=source.true,
            source=source,
            average=average,
            tie_rule=tie_rule,
            groups=groups_of(groups, names),
            drawn=drawn,
            order=order_of(order, names),
        )
        return pilot if always is None else pilot.with_always(always)

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
        rivals: str = "shared",
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        drawn: str = "groups",
        order: Order = None,
    ) -> Pilot:
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
        rivals : {"shared", "independent"}
            Independent: each probe met rivals of its own, drawn at random from a larger catalogue,
            as where metrics are measured with 99 sampled negatives (then ``n_classes=100``). Its
            forecast for the whole catalogue is what the metric would be without sampling. Whether
            rivals were drawn with or without replacement matters little while they are few of the
            catalogue.
        average, tie_rule, groups, drawn, order
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
            true_names = validation.as_labels(labels, "labels")
            validation.same_length(true_names, "labels", len(lost), "losses")
            names, true = np.unique(true_names, return_inverse=True)
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
            rivals=rivals,
            average=average,
            tie_rule=tie_rule,
            groups=groups_of(groups, names),
            drawn=drawn,
            order=order_of(order, names),
        )

    @classmethod
    def from_run(
        cls,
        run: Any,
        qrels: Any,
        *,
        n_classes: int,
        relevant_from: float | None = None,
        always: Any = None,
        average: str = "macro",
        tie_rule: str = "random",
    ) -> Pilot:
        """Make a pilot from what a search engine returned for some queries, and judgements.

        Every query is a probe and every document a class. Documents with a grade, and those that
        are always present, stay as the collection grows; documents that join hold no relevant ones.
        Accuracy, top-m and mrr look at the best relevant document of each query, `recall@m`,
        `precision@m`, `ndcg@m` and `map` at all.

        Parameters
        ----------
        run : dict, frame or path
            Scores, higher is better: ``{"query": {"document": score}}``; a table with a row for
            each, and columns ``q_id`` or ``query_id``, ``doc_id`` and ``score``; or a TREC run.
        qrels : dict, frame or path
            Grades, in the same form; in a table the column may be called ``score`` or
            ``relevance``. Documents without a grade above zero are not relevant.
        n_classes : int
            How many documents the collection holds.
        relevant_from : float, optional
            The least grade that counts as relevant, by default any above zero. nDCG takes every
            grade above zero as a gain.
        always : sequence, dict or path, optional
            Documents that are present at every size, such as hard negatives that were judged: for
            all queries, or for each one.
        average, tie_rule
            See `Pilot`; queries weigh the same either way.

        Returns
        -------
        Pilot
            Documents that are not in the run are known to be behind those that are.

        Examples
        --------
        >>> from headcount import Pilot, observe
        >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
        >>> pilot = Pilot.from_run(run, {"q": {"b": 1, "c": 1}}, n_classes=10)
        >>> observe(pilot).value([2, 10], "recall@2").tolist()
        [1.0, 0.5]
        """
        from headcount.pilot.loading.runs import always_of, grades_of, scores_of, usable

        size = number_of_classes(n_classes, 2)
        least = (
            ANY if relevant_from is None else validation.positive(relevant_from, "relevant_from")
        )
        scores, grades = usable(scores_of(run), grades_of(qrels), least)
        ranking = rank_documents(
            scores, grades, size, relevant_from=least, always=always_of(always, scores)
        )
        blank = cls.from_losses([0], 2, average=average, tie_rule=tie_rule)
        return blank._but(nouns=OF_RUNS).ranked(ranking)

    @classmethod
    def from_classifier(
        cls,
        clf: Any,
        X: Any,  # noqa: N803 (scikit-learn's name)
        y: Any,
        *,
        cv: Any = None,
        average: str = "macro",
        tie_rule: str = "random",
        groups: Groups = None,
        drawn: str = "groups",
        order: Order = None,
    ) -> Pilot:
        """Make a pilot from a scikit-learn classifier and a test set, or by cross-validation.

        Scores are its `decision_function`, else its `predict_log_proba`, else `predict_proba`.

        Parameters
        ----------
        clf : classifier
            Anything with `classes_` and one of the three methods; with `cv`, anything that
            scikit-learn can copy and fit.
        X : array of shape (n_probes, n_features)
            Test points, not used in training; with `cv`, all points.
        y : sequence
            Their true classes, as in `clf.classes_`.
        cv : int, splitter or sequence of (train, test), optional
            Cross-validate: with 5, every point is scored by a copy of `clf` that was trained on
            four of five stratified folds, those without it. The copies are fitted anew, and `clf`
            stays as it is. Each point must be tested once, and every training part must hold all
            classes. Check HC023 says what this means for the forecast.
        average, tie_rule, groups, drawn, order
            See `Pilot`.

        Returns
        -------
        Pilot

        References
        ----------
        Zheng, Achanta and Benjamini, *Extrapolating expected accuracies for multi-class
        classification*, §3.1.1.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from headcount import Pilot
        >>> X, y = load_digits(return_X_y=True)
        >>> pilot = Pilot.from_classifier(GaussianNB().fit(X[:900], y[:900]), X[900:], y[900:])
        >>> pilot
        Pilot(10 classes, 897 probes)

        Without a test set, every point is a probe of the copies that were trained without it:

        >>> Pilot.from_classifier(GaussianNB(), X, y, cv=5)
        Pilot(10 classes, 1,797 probes)
        """
        folds = None
        if cv is not None:
            scores, names, folds = cross_validated_scores(clf, X, y, cv)
        elif not hasattr(clf, "classes_"):
            raise DataError(
                f"{type(clf).__name__} has no classes_; fit it first (or say cv=5), and use a "
                "classifier."
            )
        else:
            scores, names = classifier_scores(clf, X), clf.classes_
        pilot = cls.from_scores(
            scores,
            y,
            class_names=names,
            higher_is_better=True,
            average=average,
            tie_rule=tie_rule,
            groups=groups,
            drawn=drawn,
            order=order,
            folds=folds,
        )
        return pilot._made_by(classifier_name(clf))

    # -- what it offers -------------------------------------------------------------------------

    @property
    def has_scores(self) -> bool:
        """Whether scores are at hand, for methods that need more than losses."""
        return self._source is not None

    @property
    def has_beats(self) -> bool:
        """Whether the list of `beats` has been made, so that it costs nothing more."""
        return self._beats is not None

    @property
    def knows_rivals(self) -> bool:
        """Whether it can be told who beat whom: there are scores, or the list of `beats`."""
        return self.has_scores or self.has_beats

    @cached_property
    def whole_groups(self) -> bool:
        """Whether groups are what was drawn: whole, enough of them, and it is known who beat whom.

        Where every class is a group of its own, it is classes that were drawn.
        """
        if self.groups is None or self.drawn != "groups" or self.labels is None:
            return False
        n_groups = len(np.unique(self.groups))
        return FEWEST_GROUPS <= n_groups < self.n_classes and self.knows_rivals

    @property
    def strata(self) -> NDArray[np.int64] | None:
        """Number of each class's group where a fixed number came from each; None elsewhere."""
        if self.groups is None or self.drawn != "strata" or self.labels is None:
            return None
        return np.unique(self.groups, return_inverse=True)[1]

    @cached_property
    def merged(self) -> GroupedPilot:
        """The pilot with its groups for classes."""
        return merge_groups(self)

    def table(self) -> LossTable:
        """Distinct losses with their weights, ties resolved by the tie rule.

        Under ``tie_rule="random"`` a probe with L losses and T ties enters as rows L ... L + T of
        weight 1 / (T + 1) each, which is exact: among T + 1 equals in random order, the number
        ahead of the true class is uniform. Computed once and kept.
        """
        return self._table

    @cached_property
    def _table(self) -> LossTable:
        plain = self._rows(self.losses, self.ties, ~self.censored)
        cut = self._rows(self.losses, self.ties, self.censored)
        return LossTable(
            _frozen(np.concatenate([plain[0], cut[0]])),
            _frozen(np.concatenate([plain[1], cut[1]])),
            _frozen(np.repeat([False, True], [len(plain[0]), len(cut[0])])),
            self.n_classes - 1,
            self._bounds(),
        )

    @cached_property
    def settled(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Losses and ties of every probe once the tie rule has spoken.

        Ties are left under ``tie_rule="random"`` alone, where each of the tied classes is chosen
        with the same chance.
        """
        losses, ties = self._settled(self.losses, self.ties)
        return _frozen(losses), _frozen(ties)

    @cached_property
    def right(self) -> NDArray[np.float64]:
        """Chance of every probe to be right among all classes; none where it is censored.

        Examples
        --------
        >>> from headcount import Pilot
        >>> Pilot.from_losses([0, 0, 2], n_classes=9, ties=[0, 1, 0]).right.tolist()
        [1.0, 0.5, 0.0]
        """
        losses, ties = self.settled
        return _frozen(((losses == 0) & ~self.censored) / (1.0 + ties))

    def true_scores(self) -> NDArray[np.float64]:
        """Scores of the true classes alone; higher is better."""
        return self._need_source().true_scores()

    def copies(self) -> NDArray[np.bool_] | None:
        """Which probes are also enrolled as another vector of their class; None without vectors.

        Vectors count as equal that differ in their last digits only; where vectors are so coarse
        that they are equal without being copies, no probe is.
        """
        return self._need_source().copies()

    def score_blocks(self, rows: int | None = None) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Scores against all classes for successive blocks of probes; higher is better."""
        return self._need_source().blocks(rows)

    def ordered_blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Blocks for those who use only the order within each row, which is exact in any type."""
        return self._need_source().ordered_blocks()

    def pieces(
        self, top: int = 10, levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
    ) -> Pieces:
        """Per-probe summaries of the scores, in one pass over them.

        Parameters
        ----------
        top : int
            How many of the best impostor scores to keep.
        levels : sequence of float
            Which quantiles of the impostor scores to keep.

        Returns
        -------
        Pieces
            True score, best impostor scores (descending), mean, spread and quantiles.
        """
        top = validation.whole_number(top, "top", 1)
        shares = np.asarray(levels, dtype=np.float64)
        if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
            raise DataError("levels must be a list of numbers from 0 to 1.")
        return self._need_source().measure(top, shares)[2]

    def beats(self, budget: int = BEATS_BUDGET) -> Beats:
        """Which classes beat or tie each probe; computed once and kept.

        Parameters
        ----------
        budget : int
            Refuse a list of more bytes than this.

        Returns
        -------
        Beats
        """
        if self._beats is None:
            needed = 5 * int((self.losses + self.ties).sum())
            if needed > budget:
                raise UnsupportedError(
                    f"the list of classes that beat each probe would take {needed / 2**30:.1f} "
                    f"GiB, more than the budget of {budget / 2**30:.1f} GiB; use fewer probes or "
                    "raise the budget."
                )
            self._beats = self._need_source().beats(self.losses, self.ties)
        return self._beats

    def settled_beats(self) -> Beats:
        """Which classes beat or tie each probe once the tie rule has spoken, as in `settled`.

        Examples
        --------
        >>> from headcount import Pilot
        >>> scores = [[2, 2, 1], [0, 5, 6]]
        >>> for rule in ("random", "lose", "win"):
        ...     beats = Pilot.from_scores(scores, [0, 1], tie_rule=rule).settled_beats()
        ...     print(beats.start.tolist(), beats.classes.tolist(), beats.tied.tolist())
        [0, 1, 2] [1, 2] [True, False]
        [0, 1, 2] [1, 2] [False, False]
        [0, 0, 1] [2] [False]
        """
        beats = self.beats()
        if self.tie_rule == "random":
            return beats
        counted = ~beats.tied | (self.tie_rule == "lose")
        owner = np.repeat(np.arange(self.n_probes), np.diff(beats.start))[counted]
        start = np.searchsorted(owner, np.arange(self.n_probes + 1)).astype(np.int64)
        tied = np.zeros(len(owner), np.bool_)
        return Beats(start, beats.classes[counted], tied, beats.n_classes)

    def canonical_classes(self) -> NDArray[Any]:
        """Names of the classes in an order that does not depend on how the data were ordered.

        For random draws of classes: who beats whom decides, so it needs `beats`.
        """
        beats = self.beats()
        assert self.labels is not None  # a pilot with scores has labels
        blocks = self.score_blocks if self.has_scores else None
        return np.asarray(self.class_names[canonical_order(beats, self.labels, blocks)])

    def has_probes(self, classes: NDArray[Any]) -> bool:
        """Whether any of these classes has a probe."""
        return self.labels is not None and bool(
            np.isin(self.class_names[self.labels], classes).any()
        )

    def subset(self, classes: Any) -> Pilot:
        """Return the pilot that only these classes would have given.

        Works from the list of `beats` where that has been computed, else from the scores.

        Parameters
        ----------
        classes : sequence
            Names of the classes to keep, as in `class_names`.

        Returns
        -------
        Pilot
        """
        if self._source is None and self._beats is None:
            raise UnsupportedError(
                "this pilot holds only counts, which do not say who beat whom; "
                "make it from scores or embeddings to take a subset of classes."
            )
        names = validation.as_labels(classes, "classes")
        chosen = positions(names, self.class_names)
        refuse_duplicates(names, "classes")
        enough(len(chosen), 1)
        chosen = np.sort(chosen)
        assert self.labels is not None  # a pilot with scores has labels
        number = np.full(self.n_classes, -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(number[self.labels] >= 0)
        enough(len(chosen), len(rows))
        true = number[self.labels[rows]]
        source = None if self._source is None else self._source.subset(rows, chosen, true)
        beats = None if self._beats is None else self._beats.subset(rows, chosen)
        if beats is not None:
            lost, tied = beats.count(np.ones(len(chosen)))
            losses, ties = lost.astype(np.int64), tied.astype(np.int64)
        else:
            assert source is not None
            losses, ties = source.count()
        return self._with(
            losses,
            ties,
            self.class_names[chosen],
            n_classes=len(chosen),
            labels=true,
            source=source,
            beats=beats,
            groups=None if self.groups is None else self.groups[chosen],
            order=None if self.order is None else self.order[chosen],
        )

    def only_groups(self, *groups: Any) -> Pilot:
        """Return the pilot that only the classes of these groups would have given.

        Parameters
        ----------
        *groups : str or int
            Names of groups, as in `groups`.

        Returns
        -------
        Pilot

        Examples
        --------
        >>> scores = [[3, 1, 2, 0], [1, 2, 3, 0], [0, 1, 2, 3]]
        >>> pilot = Pilot.from_scores(scores, [0, 1, 3], groups=["a", "a", "b", "b"])
        >>> pilot.only_groups("a")
        Pilot(2 classes, 2 probes)
        """
        if not groups:
            raise ParameterError("only_groups names no group; name at least one.")
        check_groups(self.groups, groups)
        assert self.groups is not None  # looked at there
        inside = np.isin(self.groups.astype(str), [str(group) for group in groups])
        return self.subset(self.class_names[inside])

    def keep_probes(self, rows: Any) -> Pilot:
        """Return the pilot with only some of its probes; all classes still compete.

        Parameters
        ----------
        rows : sequence of int or of bool
            Positions of the probes to keep, each once, or a mask with one entry for each probe.

        Returns
        -------
        Pilot
        """
        chosen = validation.as_positions(rows, "probes to keep", self.n_probes)
        enough(self.n_classes, len(chosen))
        if self.ranking is not None:
            return self.ranked(self.ranking.of_queries(np.isin(np.arange(self.n_probes), chosen)))
        every = np.arange(self.n_classes)
        true = None if self.labels is None else self.labels[chosen]
        source = None
        if self._source is not None and true is not None:
            source = self._source.subset(chosen, every, true)
        return self._with(
            self.losses[chosen],
            self.ties[chosen],
            self.class_names,
            n_classes=self.n_classes,
            censored=self.censored[chosen],
            possible_ties=self.possible_ties[chosen],
            labels=true,
            source=source,
            listed_scores=None if self.listed_scores is None else self.listed_scores[chosen],
            beats=None if self._beats is None else self._beats.subset(chosen, every),
            groups=self.groups,
            order=self.order,
        )

    def with_nouns(self, noun: str | None = None, probe_noun: str | None = None) -> Pilot:
        """Return the same pilot, whose classes and probes are called something else.

        Sentences, tables, reports and pictures then say so; data and options keep their names.

        Parameters
        ----------
        noun : str, optional
            What a class is: "person/people", or one word if its plural is regular. By default it
            is called what it was before.
        probe_noun : str, optional
            What a probe is, such as "photo/photos".

        Returns
        -------
        Pilot

        Examples
        --------
        >>> import headcount
        >>> pilot = headcount.Pilot.from_losses([0, 0, 1], n_classes=50)
        >>> pilot.with_nouns("person/people", "photo")
        Pilot(50 people, 3 photos)
        """
        return self._but(nouns=Nouns.of(noun, probe_noun, self.nouns))

    def with_groups(self, groups: Groups, drawn: str = "groups") -> Pilot:
        """Return the same pilot, of which it is known which classes belong together.

        Parameters
        ----------
        groups : sequence or mapping or None
            Group of each class of `class_names`, in their order or by name; None for no groups.
        drawn : {"groups", "classes", "strata"}
            How they came into the pilot; see `Pilot`.

        Returns
        -------
        Pilot

        Examples
        --------
        >>> from headcount import Pilot
        >>> pilot = Pilot.from_scores([[3, 1, 2], [0, 5, 4]], [0, 1])
        >>> pilot.with_groups({0: "x", 1: "y", 2: "y"}).groups.tolist()
        ['x', 'y', 'y']
        """
        return self._but(groups=groups_of(groups, self.class_names), drawn=drawn)

    def with_always(self, classes: Any) -> Pilot:
        """Return the same pilot, some of whose classes are present at every size.

        Hard negatives that every test holds, or the people who are enrolled already: only the other
        classes are a sample of those that will join, and a forecast grows by such as these.

        Parameters
        ----------
        classes : sequence
            Names of these classes, as in `class_names`.

        Returns
        -------
        Pilot
            Of counts alone: what each probe loses to classes that stay, and to the others.

        Examples
        --------
        Class 1 beats the second probe at every size, class 2 only where it is drawn:

        >>> from headcount import Pilot, observe
        >>> scores = [[9, 1, 2, 3], [7, 0, 8, 5], [1, 2, 9, 3]]
        >>> pilot = Pilot.from_scores(scores, [0, 0, 2])
        >>> observe(pilot).accuracy([2, 4]).round(2).tolist()
        [0.92, 0.75]
        >>> observe(pilot.with_always([2])).accuracy([2, 4]).round(2).tolist()
        [0.75, 0.75]
        """
        if self.whole_groups or self.ranking is not None:
            what = "classes that came in whole groups" if self.whole_groups else "graded documents"
            raise UnsupportedError(f"always is not known how to go with {what}; leave one out.")
        if not self.knows_rivals or self.labels is None:
            raise UnsupportedError(
                "this pilot holds only counts, which do not say which classes beat a probe; make "
                "it from scores or embeddings to say what is always present."
            )
        names = validation.as_labels(classes, "always")
        stays = np.zeros(self.n_classes, np.bool_)
        stays[positions(names, self.class_names)] = True
        if (~stays).sum() < FEWEST_JOINING:
            raise ParameterError(
                f"always names {int(stays.sum()):,} of {self.n_classes:,} classes, so that nothing "
                "is left that shows what will join; to keep the whole pilot and add to it, ask for "
                'kind="grown_set".'
            )
        beats = self.beats()
        lost, tied = (
            (of_stays.astype(np.int64), (total - of_stays).astype(np.int64))
            for total, of_stays in zip(
                (self.losses, self.ties), beats.count(stays.astype(np.float64)), strict=True
            )
        )
        n_always = stays.sum() - stays[self.labels]
        ranking = rank_classes(
            self.n_classes, lost, tied, n_always, self.labels, self.weights, self.class_names
        )
        return self.ranked(ranking)

    def ranked(self, ranking: Ranking) -> Pilot:
        """Return the pilot of queries and what stays with them, spoken of as this one."""
        first = np.where(ranking.first > 0, ranking.query, ranking.n_queries)
        best = np.unique(first, return_index=True)[1][: ranking.n_queries]
        several = bool((ranking.absent > 1).any())
        return self._with(
            ranking.losses[best] + ranking.above[best],
            ranking.ties[best] + ranking.always_ties[best],
            self.class_names,
            n_classes=ranking.n_documents,
            labels=ranking.owner if len(self.class_names) else None,
            censored=ranking.missing[best],
            possible_ties=ranking.possible_ties[best],
            ranking=ranking if several else None,
            weights=ranking.weights,
        )

    def _with_listed_scores(self, scores: NDArray[np.float64]) -> Pilot:
        """Return the same pilot, which remembers two scores of each ranked list."""
        return self._but(listed_scores=scores)

    def _made_by(self, classifier: str) -> Pilot:
        """Return the same pilot, which remembers what kind of classifier gave the scores."""
        return self._but(classifier=classifier)

    def _but(self, **changed: Any) -> Pilot:
        """Return the same pilot with something else known about it."""
        return self._with(
            self.losses,
            self.ties,
            self.class_names,
            n_classes=self.n_classes,
            censored=self.censored,
            possible_ties=self.possible_ties,
            labels=self.labels,
            source=self._source,
            beats=self._beats,
            **({n: getattr(self, n) for n in ("groups", "order", "listed_scores")} | changed),
        )

    def _with(self, *counts: NDArray[Any], **parts: Any) -> Pilot:
        """Return a pilot that averages, breaks ties and is spoken of as this one."""
        same = (
            "average", "tie_rule", "drawn", "classifier", "folds", "rivals", "ranking", "nouns",
        )  # fmt: skip
        settings = {name: getattr(self, name) for name in same}
        return Pilot(*counts, **(settings | parts))

    def summary(self) -> PilotSummary:
        """Return counts, balance, ties, accuracy, and the classes to look at first."""
        return summarise(self)

    def __repr__(self) -> str:
        size = f"{counted(self.n_classes, 'class')}, {counted(self.n_probes, 'probe')}"
        return f"Pilot({self.nouns.rename(size)})"

    def _repr_html_(self) -> str:
        from headcount.display.notebook import pilot_html

        return pilot_html(self)

    # -- inner workings -------------------------------------------------------------------------

    def _rows(
        self, losses: NDArray[np.int64], ties: NDArray[np.int64], chosen: NDArray[np.bool_]
    ) -> LossRows:
        """Losses and weights of some probes, ties resolved by the tie rule."""
        return collapse(*self._settled(losses, ties), self.weights, chosen)

    def _settled(
        self, losses: NDArray[np.int64], ties: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.tie_rule == "random":
            return losses, ties
        return losses + ties if self.tie_rule == "lose" else losses, np.zeros_like(ties)

    def _bounds(self) -> tuple[LossRows, LossRows] | None:
        """Return the fewest and the most losses that ties at the end of lists allow."""
        if not self.possible_ties.any():
            return None
        every = np.ones(self.n_probes, np.bool_)
        at_end = np.where(self.censored, self.possible_ties, 0)
        fewest = self._rows(self.losses - at_end, self.ties + at_end, every)
        # Tied with all beyond the list a probe has any number of losses; that it has the most is
        # close to that, and is one row where a large gallery would take millions.
        unknown = self.censored | ((self.possible_ties > 0) & (self.tie_rule != "win"))
        most = np.where(unknown, self.n_classes - 1, self.losses)
        return fewest, self._rows(most, np.where(unknown, 0, self.ties), every)

    def _need_source(self) -> Source:
        if self._source is None:
            raise UnsupportedError(
                "this pilot holds only counts, not scores; make it from scores or embeddings."
            )
        return self._source

    def _weights(self) -> NDArray[np.float64]:
        if self.average == "micro" or self.labels is None:
            return np.full(self.n_probes, 1 / self.n_probes)
        per_class = np.bincount(self.labels)
        return np.asarray(1 / (per_class[self.labels] * np.count_nonzero(per_class)))


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    copy = np.array(values)
    copy.flags.writeable = False
    return copy


def _refuse_constant(ties: NDArray[np.int64], n_classes: int) -> None:
    if (ties == n_classes - 1).all():
        raise DataError(
            f"scores: all {len(ties):,} probes score every class the same, so nothing can be "
            "learned from them; check how the scores were made."
        )


def _refuse_reversed(pilot: Pilot) -> None:
    won = 1 - (pilot.losses + pilot.ties / 2) / (pilot.n_classes - 1)
    accuracy = float(pilot.weights @ won)
    if accuracy < REVERSED:
        raise DataError(
            f"scores: between two classes the true one wins only {accuracy:.0%} of the time, worse "
            "than guessing; if these are distances, say higher_is_better=False "
            "(--lower-is-better), otherwise say higher_is_better=True (--higher-is-better)."
        )
