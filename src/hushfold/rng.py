"""Public randomness: named streams from one seed. Everybody may know these coins; noise is never drawn here.

A choice made *for a user* is a keyed hash of that user's id (`per_user`, `per_entry`), never of a position:
when somebody leaves, nobody else's coins may change (`docs/guarantee.md`, register 16).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import ArgumentError

Coins = np.random.Generator
"""The type of a stream, for those who are handed one: only this file makes any."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class PublicRandom:
    """Named, independent, reproducible streams of public coins."""

    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**64:
            raise ArgumentError(
                "seed", f"{self.seed} is outside 0 .. 2^64 - 1", "Pass a non-negative integer"
            )

    def stream(self, name: str) -> np.random.Generator:
        """A generator for choices that concern no particular user (random start, public sketches)."""
        return np.random.default_rng(np.frombuffer(self._digest(name, 32), np.uint64))

    def per_user(self, name: str, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """One uniform word per user, a function of the user's own key only."""
        return _mix(_mix(keys ^ self._word(name)) + _GOLDEN)

    def per_entry(self, name: str, keys: NDArray[np.uint64], items: NDArray[np.int32]) -> NDArray[np.uint64]:
        """One uniform word per (user, item); `keys` holds the user's key once per entry."""
        return _mix(self.per_user(name, keys) + _mix((items.astype(np.uint64) + np.uint64(1)) * _GOLDEN))

    def published(self) -> np.random.Generator:
        """The generator numpy itself gives this seed: for splits that published tables are stated in."""
        return np.random.default_rng(self.seed)

    def _digest(self, name: str, size: int) -> bytes:
        return hashlib.blake2b(
            name.encode(), digest_size=size, key=self.seed.to_bytes(8, "big"), person=b"hushfold"
        ).digest()

    def _word(self, name: str) -> np.uint64:
        return np.frombuffer(self._digest(name, 8), np.uint64)[0]


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The 64-bit finaliser of splitmix64: a bijection in which every input bit moves every output bit."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
