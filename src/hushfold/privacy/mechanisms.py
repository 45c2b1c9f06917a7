"""The two mechanisms: what one statistic's price buys, and how its noise is laid on a tile.

A symmetric statistic is stored as an upper triangle. Its isometric coordinates count an off-diagonal cell
sqrt(2) times, so white noise on those is noise of 1/sqrt(2) on the cell: diagonal and off-diagonal cells are
drawn as two arrays, each with a range of the key stream of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.budget import NANO, Claim, multiplier
from hushfold.privacy.noise import GaussianSampler, LaplaceSampler, Stream
from hushfold.statistics.base import LATTICE, Spec, svec_diagonal

ARRAYS = 2  # array numbers that belong to one statistic: all or diagonal cells, off-diagonal cells


class Mechanism(Protocol):
    """Adds noise to every coordinate of every tile of one statistic; touched or not makes no difference."""

    kind: str
    claim: Claim
    spec: Spec
    price: int
    """Nano-units of mu^2 or of epsilon."""
    multiplier: float
    """Noise std (Gaussian) or scale (Laplace) over the stated bound."""

    def add_noise(self, sums: NDArray[np.int64], stream: Stream, tile: int) -> None:
        """Add this tile's noise to `sums`, in place."""
        ...


@dataclass(slots=True)
class Gaussian:
    """White Gaussian noise on the isometric coordinates; the price is in nano-units of mu^2."""

    number: int
    spec: Spec
    price: int
    z_max: float
    multiplier: float = field(init=False)
    _plain: GaussianSampler = field(init=False)
    _off_diagonal: GaussianSampler = field(init=False)
    kind: str = field(default="gaussian", init=False)
    claim: Claim = field(default="gaussian", init=False)

    def __post_init__(self) -> None:
        self.multiplier = multiplier(self.price)
        sigma = self.multiplier * LATTICE
        self._plain = GaussianSampler(sigma, self.z_max)
        self._off_diagonal = GaussianSampler(math.nextafter(sigma / math.sqrt(2), math.inf), self.z_max)

    def add_noise(self, sums: NDArray[np.int64], stream: Stream, tile: int) -> None:
        """Add this tile's noise to `sums`, in place."""
        array = self.number * ARRAYS
        if self.spec.layout == "dense":
            self._plain.add_to(stream, array, tile, sums)
        elif self.spec.layout == "svec":
            on = svec_diagonal(sums.shape[-1])
            rows, rank = len(sums), int(on.sum())
            sums[:, on] += self._plain.draw(stream, array, tile, rows * rank).reshape(rows, rank)
            others = rows * (len(on) - rank)
            sums[:, ~on] += self._off_diagonal.draw(stream, array + 1, tile, others).reshape(rows, -1)
        else:
            self._add_to_panel(sums, stream, tile)

    def _add_to_panel(self, sums: NDArray[np.int64], stream: Stream, tile: int) -> None:
        rows, columns = sums.shape
        on_diagonal = self._plain.draw(stream, self.number * ARRAYS, tile, rows)
        cells = rows * (columns - 1) - rows * (rows - 1) // 2  # to the right of the diagonal
        right_of_it = self._off_diagonal.draw(stream, self.number * ARRAYS + 1, tile, cells)
        start = 0
        for row in range(rows):
            stop = start + columns - 1 - row
            sums[row, row] += on_diagonal[row]
            sums[row, row + 1 :] += right_of_it[start:stop]
            start = stop


@dataclass(slots=True)
class Laplace:
    """Discrete Laplace noise, exactly; the price is in nano-units of a pure epsilon."""

    number: int
    spec: Spec
    price: int
    multiplier: float = field(init=False)
    _sampler: LaplaceSampler = field(init=False)
    kind: str = field(default="laplace", init=False)
    claim: Claim = field(default="pure", init=False)

    def __post_init__(self) -> None:
        scale = -(-LATTICE * NANO // self.price)  # whole lattice steps, rounded up
        self.multiplier = scale / LATTICE
        self._sampler = LaplaceSampler(scale)

    def add_noise(self, sums: NDArray[np.int64], stream: Stream, tile: int) -> None:
        """Add this tile's noise to `sums`, in place."""
        self._sampler.add_to(stream, self.number * ARRAYS, tile, sums)


def to_real(sums: NDArray[np.int64], spec: Spec) -> NDArray[np.floating[Any]]:
    """Lattice steps to real units; a triangle's diagonal block is mirrored to its full self."""
    real = sums * spec.step
    if spec.layout != "triangle":
        return real
    block = real[:, : len(real)]
    block += np.triu(block, 1).T
    return real.astype(np.float32)


def facts(mechanism: Mechanism) -> dict[str, Any]:
    """What the ledger and the card say of one released statistic. All of it is public."""
    spec = mechanism.spec
    return {
        "shape": spec.shape,
        "size": list(spec.size),
        "sensitivity": spec.bound,
        "norm": spec.norm,
        "relation": spec.relation,
        "replace": spec.replace,
        "multiplier": mechanism.multiplier,
        "units": mechanism.price,
    }
