"""The eigenvalues of a large symmetric matrix that lie above a threshold, from products alone.

Block Krylov with full orthogonalisation and Rayleigh-Ritz. Noise fills the spectrum up to just below the
threshold, where Ritz values come out low and converge slowly; so the space widens until what lies above the
threshold no longer depends on its width. Public mathematics: the start is drawn from public coins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushfold.rng import PublicRandom

Floats = NDArray[np.float64]
Product = Callable[[Floats], NDArray[Any]]
"""`X (size x p) -> A X`."""

BLOCK = 16  # vectors multiplied at once
DEPTH = 8  # products before the first look
DEEPEST = 16
DENSE = 400  # below this size a full decomposition is cheaper
_STILL_TO_COME = 4.0  # a Ritz value moves on by less than this times its last step


class Pairs(NamedTuple):
    """Eigenvalues in decreasing order, and an orthonormal column for each."""

    values: Floats
    vectors: Floats


def eigen_above(
    product: Product, size: int, threshold: float, most: int, start: Floats | None = None
) -> Pairs:
    """The largest eigenvalues above `threshold`, at most `most`, and their eigenvectors.

    `start` (size x p) are columns believed to be near them. Deterministic: the same matrix gives the same
    answer on the same machine.
    """
    if size <= DENSE:
        found = _ritz(np.eye(size), np.asarray(product(np.eye(size)), np.float64))
    else:
        found = _krylov(product, size, threshold, most, start)
    return _kept(found, threshold, most)


def smallest_eigenvalue(product: Product, size: int, tolerance: float = 1e-3) -> float:
    """The smallest eigenvalue (not the largest in modulus), from above, to a relative `tolerance`."""
    if size <= DENSE:
        return float(_ritz(np.eye(size), np.asarray(product(np.eye(size)), np.float64)).values[-1])
    space = _Space(lambda x: -np.asarray(product(x), np.float64), _first_block(size, None))
    last, top = -np.inf, float(space.ritz_values()[0])
    while len(space) < min(DEEPEST, size // BLOCK):
        if len(space) >= DEPTH and top - last <= tolerance * abs(top):
            break
        space.widen()
        last, top = top, float(space.ritz_values()[0])
    return -top


def _krylov(product: Product, size: int, threshold: float, most: int, start: Floats | None) -> Pairs:
    space = _Space(product, _first_block(size, start))
    deepest = min(DEEPEST, size // BLOCK)
    values = earlier = np.zeros(0)
    while len(space) < deepest:
        earlier, values = values, space.ritz_values()
        if len(space) >= DEPTH and _settled(values, earlier, threshold, most):
            break
        space.widen()
    return space.ritz()


def _settled(values: Floats, earlier: Floats, threshold: float, most: int) -> bool:
    """Whether more products could not lift another Ritz value above the threshold."""
    above = int((values > threshold).sum())
    if above >= most or 3 * above > len(values):
        return above >= most and 3 * most <= len(values)
    next_one = values[above]
    return next_one + _STILL_TO_COME * (next_one - earlier[above]) <= threshold


class _Space:
    """An orthonormal basis of the Krylov space, and the matrix's product with it."""

    def __init__(self, product: Product, block: Floats) -> None:
        self._product = product
        self._basis = [block]
        self._images = [np.asarray(product(block), np.float64)]
        self._projected = block.T @ self._images[0]

    def __len__(self) -> int:
        return len(self._basis)

    def widen(self) -> None:
        """Add the last image, made orthogonal to everything so far (twice: once is not enough)."""
        block = self._images[-1]
        for _ in range(2):
            for known in self._basis:
                block = block - known @ (known.T @ block)
            block = np.linalg.qr(block)[0]
        image = np.asarray(self._product(block), np.float64)
        side = np.vstack([known.T @ image for known in self._basis])
        self._projected = np.block([[self._projected, side], [side.T, block.T @ image]])
        self._basis.append(block)
        self._images.append(image)

    def ritz_values(self) -> Floats:
        return np.linalg.eigvalsh(_symmetric(self._projected)).astype(np.float64)[::-1]

    def ritz(self) -> Pairs:
        values, small = np.linalg.eigh(_symmetric(self._projected))
        return Pairs(values[::-1], np.hstack(self._basis) @ small[:, ::-1])


def _first_block(size: int, start: Floats | None) -> Floats:
    coins = PublicRandom(0).stream("krylov").standard_normal((size, BLOCK))
    if start is not None:
        coins[:, : start.shape[1]] = start[:, :BLOCK]
    return np.linalg.qr(coins)[0]


def _ritz(basis: Floats, images: Floats) -> Pairs:
    values, vectors = np.linalg.eigh(_symmetric(basis.T @ images))
    return Pairs(values[::-1], vectors[:, ::-1])


def _kept(found: Pairs, threshold: float, most: int) -> Pairs:
    """Those above the threshold, each with its largest coordinate positive."""
    count = min(int((found.values > threshold).sum()), most)
    vectors = found.vectors[:, :count]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(count)])
    return Pairs(found.values[:count], vectors * signs)


def _symmetric(matrix: Floats) -> Floats:
    return (matrix + matrix.T) / 2
