"""The two verbs every engine has, and the promises that make one engine as good as another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hushfold.data.users import Users
from hushfold.statistics.base import Contribution, Sum
from hushfold.types import Rows, UserResults

Contribute = Callable[..., tuple[Contribution, ...]]
"""`(rows, *public) -> contributions`: pure, own rows and public state only, one contribution a statistic."""

LocalStep = Callable[..., Any]
"""`(rows, *public) -> array` with one row per user of the block."""


class Engine(Protocol):
    """Moves local steps to the rows. Never draws noise, never decides."""

    def sum(self, users: Users, contribute: Contribute, *public: Any) -> Sum:
        """One pass over the data for all statistics of a round; computed when the door asks, not before."""
        ...

    def each(self, users: Users, step: LocalStep, *public: Any) -> UserResults:
        """Results that go back to their own user."""
        ...


def public_specs(contribute: Contribute, catalogue: int, *public: Any) -> tuple[Any, ...]:
    """The specs of a round, learnt from an empty block: so they cannot depend on anybody's rows."""
    return tuple(c.spec for c in contribute(Rows.empty(catalogue), *public))
