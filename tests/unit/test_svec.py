from __future__ import annotations

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.linalg.svec import pack, rank_of, unpack
from hushfold.statistics.base import svec_diagonal, svec_size


@pytest.mark.parametrize("rank", [1, 2, 7, 40])
def test_they_undo_each_other(rank):
    triangles = np.random.default_rng(0).normal(size=(3, svec_size(rank)))
    matrices = unpack(triangles)
    np.testing.assert_array_equal(matrices, matrices.swapaxes(1, 2))
    np.testing.assert_array_equal(pack(matrices), triangles)
    np.testing.assert_array_equal(matrices.diagonal(0, 1, 2), triangles[:, svec_diagonal(svec_size(rank))])
    np.testing.assert_array_equal(unpack(triangles[0]), matrices[0])


def test_the_order_is_that_of_the_statistics():
    np.testing.assert_array_equal(unpack(np.arange(6.0)), [[0, 1, 2], [1, 3, 4], [2, 4, 5]])


def test_what_is_below_the_diagonal_is_not_read():
    np.testing.assert_array_equal(pack(np.array([[1.0, 2.0], [np.nan, 3.0]])), [1, 2, 3])


def test_errors():
    with pytest.raises(ArgumentError, match="triangle"):
        rank_of(5)
    with pytest.raises(ArgumentError, match="square"):
        pack(np.zeros((2, 3)))
