"""The stages a number goes through: private rows, un-noised sums, released values, unprotected results.

Sealed values guard against mistakes, not against the caller: they have no arithmetic, no iteration, no pickle
and a silent repr, so that a private number cannot slip into a log, a file or a formula by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import SealError

T = TypeVar("T")


class Sealed:
    """Private content; only `unseal` opens it, and only the rooms that may are allowed to import that."""

    __slots__ = ("_content",)
    __array_ufunc__ = None

    def __init__(self, content: Any) -> None:
        self._content = content

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sealed>"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise SealError(f"{type(self).__name__} is sealed: only what the door released may be read or stored")

    __reduce_ex__ = __reduce__ = __array__ = __iter__ = __bool__ = __eq__ = __format__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


def unseal(sealed: Sealed) -> Any:
    """Open a sealed value. For `data`, `statistics`, `engines`, `privacy` only (`make check` enforces it)."""
    return sealed._content  # pyright: ignore[reportPrivateUsage]


class UserResults(Sealed):
    """What each user computed alone; goes back to that user only."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rows:
    """A block of users' own rows, as a local step is handed them. Item indices strictly increase per user."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    keys: NDArray[np.uint64]  # one public hash of the id per user: the seed of the user's own coins
    catalogue: int  # number of items of the public catalogue

    @staticmethod
    def empty(catalogue: int) -> Rows:
        """Nobody's rows: what a step makes of them can depend on public arguments only."""
        none = np.zeros(0)
        return Rows(
            np.zeros(1, np.int64),
            none.astype(np.int32),
            none.astype(np.float32),
            none.astype(np.uint64),
            catalogue,
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return "<Rows: private>"

    def slice(self, start: int, stop: int) -> Rows:
        """The users `start .. stop` of this block."""
        indptr = self.indptr[start : stop + 1]
        rows = slice(int(indptr[0]), int(indptr[-1]))
        return Rows(
            indptr - indptr[0], self.items[rows], self.values[rows], self.keys[start:stop], self.catalogue
        )

    def keep_users(self, kept: NDArray[np.bool_]) -> Rows:
        """The rows of the users marked True, as if nobody else had been there."""
        lengths = np.diff(self.indptr)
        entries = np.repeat(kept, lengths)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])])
        return Rows(indptr, self.items[entries], self.values[entries], self.keys[kept], self.catalogue)

    def each(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Items and values of one user after the other: the readable way to write a local step."""
        for start, stop in zip(self.indptr[:-1], self.indptr[1:], strict=True):
            yield self.items[start:stop], self.values[start:stop]


_MINT = object()  # what the door and `post` show to make a Released; nobody else has a reason to hold it


class Released(Generic[T]):
    """A value anybody may see, with the ids of the ledger rows that paid for it."""

    __slots__ = ("releases", "value")
    value: T
    releases: tuple[str, ...]

    def __init__(self, value: T, releases: tuple[str, ...], *, mint: object) -> None:
        if mint is not _MINT or not releases:
            raise SealError("only the door and post() make a Released value")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "releases", releases)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise SealError("a Released value cannot be changed; derive a new one with post()")

    def __delattr__(self, name: str) -> NoReturn:
        raise SealError("a Released value cannot be changed; derive a new one with post()")

    def __repr__(self) -> str:
        return f"Released({self.value!r}, paid by {', '.join(self.releases)})"


def release(value: T, ledger_id: str) -> Released[T]:
    """Mark `value` as released. For `privacy/door.py` only (`make check` enforces it)."""
    return Released(value, (ledger_id,), mint=_MINT)


def post(function: Callable[..., T], *args: Any, **settings: Any) -> Released[T]:
    """Apply a public function to released values: free, and it stays released.

    Arguments that are `Released` are opened, public ones are passed on, sealed ones are refused.
    """
    everything = (*args, *settings.values())
    if any(isinstance(a, Sealed | Unprotected) for a in everything):
        raise SealError("post() takes released and public arguments only")
    paid = dict.fromkeys(i for a in everything if isinstance(a, Released) for i in a.releases)
    opened = {name: open_released(a) for name, a in settings.items()}
    return Released(function(*map(open_released, args), **opened), tuple(paid), mint=_MINT)


def open_released(argument: Any) -> Any:
    """The value of a `Released`; anything else as it is."""
    return cast("Released[Any]", argument).value if isinstance(argument, Released) else argument


@dataclass(frozen=True, slots=True)
class Unprotected(Generic[T]):
    """A result without any guarantee, stamped so that nothing downstream mistakes it for a released one."""

    value: T
    why: str

    def __repr__(self) -> str:
        return f"NOT PRIVATE ({self.why}): {self.value!r}"
