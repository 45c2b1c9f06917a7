"""The local model: every user's message is noised on the user's own device, and nobody need be trusted.

A message is the user's own contribution plus Gaussian noise calibrated to *replacing* that user's whole row:
whoever receives messages cannot even tell who took part. Noise of n users adds up, so a sum is sqrt(n) times
noisier than through a trusted aggregator at the same price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfold.data.users import Users
from hushfold.privacy.door import Door, join, prices
from hushfold.privacy.door_passage import Charge, Tiles
from hushfold.privacy.mechanisms import Gaussian, Mechanism, to_real
from hushfold.privacy.noise import Key, cut
from hushfold.statistics.base import Contribution, Spec, Sum
from hushfold.types import Released, Rows, release

Contribute = Callable[..., tuple[Contribution, ...]]
Message = list[list[NDArray[np.int64]]]
"""Noisy integers, by statistic and tile: all that leaves a device."""


def message(
    contributions: Sequence[Contribution],
    mechanisms: Sequence[Mechanism],
    new_key: Callable[[], Key] = Key,
) -> Message:
    """What one user's device sends: own contributions, each coordinate of each tile noised there."""
    stream = new_key().open()
    sent: Message = []
    for contribution, mechanism in zip(contributions, mechanisms, strict=True):
        own = contribution.accumulator()
        own.add(contribution)
        tiles = [own.tile(tile) for tile in range(contribution.spec.tiles)]
        for number, tile in enumerate(tiles):
            mechanism.add_noise(tile, stream, number)
        sent.append(tiles)
    return sent


def local_sum(
    door: Door,
    name: str,
    users: Users,
    contribute: Contribute,
    *public: Any,
    units: int | Sequence[int],
    step: int = 0,
) -> tuple[Released[Any], ...]:
    """Collect one message per user and release their sum; `units` is what each single user spends."""
    specs = tuple(c.spec for c in contribute(Rows.empty(users.catalogue), *public))
    nothing = Sum(specs, tuple)
    mechanisms = [
        Gaussian(number, spec, replacing(spec, price), cut(door.passage.mu))
        for number, (spec, price) in enumerate(zip(specs, prices(nothing, units, "l2"), strict=True))
    ]
    charge = Charge(sum(prices(nothing, units, "l2")), 2 * sum(spec.touched for spec in specs), mechanisms)

    def collect() -> Tiles:
        sums: Message = [
            [np.zeros(spec.tile_size(tile), np.int64) for tile in range(spec.tiles)] for spec in specs
        ]
        for rows in users.blocks(1):
            received = message(contribute(rows, *public), mechanisms, door.new_key)
            for total, tiles in zip(sums, received, strict=True):
                for tile, more in zip(total, tiles, strict=True):
                    tile += more
        return [[to_real(tile, spec) for tile in total] for spec, total in zip(specs, sums, strict=True)]

    paid, tiles = door.passage.through(name, step, charge, collect)
    return tuple(release(join(*part), paid) for part in zip(specs, tiles, strict=True))


def replacing(spec: Spec, price: int) -> int:
    """The price whose noise, calibrated to one user added, covers one user replaced at `price`."""
    return int(price / Fraction(spec.replace) ** 2)
