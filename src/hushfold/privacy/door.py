"""The one door: the only way from a sealed sum to a released value.

There is no zero noise and no way round. The price is an integer number of nano-units of mu^2 (Gaussian) or of
epsilon (Laplace); the noise follows from the price, never the other way. The order in which a release happens
is in `door_passage.py`; running sums and the local model, which pass the same way, are in `door_tree.py` and
`door_local.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushfold.errors import ArgumentError
from hushfold.linalg.panels import SymmetricPanels
from hushfold.privacy.budget import Budget
from hushfold.privacy.door_passage import Charge, Passage, Real, Tiles
from hushfold.privacy.mechanisms import Gaussian, Laplace, Mechanism, to_real
from hushfold.privacy.noise import Key, Slack, cut
from hushfold.privacy.run import Run
from hushfold.statistics.base import TILE, Accumulator, Spec, Sum
from hushfold.threads import one_blas_thread, ordered_map, usable_cores
from hushfold.types import Released, release, unseal

Progress = Callable[[str, int, int], None]
"""`(release, tiles done, tiles in all)`: for the operator's eyes, never published."""

Solve = Callable[..., Real]
"""`(*noisy tiles, *along) -> public rows`: what is made of a block of items, if only that is to be kept."""


@dataclass(frozen=True, slots=True)
class Door:
    """Releases sums on behalf of one run, which may spend `budget` and no more.

    The ledger does the charging, for the whole population; the door holds the run to its own budget, because
    that is what the sampler's slack is computed for and what the artefact will state.
    """

    run: Run
    budget: Budget
    threads: int = field(default_factory=usable_cores)
    progress: Progress | None = None
    new_key: Callable[[], Key] = Key

    def gaussian(
        self,
        name: str,
        sums: Sum,
        units: int | Sequence[int],
        *,
        step: int = 0,
        solve: Solve | None = None,
        along: Sequence[Real] = (),
    ) -> tuple[Released[Any], ...]:
        """Release every statistic of `sums` under Gaussian noise, each at its price in nano-units of mu^2.

        One charge for the round, however many tiles it has. With `solve`, the noisy tiles of all statistics
        (which then share their first axis) are turned into public rows tile by tile, and only those are kept:
        no array of the size of all Gram matrices ever exists. `along` are public arrays along that axis; it
        is handed the part of each that belongs to the tile.
        """
        z_max = cut(self.passage.mu)
        priced = enumerate(zip(sums.specs, prices(sums, units, "l2"), strict=True))
        mechanisms = [Gaussian(number, spec, price, z_max) for number, (spec, price) in priced]
        return self._release(name, step, sums, mechanisms, solve, along)

    def laplace(
        self, name: str, sums: Sum, units: int | Sequence[int], *, step: int = 0, solve: Solve | None = None
    ) -> tuple[Released[Any], ...]:
        """Release every statistic under discrete Laplace noise: prices in nano-units of a pure epsilon."""
        priced = enumerate(zip(sums.specs, prices(sums, units, "l1"), strict=True))
        mechanisms = [Laplace(number, spec, price) for number, (spec, price) in priced]
        return self._release(name, step, sums, mechanisms, solve)

    @property
    def passage(self) -> Passage:
        """The order of every release of this run."""
        return Passage(self.run, self.budget, self.new_key)

    def slack(self) -> Slack | None:
        """What the sampler adds to this run's epsilon and delta so far; nothing for a pure budget."""
        return self.passage.slack()

    def _release(
        self,
        name: str,
        step: int,
        sums: Sum,
        mechanisms: Sequence[Mechanism],
        solve: Solve | None,
        along: Sequence[Real] = (),
    ) -> tuple[Released[Any], ...]:
        if solve and len({(spec.size[0], spec.layout == "triangle") for spec in sums.specs}) != 1:
            raise ArgumentError("solve", "the statistics have different first axes", "Release them apart")
        charge = Charge(
            sum(mechanism.price for mechanism in mechanisms),
            sum(spec.touched for spec in sums.specs),
            mechanisms,
        )
        paid, tiles = self.passage.through(
            name, step, charge, lambda: self.draw(name, sums, mechanisms, solve, along)
        )
        if solve:
            return (release(np.concatenate(tiles[0]), paid),)
        return tuple(release(join(*part), paid) for part in zip(sums.specs, tiles, strict=True))

    def draw(
        self,
        name: str,
        sums: Sum,
        mechanisms: Sequence[Mechanism],
        solve: Solve | None = None,
        along: Sequence[Real] = (),
    ) -> Tiles:
        """Add up and add noise: tiles of every statistic, or of what `solve` makes of them."""
        stream = self.new_key().open()

        def noisy(number: int, tile: int) -> Real:
            tile_sums = accumulators[number].tile(tile)
            mechanisms[number].add_noise(tile_sums, stream, tile)
            return to_real(tile_sums, sums.specs[number])

        def block(tiles: tuple[tuple[int, int], ...]) -> Real:
            values = [noisy(number, tile) for number, tile in tiles]
            own = slice(tiles[0][1] * TILE, (tiles[0][1] + 1) * TILE)
            return solve(*values, *(public[own] for public in along)) if solve else values[0]

        with one_blas_thread():
            accumulators: tuple[Accumulator, ...] = unseal(sums)()
            counts = [spec.tiles for spec in sums.specs]
            if solve:
                jobs = [tuple((q, tile) for q in range(len(counts))) for tile in range(counts[0])]
                counts = counts[:1]
            else:
                jobs = [((q, tile),) for q, count in enumerate(counts) for tile in range(count)]
            drawn = self._watched(name, ordered_map(block, jobs, self.threads), len(jobs))
            return [[next(drawn) for _ in range(count)] for count in counts]

    def _watched(self, name: str, tiles: Iterable[Real], total: int) -> Iterator[Real]:
        for done, tile in enumerate(tiles, 1):
            if self.progress:
                self.progress(name, done, total)
            yield tile


def prices(sums: Sum, units: int | Sequence[int], norm: str) -> tuple[int, ...]:
    """One price per statistic, checked against what the statistics are."""
    each = (units,) if isinstance(units, int) else tuple(units)
    if len(each) != len(sums.specs) or not all(price > 0 for price in each):
        remedy = f"Pass {len(sums.specs)} whole numbers above 0"
        raise ArgumentError("units", "is not one positive price per statistic", remedy)
    if any(spec.norm != norm for spec in sums.specs):
        right = "laplace" if norm == "l2" else "gaussian"
        raise ArgumentError("sums", f"a statistic is not bounded in the {norm} norm", f"Use door.{right}")
    return each


def join(spec: Spec, tiles: Sequence[Real]) -> Real | SymmetricPanels:
    """The tiles of one statistic, in order, as the value that is released."""
    if spec.layout == "triangle":
        return SymmetricPanels.from_tiles(iter(tiles))
    return np.concatenate(tiles)
