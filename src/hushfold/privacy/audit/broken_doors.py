"""Doors broken on purpose: what they enter in the ledger is right, what they draw is not.

Negative controls for the checks of noise. Each takes the place of `Door` and is used for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.audit.precision import float_control
from hushfold.privacy.budget import Budget
from hushfold.privacy.door import Door
from hushfold.privacy.door_passage import Tiles
from hushfold.privacy.mechanisms import Gaussian, Mechanism, to_real
from hushfold.privacy.run import Run
from hushfold.rng import PublicRandom
from hushfold.statistics.base import Accumulator, Sum, svec_diagonal
from hushfold.types import unseal

DoorMaker = Callable[[Run, Budget], Door]
"""`Door` itself, or a control in its place."""


def less_noise(factor: float) -> DoorMaker:
    """A door whose noise is `factor` times what it states."""

    def weaker(mechanism: Mechanism) -> Mechanism:
        return replace(cast(Gaussian, mechanism), price=round(mechanism.price / factor**2))

    return _altered(weaker)


def noise_where_touched() -> DoorMaker:
    """Register 15: a door that takes an exact 0 for a coordinate that needs no noise."""
    return _altered(OnlyTouched)


def one_noise_for_all() -> DoorMaker:
    """Register 7 and 36: a door that draws every release under the same key, so their difference is bare."""
    tapes: dict[tuple[int, int], NDArray[np.int64]] = {}
    return _altered(lambda mechanism: Replayed(mechanism, tapes))


def _altered(change: Callable[[Mechanism], Mechanism]) -> DoorMaker:
    class Altered(Door):
        def draw(
            self, name: str, sums: Sum, mechanisms: Sequence[Mechanism], *more: Any, **settings: Any
        ) -> Tiles:
            broken = [change(mechanism) for mechanism in mechanisms]
            return super().draw(name, sums, broken, *more, **settings)

    return Altered


@dataclass(slots=True)
class Wrapped:
    """A mechanism that states what another one states."""

    inner: Mechanism
    kind: str = field(init=False)
    claim: Any = field(init=False)
    spec: Any = field(init=False)
    price: int = field(init=False)
    multiplier: float = field(init=False)

    def __post_init__(self) -> None:
        for stated in ("kind", "claim", "spec", "price", "multiplier"):
            setattr(self, stated, getattr(self.inner, stated))


@dataclass(slots=True)
class OnlyTouched(Wrapped):
    """Noise where the sum is not 0."""

    def add_noise(self, sums: NDArray[np.int64], stream: Any, tile: int) -> None:
        """Noise everywhere, and then the zeros again."""
        untouched = sums == 0
        self.inner.add_noise(sums, stream, tile)
        sums[untouched] = 0


@dataclass(slots=True)
class Replayed(Wrapped):
    """The noise of the first draw, again and again."""

    tapes: dict[tuple[int, int], NDArray[np.int64]]

    def add_noise(self, sums: NDArray[np.int64], stream: Any, tile: int) -> None:
        """What one key would give every time it is opened."""
        place = (getattr(self.inner, "number", 0), tile)
        if place not in self.tapes:
            drawn = np.zeros_like(sums)
            self.inner.add_noise(drawn, stream, tile)
            self.tapes[place] = drawn
        sums += self.tapes[place]


class FloatNoise(Door):
    """Register 1 and 2: the real sum plus a float64 Gaussian of the right standard deviation."""

    _noise = PublicRandom(0).stream("float noise of a control").standard_normal

    def draw(
        self, name: str, sums: Sum, mechanisms: Sequence[Mechanism], *more: Any, **settings: Any
    ) -> Tiles:
        """All tiles, noised as most systems do it; nothing is solved."""
        accumulators: tuple[Accumulator, ...] = unseal(sums)()
        drawn: Tiles = []
        for accumulator, mechanism in zip(accumulators, mechanisms, strict=True):
            spec = mechanism.spec
            real = [to_real(accumulator.tile(tile), spec) for tile in range(spec.tiles)]
            scale = spec.bound * mechanism.multiplier
            if spec.layout == "svec":
                scale = np.where(svec_diagonal(spec.size[-1]), scale, scale / np.sqrt(2))
            drawn.append([float_control(part, self._noise(part.shape) * scale) for part in real])
        return drawn
