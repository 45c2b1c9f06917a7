"""`linear`: a public linear image of a matrix, sum_i left_i (x) (a_i right); neighbours are matrices.

**Lemma.** Data are whole numbers of lattice steps (rounded as they enter), public factors are whole numbers
as well. One changed cell (i, j) moves the image by c left_i (x) right_j, of norm |c| |left_i| |right_j|.
The norm is convex, so a change of l1 distance R is at worst R times one cell. Hence |change| <= steps * max
|left| * max |right_j|, evaluated in integers at the *quantised* factors, which are scaled until it just
fills 2^30. The bound of the left vectors is declared and enforced by clipping: it does not depend on which
users are present. Proof page: `proofs/linear.md`; other relations are in `hushfold.statistics.relation`.

How a method states what it needs (A is users x items; one `linear_map` per public state, made once):

    Phi A                linear_map(relation, m, Vectors(phi, bound))            -> m x phi, items first
    A Psi, A X           linear_map(relation, m, Declared(n), right=Psi)         -> n x psi
    S A T, Phi A T       linear_map(relation, m, Vectors(s, bound), right=T)     -> s x t
    A itself             linear_map(relation, m, Declared(n))                    -> n x m

`left` then holds the user's column of Phi or S (`Vectors`), a public function of the user's key, redrawn or
cut at a public norm `bound`; or the number of the user's row in a declared list (`Declared`). A private
power method over a graph is `A X` with relation `pair`, one map per step, from the X that was released
before. Decoders use `applied_left` and `applied_right`: the image is that of these very matrices, so
rounding them costs no accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.statistics.base import LATTICE, SmallAccumulator, Spec
from hushfold.statistics.quantise import COARSEST, Norm, checked_bound, quantise_dense
from hushfold.statistics.relation import Relation, fill_lattice
from hushfold.statistics.rows import guard
from hushfold.types import Rows

Floats = NDArray[np.floating]

LARGEST = 2**20  # lattice steps a cell may hold; cutting each cell there never lengthens a difference


@dataclass(frozen=True, slots=True)
class Vectors:
    """Every user has a public vector of `width` numbers, clipped to norm `bound`."""

    width: int
    bound: float


@dataclass(frozen=True, slots=True)
class Declared:
    """Every user is one of `rows` rows of a public list; rows nobody has are noised like all others.

    No two users may be the same row where the relation is `pair` or `spectral`.
    """

    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap:
    """A public image, quantised: everything about the statistic that depends on no user."""

    spec: Spec
    catalogue: int
    relation: Relation
    value_step: float
    left: Vectors | Declared
    left_lattice: int
    """Norm of the longest left vector, in integers; 1 for declared rows."""
    right: NDArray[np.int64]
    """Quantised, catalogue x p; the multiple of the identity if it has no axes."""
    right_unit: float
    """Real value of 1 in `right`."""

    def applied_left(self, vectors: Floats) -> NDArray[np.float64]:
        """The vectors as the image contains them: clipped and quantised."""
        if isinstance(self.left, Declared):
            raise ArgumentError(
                "vectors", "were not part of this map", "Declared rows are applied as they are"
            )
        whole = quantise_dense(vectors, self.left.bound, self.left_lattice, self.spec.norm)
        return whole.astype(np.float64) * (self.left.bound / self.left_lattice)

    def applied_right(self) -> NDArray[np.float64]:
        """The right matrix as the image contains it: quantised."""
        return self.right.astype(np.float64) * self.right_unit


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LinearContribution:
    """The whole-number rows of a block of users with their left factors."""

    image: LinearMap
    rows: Rows
    whole: NDArray[np.int64]
    left: NDArray[np.int64]  # users x width, or the declared row of each user (-1: none)

    @property
    def spec(self) -> Spec:
        """The public description."""
        return self.image.spec

    def accumulator(self) -> SmallAccumulator:
        """An empty sum."""
        return SmallAccumulator(self.spec)

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Add every user's image; beyond 2^63 it wraps around, which costs accuracy but no privacy."""
        indptr, items, right = self.rows.indptr, self.rows.items, self.image.right
        declared = isinstance(self.image.left, Declared)
        if right.ndim == 0:
            if declared:
                row = np.repeat(self.left, np.diff(indptr))
                np.add.at(total, (row[row >= 0], items[row >= 0]), self.whole[row >= 0] * right)
            else:
                _onto_items(indptr, items, self.whole, self.left * right, total)
        else:
            images = _through(indptr, items, self.whole, right)
            if declared:
                np.add.at(total, self.left[self.left >= 0], images[self.left >= 0])
            else:
                total += self.left.T @ images


