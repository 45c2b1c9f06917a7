"""Neighbouring matrices of whole numbers, for statistics whose relation is between matrices, not people."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.hostile import Neighbours, hostile_rows, pack
from hushfold.rng import Coins
from hushfold.statistics.relation import Relation
from hushfold.statistics.rows import guard
from hushfold.types import Rows

Matrix = NDArray[np.int64]


def matrices_changed(
    relation: Relation, value_step: float, users: int = 10, pairs: int = 10
) -> Callable[[Coins, int], Neighbours]:
    """A maker of hostile matrices with neighbours under `relation`; user i has key i."""

    def neighbours(coins: Coins, catalogue: int) -> Neighbours:
        matrix = _whole_matrix(hostile_rows(coins, users, catalogue))
        others = [matrix + _change(coins, relation, matrix.shape) for _ in range(pairs)]
        return _rows(matrix, value_step), [_rows(other, value_step) for other in others]

    return neighbours


def _change(coins: Coins, relation: Relation, shape: tuple[int, ...]) -> Matrix:
    """A random change the relation allows, more often than not the largest."""
    change = np.zeros(shape, np.int64)
    sign = int(coins.choice([-1, 1]))
    size = relation.steps if coins.random() < 0.7 else int(coins.integers(1, relation.steps + 1))
    row, column = int(coins.integers(shape[0])), int(coins.integers(shape[1]))
    if relation.kind == "entry":
        change[row, column] = sign * size
    elif relation.kind == "pair":
        mirror = int(coins.integers(min(shape)))
        row = row % min(shape)
        change[row, mirror] = change[mirror, row] = sign * size
    elif relation.kind == "distance":
        cuts = np.sort(coins.integers(0, size + 1, int(coins.integers(0, 4))))
        for low, high in pairwise([0, *cuts.tolist(), size]):
            change[coins.integers(shape[0]), coins.integers(shape[1])] += coins.choice([-1, 1]) * (high - low)
    else:  # spectral: a signed permutation, as far as the shape goes
        count = min(shape)
        rows, columns = coins.permutation(shape[0])[:count], coins.permutation(shape[1])[:count]
        change[rows, columns] = size * coins.choice([-1, 1], count)
    return change


def _whole_matrix(rows: Rows) -> Matrix:
    matrix = np.zeros((len(rows), rows.catalogue), np.int64)
    for user, (items, values) in enumerate(guard(rows).each()):
        matrix[user, items] = np.rint(np.clip(values, -(2**19), 2**19)).astype(np.int64)
    return matrix


def _rows(matrix: Matrix, value_step: float) -> Rows:
    """The matrix as sparse rows; cells that are 0 have no entry."""
    own = [(np.flatnonzero(row).astype(np.int32), row[row != 0].astype(np.float32)) for row in matrix]
    packed = pack(own, np.arange(len(matrix), dtype=np.uint64), matrix.shape[1])
    return Rows(
        packed.indptr, packed.items, packed.values * np.float32(value_step), packed.keys, matrix.shape[1]
    )
