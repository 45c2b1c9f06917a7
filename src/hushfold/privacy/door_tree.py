"""Continual release: the running sum of a stream of epochs, through a binary tree of noisy nodes.

Epoch t closes one node, on level `ctz(t)`, which covers the last 2^level epochs; the running sum adds up the
nodes that the binary digits of t name, at most `levels` of them. An epoch lies in at most one node of a
level, so a level is one Gaussian release of the whole stream: it has a fixed price, charged when its first
node closes, and its later nodes are covered by that charge. Proof page: `proofs/tree.md`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np

from hushfold.data.users import Users
from hushfold.errors import ArgumentError
from hushfold.privacy.budget import split
from hushfold.privacy.door import Door, join
from hushfold.privacy.door_passage import Charge
from hushfold.privacy.mechanisms import Gaussian
from hushfold.privacy.noise import cut
from hushfold.statistics.base import Accumulator, Sum
from hushfold.types import Released, Rows, post, release, unseal


class Summing(Protocol):
    """The engine's verb that a tree needs."""

    def sum(self, users: Users, contribute: Any, *public: Any) -> Sum:
        """All statistics of a round, computed when the door asks."""
        ...


class Tree:
    """The running sum of one statistic over at most `epochs` epochs, for `units` in all.

    A user may take part in `epochs_per_user` epochs, each time bounded as the statistic states; further
    epochs of that user are dropped. The exact sums of open nodes are private memory: they live in this object
    only and never reach a file. After a crash, make the tree anew on the resumed run and add the same epochs
    again: nodes that were committed are read, not drawn.
    """

    def __init__(self, door: Door, name: str, units: int, *, epochs: int, epochs_per_user: int = 1) -> None:
        if epochs < 1 or epochs_per_user < 1:
            raise ArgumentError("epochs", "a stream has at least one epoch", "Pass whole numbers from 1")
        self._door, self._name = door, name
        self._epochs, self._allowed = epochs, epochs_per_user
        self._prices = split(units, [1.0] * epochs.bit_length())
        self._epoch = 0
        self._taken_part: Counter[int] = Counter()
        self._open: dict[int, tuple[Accumulator, Released[Any]]] = {}

    def add(self, engine: Summing, users: Users, contribute: Any, *public: Any) -> Released[Any]:
        """Close an epoch with these users' rows; returns the running sum of all epochs so far."""
        if self._epoch == self._epochs:
            raise ArgumentError("epochs", f"all {self._epochs} are over", "Plan the tree for more of them")
        self._epoch += 1
        level = (self._epoch & -self._epoch).bit_length() - 1
        own = engine.sum(users, self._for_those_allowed(contribute), *public)
        if len(own.specs) != 1:
            raise ArgumentError("contribute", "gives several statistics", "Grow one tree for each")
        node = self._node(own, level)
        released = self._release(Sum(own.specs, lambda: (node,)), level)
        for below in range(level):
            del self._open[below]
        self._open[level] = node, released
        for rows in users.blocks():
            self._taken_part.update(rows.keys.tolist())
        return post(_running_sum, *(value for _, value in self._open.values()))

    def _release(self, node: Sum, level: int) -> Released[Any]:
        """One node through the door. The first of its level pays for the level."""
        (spec,), price = node.specs, self._prices[level]
        first = 2**level
        noise_price = price // self._allowed**2  # a user in c epochs can move a node by c bounds
        mechanism = Gaussian(0, spec, noise_price, cut(self._door.passage.mu))
        if self._epoch == first:
            charge = Charge(price, spec.touched * self._allowed, [mechanism])
        else:
            charge = Charge(0, 0, [mechanism], covered_by=f"{self._door.run.id}/{self._name}/{first}")
        paid, tiles = self._door.passage.through(
            self._name, self._epoch, charge, lambda: self._door.draw(self._name, node, [mechanism])
        )
        return release(join(spec, tiles[0]), paid)

    def _node(self, own: Sum, level: int) -> Accumulator:
        """The exact sum of a node: this epoch and the open nodes below its level."""
        (node,) = unseal(own)()
        for below in range(level):
            node.merge(self._open[below][0])
        return node

    def _for_those_allowed(self, contribute: Any) -> Any:
        """`contribute`, without the users whose epochs are used up: each by own history alone."""

        def limited(rows: Rows, *public: Any) -> Any:
            allowed = np.array([self._taken_part[key] < self._allowed for key in rows.keys.tolist()], bool)
            return contribute(rows if allowed.all() else rows.keep_users(allowed), *public)

        return limited


def _running_sum(*nodes: Any) -> Any:
    return sum(nodes[1:], nodes[0])
