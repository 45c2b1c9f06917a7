"""The in-process engine: blocks of users on a few threads, each thread with sums of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushfold.data.users import USERS_PER_BLOCK, Users
from hushfold.engines.base import Contribute, LocalStep, public_specs
from hushfold.errors import HushfoldError, InputError
from hushfold.statistics.base import Accumulator, Spec, Sum
from hushfold.threads import one_blas_thread, ordered_map, usable_cores
from hushfold.types import Rows, UserResults, unseal

Progress = Callable[[int, int], None]
"""`(blocks done, blocks in all)`: for the operator's eyes, never published."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs every local step in this process. Integer sums do not depend on `threads` or `users_per_block`."""

    threads: int = field(default_factory=usable_cores)
    users_per_block: int = USERS_PER_BLOCK
    progress: Progress | None = None

    def sum(self, users: Users, contribute: Contribute, *public: Any) -> Sum:
        """All statistics of a round in one pass, run when the door asks for them."""
        specs = public_specs(contribute, users.catalogue, *public)
        require_one_block_per_user(users, self.users_per_block)
        return Sum(specs, lambda: self._add_up(specs, users, contribute, *public))

    def each(self, users: Users, step: LocalStep, *public: Any) -> UserResults:
        """`step` of every user; the rows of its result follow the order of the users."""
        with one_blas_thread():
            results = list(
                ordered_map(
                    lambda rows: step(rows, *public), users.blocks(self.users_per_block), self.threads
                )
            )
        nobody = step(Rows.empty(users.catalogue), *public)
        return UserResults(np.concatenate([nobody, *results]))

    def _add_up(
        self, specs: tuple[Spec, ...], users: Users, contribute: Contribute, *public: Any
    ) -> tuple[Accumulator, ...]:
        blocks = _Shared(list(users.blocks(self.users_per_block)), self.progress)

        def work(_: int) -> tuple[Accumulator, ...]:
            sums = tuple(c.accumulator() for c in contribute(Rows.empty(users.catalogue), *public))
            for rows in blocks:
                for spec, total, part in zip(specs, sums, contribute(rows, *public), strict=True):
                    if part.spec != spec:
                        raise HushfoldError(f"the public description of {spec.shape} depends on the data")
                    total.add(part)
            return sums

        with one_blas_thread():
            first, *others = ordered_map(work, range(self.threads), self.threads)
        for sums in others:
            for total, more in zip(first, sums, strict=True):
                total.merge(more)
        return first


def deliver(results: UserResults) -> Iterator[Any]:
    """The results of `each`, one user after the other: hand each to its own user and to nobody else."""
    yield from unseal(results)


def require_one_block_per_user(users: Users, users_per_block: int) -> None:
    """Refuse rows in which one user stands twice: each part would be clipped alone, and count twice."""
    keys = [rows.keys for rows in users.blocks(users_per_block)]
    everybody = np.concatenate(keys) if keys else np.zeros(0, np.uint64)
    if len(np.unique(everybody)) != len(everybody):
        raise InputError(
            "users: one user's rows stand in two places. Group the rows by user, as Ratings.read does"
        )


class _Shared:
    """Blocks handed out one at a time to whichever thread is free."""

    def __init__(self, blocks: list[Rows], progress: Progress | None) -> None:
        self._blocks = enumerate(blocks)
        self._total = len(blocks)
        self._progress = progress
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Rows]:
        while True:
            with self._lock:
                index, rows = next(self._blocks, (None, None))
                if index is None or rows is None:
                    return
                if self._progress:
                    self._progress(index + 1, self._total)
            yield rows
