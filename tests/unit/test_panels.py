from __future__ import annotations

import numpy as np
import pytest

from hushfold.errors import ArgumentError
from hushfold.linalg.panels import PANEL, SymmetricPanels

SIZES = [1, 2, PANEL - 1, PANEL, PANEL + 1, 3 * PANEL + 17]


def symmetric(size: int) -> np.ndarray:
    square = np.random.default_rng(size).standard_normal((size, size)).astype(np.float32)
    return np.triu(square) + np.triu(square, 1).T


@pytest.fixture(params=SIZES)
def dense(request: pytest.FixtureRequest) -> np.ndarray:
    return symmetric(request.param)


def test_dense_and_back_is_the_same_matrix(dense: np.ndarray) -> None:
    packed = SymmetricPanels.from_dense(dense)
    assert packed.shape == dense.shape
    np.testing.assert_array_equal(packed.to_dense(), dense)
    np.testing.assert_array_equal(packed.diagonal(), dense.diagonal())


def test_panels_cover_the_upper_triangle_and_nothing_else(dense: np.ndarray) -> None:
    packed = SymmetricPanels.from_dense(dense)
    assert packed.nbytes <= 2 * len(dense) * (len(dense) + PANEL)
    for number, panel in enumerate(packed.panels):
        np.testing.assert_array_equal(panel, dense[number * PANEL : (number + 1) * PANEL, number * PANEL :])


def test_products(dense: np.ndarray) -> None:
    packed = SymmetricPanels.from_dense(dense)
    tall = np.random.default_rng(0).standard_normal((len(dense), 5))
    exact = dense.astype(np.float64) @ tall
    np.testing.assert_allclose(packed @ tall, exact, atol=1e-5 * len(dense))
    np.testing.assert_allclose(packed.matmul(tall[:, 0]), exact[:, 0], atol=1e-5 * len(dense))


def test_blocks_and_rows(dense: np.ndarray) -> None:
    packed = SymmetricPanels.from_dense(dense)
    for size in {0, 1, len(dense) // 2, len(dense)}:
        np.testing.assert_array_equal(packed.block(size), dense[:size, :size])
    for number in range(len(packed.panels)):
        np.testing.assert_array_equal(packed.rows(number), dense[number * PANEL : (number + 1) * PANEL])


def test_scaling_and_norm(dense: np.ndarray) -> None:
    packed = SymmetricPanels.from_dense(dense)
    q = np.random.default_rng(1).standard_normal(len(dense)).astype(np.float32)
    scaled = packed.scale(q).to_dense()
    np.testing.assert_allclose(scaled, dense * np.outer(q, q), rtol=1e-6)
    np.testing.assert_array_equal(scaled, scaled.T)
    assert packed.frobenius() == pytest.approx(np.linalg.norm(dense.astype(np.float64)), rel=1e-6)


def test_panels_are_kept_not_copied() -> None:
    tiles = SymmetricPanels.from_dense(symmetric(PANEL + 3)).panels
    assert all(a is b for a, b in zip(tiles, SymmetricPanels.from_tiles(iter(tiles)).panels, strict=True))


def test_nothing_at_all() -> None:
    nothing = SymmetricPanels.from_tiles([])
    assert nothing.shape == (0, 0)
    assert nothing.diagonal().shape == nothing.to_dense().diagonal().shape == (0,)
    assert nothing.frobenius() == 0


@pytest.mark.parametrize(
    "tiles",
    [
        [np.zeros((3, 4))],
        [np.zeros((PANEL, PANEL + 2))],
        [np.zeros((PANEL, PANEL + 2)), np.zeros((2, 3))],
        [np.zeros((2, 2)), np.zeros((2, 2))],
        [np.triu(np.ones((2, 2)))],
    ],
)
def test_panels_that_do_not_fit_are_refused(tiles: list[np.ndarray]) -> None:
    with pytest.raises(ArgumentError, match="tiles"):
        SymmetricPanels.from_tiles(tiles)


def test_bad_arguments_name_themselves() -> None:
    packed = SymmetricPanels.from_dense(symmetric(3))
    for name, call in {
        "matrix": lambda: SymmetricPanels.from_dense(np.zeros((2, 3))),
        "other": lambda: packed @ np.zeros(4),
        "size": lambda: packed.block(4),
        "q": lambda: packed.scale(np.zeros(2)),
    }.items():
        with pytest.raises(ArgumentError, match=name):
            call()


@pytest.mark.parametrize("size", [0, 1, 5, 256, 257, 700])
def test_a_leading_block_is_a_view_of_the_whole(size: int):
    whole = SymmetricPanels.from_dense(symmetric(700))
    leading = whole.leading(size)
    assert leading.shape == (size, size)
    np.testing.assert_array_equal(leading.to_dense(), whole.block(size))
    assert all(part.base is not None for part in leading.panels)


@pytest.mark.parametrize("size", [0, 1, 5, 256, 257, 700])
def test_a_reordered_matrix_has_its_rows_and_columns_moved_together(size: int):
    dense = symmetric(size)
    order = np.random.default_rng(1).permutation(size)
    moved = SymmetricPanels.from_dense(dense).reorder(order)
    np.testing.assert_array_equal(moved.to_dense(), dense[np.ix_(order, order)].astype(np.float32))
    SymmetricPanels.from_tiles(moved.panels)  # each diagonal block is symmetric
    with pytest.raises(ArgumentError):
        SymmetricPanels.from_dense(dense).reorder(np.zeros(size + 1, np.int64))