def linear_map(
    relation: Relation,
    catalogue: int,
    left: Vectors | Declared,
    right: Floats | None = None,
    *,
    value_step: float = 1.0,
    norm: Norm = "l2",
) -> LinearMap:
    """Quantise the public side of an image and work out its realised sensitivity; see the top of this file.

    `right` is catalogue x p (None: the identity). Values are multiples of `value_step`. `norm` is the one the
    noise needs: l1 for Laplace, l2 for Gaussian.
    """
    checked_bound("value_step", value_step)
    room = LATTICE // relation.steps
    if isinstance(left, Declared):
        left_lattice, left_unit, width = 1, 1.0, 1
        relation.require(norm)
    else:
        left_lattice = room if right is None else math.isqrt(room)
        left_unit, width = checked_bound("left", left.bound) / left_lattice, left.width
        relation.require_cells()
        if left_lattice < COARSEST:
            raise ArgumentError(
                "relation", f"{relation.steps} steps leave no lattice", "Use a larger value_step"
            )
    whole, right_unit = fill_lattice(right, catalogue, relation, left_lattice, norm)
    columns = 1 if right is None else whole.shape[1]
    match left, right:
        case Declared(rows), None:
            size = (rows, catalogue)
        case Declared(rows), _:
            size = (rows, columns)
        case Vectors(), None:
            size = (catalogue, width)
        case Vectors(), _:
            size = (width, columns)
    spec = Spec(
        "linear",
        size,
        value_step * left_unit * right_unit * LATTICE,
        min(relation.cells * width * columns, math.prod(size)) if relation.cells else math.prod(size),
        relation.replace,
        norm=norm,
        relation=relation.text,
    )
    return LinearMap(spec, catalogue, relation, value_step, left, left_lattice, whole, right_unit)


def linear(rows: Rows, left: NDArray[np.number], image: LinearMap) -> LinearContribution:
    """The image of a block of rows. `left`: users x width for `Vectors`, whole numbers for `Declared`.

    `left` must be public (a function of the user's key or of a declared list): a relation between matrices
    says nothing about it. Values are rounded to whole steps, not finite ones are 0, those beyond `LARGEST`
    are cut there; users whose declared row is out of range count as absent. Relation `user` clips rows to
    l1 norm `steps`.
    """
    if left.shape != (len(rows), *((image.left.width,) if isinstance(image.left, Vectors) else ())):
        raise ArgumentError("left", "does not fit the map", "Pass one vector, or one row number, per user")
    if image.catalogue != rows.catalogue:
        raise ArgumentError("image", "was made for another catalogue", "Make the map for this one")
    rows = guard(rows)
    limit = image.relation.steps if image.relation.kind == "user" else -1
    whole = _whole(rows.indptr, rows.values, image.value_step, limit)
    if isinstance(image.left, Vectors):
        vectors = left.astype(np.float64)
        factor = quantise_dense(vectors, image.left.bound, image.left_lattice, image.spec.norm)
        return LinearContribution(image, rows, whole, factor.astype(np.int64))
    listed = (left >= 0) & (left < image.left.rows)
    return LinearContribution(image, rows, whole, np.where(listed, left, -1).astype(np.int64))


def linear_reference(rows: Rows, left: NDArray[np.int64], image: LinearMap) -> NDArray[np.int64]:
    """The image of whole numbers, cell by cell, as the lemma writes it; `left` in integers."""
    total = np.zeros(image.spec.size, np.int64)
    right = image.right if image.right.ndim else np.eye(rows.catalogue, dtype=np.int64) * image.right
    for (items, values), own in zip(guard(rows).each(), left, strict=True):
        whole = [round(max(min(float(v) / image.value_step, LARGEST), -LARGEST)) for v in values]
        norm = sum(map(abs, whole))
        if image.relation.kind == "user" and norm > image.relation.steps:
            whole = [abs(a) * image.relation.steps // norm * (1 if a > 0 else -1) for a in whole]
        for item, steps in zip(items, whole, strict=True):
            if not isinstance(image.left, Declared):
                outer = np.outer(own, right[item])
                total += steps * (outer if image.right.ndim else outer.T)
            elif own >= 0:
                total[own] += steps * right[item]
    return total


@njit(nogil=True, cache=True)
def _whole(  # pragma: no cover
    indptr: NDArray[np.int64], values: NDArray[np.floating], value_step: float, limit: int
) -> NDArray[np.int64]:
    """Values in whole steps; with a limit >= 0 every row is scaled into that l1 norm, in integers."""
    whole = np.empty(len(values), np.int64)
    for user in range(len(indptr) - 1):
        norm = np.int64(0)
        for entry in range(indptr[user], indptr[user + 1]):
            steps = np.rint(np.float64(values[entry]) / value_step)
            whole[entry] = np.int64(min(max(steps, -LARGEST), LARGEST))
            norm += abs(whole[entry])
        if 0 <= limit < norm:
            for entry in range(indptr[user], indptr[user + 1]):
                size = abs(whole[entry]) * limit // norm
                whole[entry] = size if whole[entry] > 0 else -size
    return whole


@njit(nogil=True, cache=True)
def _through(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    whole: NDArray[np.int64],
    right: NDArray[np.int64],
) -> NDArray[np.int64]:
    """a_i right, for every user."""
    images = np.zeros((len(indptr) - 1, right.shape[1]), np.int64)
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            for column in range(right.shape[1]):
                images[user, column] += whole[entry] * right[items[entry], column]
    return images


@njit(nogil=True, cache=True)
def _onto_items(  # pragma: no cover
    indptr: NDArray[np.int64],
    items: NDArray[np.int32],
    whole: NDArray[np.int64],
    left: NDArray[np.int64],
    total: NDArray[np.int64],
) -> None:
    """a_ij left_i onto the row of item j, for every user and item."""
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            for column in range(left.shape[1]):
                total[items[entry], column] += whole[entry] * left[user, column]
