from __future__ import annotations

import numpy as np
import pytest
from local_rows import joined, row, rows_of

from hushfold.errors import ArgumentError
from hushfold.local.residual import (
    root_mean_squares,
    root_mean_squares_reference,
    shrunk_means,
    shrunk_means_reference,
)


def test_they_are_their_twins_bit_by_bit():
    rows = joined(
        rows_of((0, 1, 3, 100)), row([1, 2], [np.nan, 1]), row([1, 2], [np.inf, -np.inf]), row([1], [3e38])
    )
    np.testing.assert_array_equal(shrunk_means(rows), shrunk_means_reference(rows))
    np.testing.assert_array_equal(shrunk_means(rows, 0.0), shrunk_means_reference(rows, 0.0))
    np.testing.assert_array_equal(root_mean_squares(rows), root_mean_squares_reference(rows))
    assert np.isfinite(shrunk_means(rows)).all()


def test_the_definition():
    own = row([1, 5], [3.0, 4.0])
    assert shrunk_means(own) == [7 / 6]
    assert root_mean_squares(own) == [np.sqrt(12.5)]


@pytest.mark.parametrize("shrinkage", [-1.0, np.inf, np.nan])
def test_shrinkage_is_named(shrinkage):
    with pytest.raises(ArgumentError, match="shrinkage"):
        shrunk_means(rows_of([2]), shrinkage)
