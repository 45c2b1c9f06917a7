"""A large symmetric matrix in half the memory: float32 panels of 256 rows, from the diagonal block on.

Panel k holds rows 256 k .. and columns 256 k .. h; its first columns, the diagonal block, are stored in full.
So a product with a tall matrix is two plain matrix products a panel, and reads half of what the square would.
Public mathematics only: what is in here was released.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushfold.errors import ArgumentError
from hushfold.threads import ordered_map

PANEL = 256  # rows

Floats = NDArray[np.float32]
Real = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SymmetricPanels:
    """A symmetric h x h matrix. Build it with `from_tiles` or `from_dense`; it is not meant to be changed."""

    panels: tuple[Floats, ...]

    @staticmethod
    def from_tiles(tiles: Iterable[Real]) -> SymmetricPanels:
        """From its panels in order; float32 panels are kept, not copied.

        Raises `ArgumentError` if they do not fit together or a diagonal block is not symmetric.
        """
        panels = tuple(np.asarray(tile, np.float32) for tile in tiles)
        size = panels[0].shape[1] if panels else 0
        for start, panel in zip(range(0, size, PANEL), panels, strict=False):
            rows = min(PANEL, size - start)
            if panel.shape != (rows, size - start):
                raise ArgumentError(
                    "tiles", f"have a panel of shape {panel.shape}", "Pass panels of 256 rows"
                )
            if not np.array_equal(panel[:, :rows], panel[:, :rows].T, equal_nan=True):
                raise ArgumentError("tiles", "are not symmetric", "Mirror each first block")
        if len(panels) != -(-size // PANEL):
            raise ArgumentError("tiles", f"are {len(panels)} panels of {size} columns", "Pass all panels")
        return SymmetricPanels(panels)

    @staticmethod
    def from_dense(matrix: Real) -> SymmetricPanels:
        """From a square array, which must be symmetric in each diagonal block; below them it is not read."""
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ArgumentError("matrix", f"has shape {matrix.shape}", "Pass a square matrix")
        starts = range(0, len(matrix), PANEL)
        return SymmetricPanels.from_tiles(np.array(matrix[s : s + PANEL, s:], np.float32) for s in starts)

    def __len__(self) -> int:
        return sum(map(len, self.panels))

    @property
    def shape(self) -> tuple[int, int]:
        """(h, h)."""
        return len(self), len(self)

    @property
    def nbytes(self) -> int:
        """Bytes held: about 2 h^2."""
        return sum(panel.nbytes for panel in self.panels)

    def matmul(self, other: Real, threads: int = 1) -> Floats:
        """The product with `other` (h, or h x p), in float32: the same on any number of threads.

        Threads share the panels and each calls the linear algebra library, which should then be held to one
        thread (`one_blas_thread`): its own threads wait by spinning, and lose where cores are shared.
        """
        if other.ndim not in (1, 2) or len(other) != len(self):
            raise ArgumentError("other", f"has shape {other.shape}", f"Pass {len(self)} rows")
        right = np.ascontiguousarray(other, np.float32)
        result = np.zeros_like(right)

        def product(placed: tuple[int, Floats]) -> tuple[int, int, Floats, Floats]:
            start, panel = placed
            stop = start + len(panel)
            return start, stop, panel @ right[start:], panel[:, len(panel) :].T @ right[start:stop]

        for start, stop, rows, mirrored in ordered_map(product, self._placed(), threads):
            result[start:stop] += rows
            result[stop:] += mirrored
        return result

    __matmul__ = matmul

    def diagonal(self) -> Floats:
        """The h entries of the diagonal."""
        return np.concatenate([panel.diagonal() for panel in self.panels] or [np.zeros(0, np.float32)])

    def rows(self, panel: int) -> Floats:
        """The rows of one panel over all columns: at most 256 x h."""
        start, count = panel * PANEL, len(self.panels[panel])
        left = [above[:, start - at : start - at + count].T for at, above in self._placed() if at < start]
        return np.hstack([*left, self.panels[panel]])

    def block(self, size: int) -> Floats:
        """The leading size x size block as a square array."""
        if not 0 <= size <= len(self):
            raise ArgumentError("size", f"{size} is outside 0 .. {len(self)}", "Ask for a part of the matrix")
        square = np.empty((size, size), np.float32)
        for start, panel in self._placed():
            if start >= size:
                break
            part = panel[: size - start, : size - start]
            square[start : start + len(part), start:] = part
            square[start:, start : start + len(part)] = part.T
        return square

    def leading(self, size: int) -> SymmetricPanels:
        """The leading size x size block, a view: nothing is copied."""
        if not 0 <= size <= len(self):
            raise ArgumentError("size", f"{size} is outside 0 .. {len(self)}", "Ask for a part of the matrix")
        return SymmetricPanels(
            tuple(panel[: size - start, : size - start] for start, panel in self._placed() if start < size)
        )

    def reorder(self, order: NDArray[np.integer[Any]]) -> SymmetricPanels:
        """The matrix whose row and column i are this one's `order[i]`: a copy."""
        size = len(self)
        if not np.array_equal(np.sort(order), np.arange(size)):
            raise ArgumentError("order", "is not a permutation", f"Name each of {size} rows once")
        places = np.empty(size, np.int64)
        places[order] = np.arange(size)
        starts = np.cumsum([0, *(panel.size for panel in self.panels)])
        cells = np.empty(starts[-1], np.float32)
        for start, panel in self._placed():
            _scatter(panel, places[start:], size, starts, cells)
        return SymmetricPanels(
            tuple(
                cells[begin : begin + panel.size].reshape(panel.shape)
                for begin, panel in zip(starts[:-1], self.panels, strict=True)
            )
        )

    def to_dense(self) -> Floats:
        """The whole matrix as a square array: twice the memory."""
        return self.block(len(self))

    def scale(self, q: Real) -> SymmetricPanels:
        """diag(q) A diag(q), for q of length h."""
        if q.shape != (len(self),):
            raise ArgumentError("q", f"has shape {q.shape}", f"Pass {len(self)} factors")
        factors = q.astype(np.float32)
        return SymmetricPanels(
            tuple(
                panel * np.outer(factors[start : start + len(panel)], factors[start:])
                for start, panel in self._placed()
            )
        )

    def frobenius(self) -> float:
        """The Frobenius norm, summed in float64."""
        square = 0.0
        for panel in self.panels:
            block = panel[:, : len(panel)]
            square += 2 * _sum_of_squares(panel) - _sum_of_squares(block)
        return float(np.sqrt(square))

    def _placed(self) -> Iterable[tuple[int, Floats]]:
        return zip(range(0, len(self), PANEL), self.panels, strict=True)


def _sum_of_squares(array: Floats) -> float:
    return float(np.einsum("ij,ij", array, array, dtype=np.float64))


@njit(nogil=True, cache=True)
def _scatter(  # pragma: no cover
    panel: Floats, places: NDArray[np.int64], size: int, starts: NDArray[np.int64], cells: Floats
) -> None:
    """Put the upper triangle of one old panel where it belongs among the new panels' cells."""
    for row in range(panel.shape[0]):
        for column in range(row, panel.shape[1]):
            low, high = min(places[row], places[column]), max(places[row], places[column])
            target = low // PANEL
            first = target * PANEL
            width = size - first
            cells[starts[target] + (low - first) * width + high - first] = panel[row, column]
            if high - first < PANEL:
                cells[starts[target] + (high - first) * width + low - first] = panel[row, column]
