"""What the six shapes share: the public description of a statistic, and how blocks of users add up to it.

A *contribution* is what a block of users adds: every user's whole row clipped to the stated bound, quantised
toward zero on a lattice whose step is `bound / 2^30`, and checked in integers. After that only integers are
added, so any order, block size, thread count or machine gives the same sum, and one user can move it by at
most 2^30 lattice steps (L2, or L1 where the spec says so) whatever happened before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import HushfoldError
from hushfold.types import Sealed

LATTICE = 2**30  # every statistic's unit bound, in lattice steps
TILE = 256  # rows of the first axis that are summed, noised and solved together

Layout = Literal["dense", "svec", "triangle"]


@dataclass(frozen=True, slots=True)
class Spec:
    """All that is public about a statistic. It may depend on public arguments only, never on rows."""

    shape: str
    """Which of the six: total, cross, moment, gram, dense, linear."""
    size: tuple[int, ...]
    """Of the released array. `triangle`: (h, h); `svec`: the last axis is a row-major upper triangle."""
    bound: float
    """What one user can move the real statistic by when added or removed."""
    touched: int
    """The most coordinates one user can move: the sampler's slack grows with it."""
    replace: float
    """What replacing one user can move it by, as a multiple of `bound` (1 to 2)."""
    layout: Layout = "dense"
    norm: Literal["l1", "l2"] = "l2"
    relation: str = "one user added or removed"

    @property
    def step(self) -> float:
        """The real value of one lattice step."""
        return self.bound / LATTICE

    @property
    def tiles(self) -> int:
        """How many tiles of `TILE` rows the array is drawn in."""
        return -(-self.size[0] // TILE)

    def tile_size(self, tile: int) -> tuple[int, ...]:
        """Array shape of one tile. A triangle's tile is the panel from its diagonal block to the right."""
        start = tile * TILE
        rows = min(TILE, self.size[0] - start)
        return (rows, self.size[1] - start) if self.layout == "triangle" else (rows, *self.size[1:])


class Accumulator(Protocol):
    """The running integer sum of one statistic, private to an engine.

    Small shapes add at once; `gram` and `moment` of sparse rows keep the quantised rows and sum tile by tile,
    so that no array of the whole statistic ever exists beside the released one.
    """

    spec: Spec

    def add(self, contribution: Any) -> None:
        """Take in one block of users (a contribution of the same shape)."""
        ...

    def merge(self, other: Any) -> None:
        """Take in another accumulator of the same spec, as left by another thread, process or partition."""
        ...

    def tile(self, tile: int) -> NDArray[np.int64]:
        """The exact sum of one tile, of shape `spec.tile_size(tile)`; may be called from several threads.

        A fresh array each time: the door adds noise to it in place.

        In a triangle's diagonal block only the upper triangle counts; what is below it is 0.
        """
        ...


class Contribution(Protocol):
    """What a block of users adds to one statistic, in integers."""

    @property
    def spec(self) -> Spec:
        """The public description, the same for every block."""
        ...

    def accumulator(self) -> Accumulator:
        """An empty sum of this statistic."""
        ...


class Addable(Contribution, Protocol):
    """A contribution that can add itself to an array of the whole statistic."""

    def add_to(self, total: NDArray[np.int64]) -> None:
        """Add this block's exact integers to `total`, of shape `spec.size`."""
        ...


class SmallAccumulator:
    """The sum of a shape that is small enough to hold whole: every contribution adds itself at once."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._total = np.zeros(spec.size, np.int64)

    def add(self, contribution: Addable) -> None:
        """Take in one block of users."""
        if contribution.spec != self.spec:
            raise HushfoldError(f"a {contribution.spec.shape} was added to the sum of another statistic")
        contribution.add_to(self._total)

    def merge(self, other: SmallAccumulator) -> None:
        """Take in another sum of the same statistic."""
        self._total += other._total

    def tile(self, tile: int) -> NDArray[np.int64]:
        """The exact sum of one tile."""
        return self._total[tile * TILE : (tile + 1) * TILE].copy()


class Sum(Sealed):
    """The statistics of one round, not computed yet: the door reserves before anything is added up.

    `specs` is public; the content is a function that returns one accumulator per spec.
    """

    __slots__ = ("specs",)

    def __init__(self, specs: tuple[Spec, ...], compute: Callable[[], tuple[Accumulator, ...]]) -> None:
        super().__init__(compute)
        self.specs = specs


def svec_size(rank: int) -> int:
    """Coordinates of the upper triangle of a symmetric rank x rank matrix."""
    return rank * (rank + 1) // 2


def svec_diagonal(size: int) -> NDArray[np.bool_]:
    """Which coordinates of a row-major upper triangle of `size` coordinates lie on the diagonal."""
    rank = int((np.sqrt(8 * size + 1) - 1) // 2)
    mask = np.zeros(size, bool)
    mask[np.cumsum(np.r_[0, np.arange(rank, 1, -1)])] = True
    return mask


def tiles_of(spec: Spec) -> Iterator[int]:
    """The tiles of a statistic, in the order in which they are drawn."""
    return iter(range(spec.tiles))
