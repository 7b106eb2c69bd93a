"""What it costs to take one class for another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount.errors import DataError, UnsupportedError
from headcount.pilot.pilot import Pilot
from headcount.questions.risk.hierarchy import node_numbers
from headcount.support import validation
from headcount.support.words import share_of

Floats = NDArray[np.float64]

ZERO_ONE = "zero-one"
ROUND_OFF = 1e-9  # of the terms of a product: what their sum may miss zero by
MOST = 1e100  # variances are made of squares, which must not overflow
BLOCK_ENTRIES = 1 << 21
KEPT_BYTES = 1 << 28
COUNTS_ONLY = (
    "this pilot holds only counts, which do not say which class was taken for the true one; make "
    "it from scores or embeddings, or use 0-1 cost."
)


class Cost(ABC):
    """Cost of every mistake, one row at a time; made by `as_cost`.

    Attributes
    ----------
    n_classes : int
        K.
    is_zero_one : bool
        Whether it is known from the start that every mistake costs one.
    """

    is_zero_one = False

    def __init__(self, names: NDArray[Any], n_classes: int) -> None:
        self.n_classes = n_classes
        self._names = names if len(names) == n_classes else np.arange(n_classes)

    @abstractmethod
    def row(self, true: int) -> Floats:
        """Return the cost of taking class number `true` for each class; 0 for itself."""

    def refuse_others(self, names: NDArray[Any]) -> None:
        """Raise a DataError if these are other class names, or the same in another order."""
        if len(names) == self.n_classes and (names.astype(str) != self._names.astype(str)).any():
            raise DataError(
                "cost: it was made for a pilot with other classes, or in another order; make it "
                "again for this one."
            )

    def _entry(self, true: int, taken: int, value: float) -> str:
        return f"{self._names[true]!s} taken for {self._names[taken]!s} costs {value:g}"

    def _refuse(self, parts: Iterable[Part]) -> None:
        """Raise a DataError if an entry of any part is not a cost; say how many, and the first."""
        counts, firsts, total = [0, 0, 0], ["", "", ""], 0
        for values, diagonal, locate in parts:
            total += len(values)
            own = np.zeros(len(values), np.bool_)
            own[diagonal] = values[diagonal] != 0
            for kind, wrong in enumerate((~(np.abs(values) <= MOST), values < 0, own)):
                if not counts[kind] and wrong.any():
                    place = int(np.argmax(wrong))
                    firsts[kind] = self._entry(*locate(place), float(values[place]))
                counts[kind] += int(wrong.sum())
        for count, first, fault, remedy in zip(counts, firsts, FAULTS, REMEDIES, strict=True):
            if count:
                raise DataError(
                    f"cost: {share_of(count, total, 'entries', fault)} (first: {first}); {remedy}."
                )


Part = tuple[Floats, NDArray[Any] | slice, Callable[[int], tuple[int, int]]]
FAULTS = (
    f"are NaN, infinite or beyond {MOST:g}",
    "are negative",
    "on the diagonal are not zero",
)
REMEDIES = (
    "give finite numbers in a larger unit",
    "give costs of 0 or more",
    "taking a class for itself must cost 0",
)


def as_cost(cost: Any, pilot: Pilot) -> Cost:
    """Return costs in any form as a `Cost` for the classes of a pilot.

    Parameters
    ----------
    cost : Cost, str, array, sparse matrix, pair, callable or mapping
        One of

        - ``"zero-one"``: every mistake costs one.
        - A K x K matrix, dense or of `scipy.sparse`: entry [i, j] is the cost of taking class i
          (the true one) for class j, in the order of ``pilot.class_names``.
        - A pair of matrices ``(left, right)`` of K rows each: the cost is ``left @ right.T``,
          which is never held.
        - A function ``f(true, taken)`` of two class names that returns a number.
        - A hierarchy, and the cost is the number of edges between the two classes in the tree:
          nested mappings such as ``{"animal": {"dog": ["beagle", "poodle"]}, "car": None}``,
          whose leaves (members of a list, or keys without content) are class names; or a mapping
          from each class name to the list of its ancestors from the top down, such as
          ``{"beagle": ["animal", "dog"], "car": []}``.
    pilot : Pilot
        What the classes are.

    Returns
    -------
    Cost

    Raises
    ------
    DataError
        Where a cost is negative, not finite or not zero on the diagonal, or where the shape or
        the names do not fit the pilot. Pairs and functions are checked row by row, as rows are
        used.

    Examples
    --------
    >>> from headcount import Pilot
    >>> from headcount.questions.risk import as_cost
    >>> pilot = Pilot.from_scores([[3, 1, 2]], [0], class_names=["beagle", "car", "poodle"])
    >>> tree = {"animal": {"dog": ["beagle", "poodle"]}, "car": None}
    >>> as_cost(tree, pilot).row(0).tolist()
    [0.0, 4.0, 2.0]
    """
    if isinstance(cost, Cost):
        _same_size((cost.n_classes, cost.n_classes), pilot.n_classes)
        cost.refuse_others(pilot.class_names)
        return cost
    names, size = pilot.class_names, pilot.n_classes
    if isinstance(cost, str):
        if cost != ZERO_ONE:
            raise DataError(f'cost is the text {cost!r}; the only one known is "{ZERO_ONE}".')
        return ZeroOneCost(names, size)
    if (isinstance(cost, Mapping) or callable(cost)) and len(names) != size:
        raise UnsupportedError(COUNTS_ONLY)
    if isinstance(cost, Mapping):
        return HierarchyCost(cost, names, size)
    if callable(cost):
        return FunctionCost(cost, names, size)
    if sparse.issparse(cost):
        return SparseCost(cost, names, size)
    if isinstance(cost, tuple | list) and len(cost) == 2 and _n_axes(cost[0]) == 2:
        return LowRankCost(cost[0], cost[1], names, size)
    if _n_axes(cost) in (0, 1, 3):
        raise DataError(
            "cost must be a matrix of one row and one column for each class, a pair of matrices, "
            f'a function, a hierarchy or "{ZERO_ONE}".'
        )
    return MatrixCost(cost, names, size)


class ZeroOneCost(Cost):
    """Every mistake costs one: the risk is one minus the accuracy."""

    is_zero_one = True

    def row(self, true: int) -> Floats:
        """Return ones, and zero for the class itself."""
        values = np.ones(self.n_classes)
        values[true] = 0.0
        return values


class MatrixCost(Cost):
    """Costs in a dense matrix of any number type, which is not copied."""

    def __init__(self, matrix: Any, names: NDArray[Any], n_classes: int) -> None:
        super().__init__(names, n_classes)
        self._matrix = validation.as_matrix(matrix, "cost")
        _same_size(self._matrix.shape, n_classes)
        _same_names(validation.column_names(matrix), self._names)
        self._refuse(self._parts())
        ones = sum(int((values == 1).sum()) for values, _, _ in self._parts())
        self.is_zero_one = ones == n_classes * (n_classes - 1)  # the diagonal is zero

    def row(self, true: int) -> Floats:
        """Return one row of the matrix."""
        return np.array(self._matrix[true], dtype=np.float64)

    def _parts(self) -> Iterable[Part]:
        size = self.n_classes
        step = max(1, BLOCK_ENTRIES // size)
        for start in range(0, size, step):
            block = self._matrix[start : start + step].astype(np.float64)

            def locate(place: int, start: int = start) -> tuple[int, int]:
                return start + place // size, place % size

            yield block.ravel(), slice(start, None, size + 1), locate


class SparseCost(Cost):
    """Costs in a sparse matrix; what it does not hold costs nothing."""

    def __init__(self, matrix: Any, names: NDArray[Any], n_classes: int) -> None:
        super().__init__(names, n_classes)
        if matrix.dtype.kind not in "fiub":
            raise DataError(f"cost must be numbers, but their type is {matrix.dtype}.")
        _same_size(matrix.shape, n_classes)
        self._matrix = sparse.csr_array(matrix)
        if not self._matrix.has_canonical_format:
            self._matrix = self._matrix.copy()  # what was given is not ours to tidy
            self._matrix.sum_duplicates()
        entries = self._matrix.tocoo()
        values = entries.data.astype(np.float64)
        own = np.flatnonzero(entries.row == entries.col)
        self._refuse(
            [(values, own, lambda place: (int(entries.row[place]), int(entries.col[place])))]
        )
        self.is_zero_one = int((values == 1).sum()) == n_classes * (n_classes - 1)

    def row(self, true: int) -> Floats:
        """Return one row, with its zeros."""
        start, stop = self._matrix.indptr[true : true + 2]
        values = np.zeros(self.n_classes)
        values[self._matrix.indices[start:stop]] = self._matrix.data[start:stop]
        return values


class LowRankCost(Cost):
    """Costs that are products of a row of one matrix with a row of another."""

    def __init__(self, left: Any, right: Any, names: NDArray[Any], n_classes: int) -> None:
        super().__init__(names, n_classes)
        self._left, self._right = (
            _factor(values, f"the {side} part of the cost", n_classes)
            for values, side in ((left, "left"), (right, "right"))
        )
        if self._left.shape[1] != self._right.shape[1]:
            raise DataError(
                f"cost: the two parts of the pair disagree, {self._left.shape[1]} columns against "
                f"{self._right.shape[1]}; the cost is left @ right.T."
            )
        self._round_off = max(ROUND_OFF, *(_precision(matrix) for matrix in (left, right)))
        own = np.einsum("ij,ij->i", self._left, self._right)
        terms = np.einsum("ij,ij->i", np.abs(self._left), np.abs(self._right))
        own[np.abs(own) <= self._round_off * terms] = 0.0
        self._refuse([(own, slice(None), lambda place: (place, place))])

    def row(self, true: int) -> Floats:
        """Return one row of the product; what is negative by round-off alone becomes zero."""
        values: Floats = self._right @ self._left[true]
        values[true] = 0.0
        if (values < 0).any():
            terms = np.abs(self._right) @ np.abs(self._left[true])
            values[(values < 0) & (values >= -self._round_off * terms)] = 0.0
        self._refuse([(values, slice(true, true + 1), lambda place: (true, place))])
        return values


class FunctionCost(Cost):
    """Costs from a function of two class names; rows already asked for are kept."""

    def __init__(
        self, function: Callable[[Any, Any], Any], names: NDArray[Any], n_classes: int
    ) -> None:
        super().__init__(names, n_classes)
        self._function = function
        self._labels = self._names.tolist()
        self._kept: dict[int, Floats] = {}

    def row(self, true: int) -> Floats:
        """Call the function for every class."""
        costs = self._kept.get(true)
        if costs is None:
            costs = self._called(true)
            if 8 * self.n_classes * len(self._kept) < KEPT_BYTES:
                self._kept[true] = costs
        return costs.copy()

    def _called(self, true: int) -> Floats:
        label = self._labels[true]
        returned = [self._function(label, other) for other in self._labels]
        try:
            values = np.array(returned, dtype=np.float64).reshape(self.n_classes)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"cost: the function did not return a number for each mistake about {label!s}; "
                "it must return one number for two class names."
            ) from error
        self._refuse([(values, slice(true, true + 1), lambda place: (true, place))])
        return values


class HierarchyCost(Cost):
    """Costs that are distances in a tree of classes."""

    def __init__(self, tree: Mapping[Any, Any], names: NDArray[Any], n_classes: int) -> None:
        super().__init__(names, n_classes)
        self._nodes = node_numbers(tree, self._names)
        self._depths = (self._nodes >= 0).sum(axis=1)

    def row(self, true: int) -> Floats:
        """Count the edges from one class to every class."""
        own = self._nodes[true]
        # Nodes have numbers of their own, so those shared are the ancestors in common.
        shared = ((self._nodes == own) & (own >= 0)).sum(axis=1)
        return np.asarray(self._depths[true] + self._depths - 2 * shared, dtype=np.float64)


class SubsetCost(Cost):
    """Costs of mistakes among some of the classes.

    Parameters
    ----------
    cost : Cost
        Among all of them.
    chosen : ndarray of int
        Which are left.
    names : ndarray
        Their names.
    """

    def __init__(self, cost: Cost, chosen: NDArray[np.intp], names: NDArray[Any]) -> None:
        super().__init__(names, len(chosen))
        self._cost, self._chosen = cost, chosen
        self.is_zero_one = cost.is_zero_one

    def row(self, true: int) -> Floats:
        """Return the columns that are left of one row."""
        return self._cost.row(int(self._chosen[true]))[self._chosen]


def _n_axes(values: Any) -> int:
    """Return how many axes an array has; -1 for lists of unequal length."""
    try:
        return np.ndim(values)
    except ValueError:
        return -1


def _same_size(shape: tuple[int, ...], n_classes: int) -> None:
    if shape != (n_classes, n_classes):
        raise DataError(
            f"cost and pilot disagree: the cost has shape {' x '.join(f'{n:,}' for n in shape)} "
            f"for {n_classes:,} classes; give one row and one column for each class."
        )


def _same_names(columns: list[Any] | None, names: NDArray[Any]) -> None:
    """Refuse a frame whose columns name the classes in another order, or others."""
    titles = None if columns is None else [str(name) for name in columns]
    if titles not in (None, [str(name) for name in names], [str(i) for i in range(len(names))]):
        raise DataError(
            "cost: the columns of the frame are not the classes of the pilot in the order of its "
            "class_names; reorder its rows and columns by name."
        )


def _factor(values: Any, noun: str, n_classes: int) -> Floats:
    matrix = validation.as_matrix(values, noun)
    validation.same_length(matrix, f"rows of {noun}", n_classes, "classes")
    validation.finite_vectors(matrix, noun)
    return np.ascontiguousarray(matrix, dtype=np.float64)


def _precision(values: Any) -> float:
    """Return how far numbers that were kept in few bits may be off."""
    kind = getattr(values, "dtype", None)
    coarse = isinstance(kind, np.dtype) and kind.kind == "f"
    return 64 * float(np.finfo(kind).eps) if coarse else 0.0
