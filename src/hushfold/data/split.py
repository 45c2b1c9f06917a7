"""Held-out rows for the operator's tools: who is shown what, and what is to be predicted.

Rows are referred to by their index in the stored order. Every part is what a user may show (`query`) and what
is predicted from it (`target`): if rows are held out, users show what the model was fitted on; if users are,
they are new to the model and show a part of their rows. Splits look at exact private rows, so what is
measured on them is not protected.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from hushfold.data.identity import keys_of_numbers, keys_of_texts, text_buffers
from hushfold.data.users import Users
from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Triplets:
    """Rows (user, item, value, perhaps time) in stored order, with codes for ids."""

    user: NDArray[np.int64]
    item: NDArray[np.int32]
    value: NDArray[np.float32]
    keys: NDArray[np.uint64]  # one hash of the id per user code: the seed of the user's coins
    catalogue: int  # number of items
    time: NDArray[np.int64] | None = None

    @staticmethod
    def of(
        users: ArrayLike,
        items: ArrayLike,
        values: ArrayLike | None = None,
        times: ArrayLike | None = None,
        catalogue: int | None = None,
    ) -> Triplets:
        """From ids of users, item codes `0 .. catalogue - 1` and values (1 if there are none).

        `catalogue` defaults to the largest code; fits that are to be private are told it.
        """
        ids, user = np.unique(np.asarray(users), return_inverse=True)
        item = np.asarray(items, np.int32)
        value = np.ones(len(item), np.float32) if values is None else np.asarray(values, np.float32)
        size = catalogue if catalogue is not None else int(item.max(initial=-1)) + 1
        if len(item) and (item.min() < 0 or item.max() >= size):
            raise ArgumentError(
                "items", "a code is outside the catalogue", "Pass codes from 0 to catalogue - 1"
            )
        time = None if times is None else np.asarray(times).astype(np.int64)
        if not len(user) == len(item) == len(value) == (len(item) if time is None else len(time)):
            raise ArgumentError("items", "columns differ in length", "Pass one entry per row in each")
        return Triplets(user.astype(np.int64), item, value, _keys(ids), size, time)

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return "<Triplets: private>"

    def take(self, index: Index) -> Triplets:
        """Some of the rows, with the codes they have here."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("user", "item", "value", "time"):
            kept[name] = None if kept[name] is None else kept[name][index]
        return Triplets(**kept)

    def handle(self) -> Users:
        """The sealed handle a fit takes; users are known by the hash of their ids."""
        return Users.from_arrays(self.keys[self.user].view(np.int64), self.item, self.value, self.catalogue)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Part:
    """What users show (rows fitted on, or a new user's query) and the rows to be predicted."""

    query: Index
    target: Index


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Split:
    """Rows to fit on, and one or two parts to evaluate on. No row is in two of train and the targets."""

    train: Index
    validation: Part | None
    test: Part

    def __repr__(self) -> str:
        return "<Split: private>"


@dataclass(frozen=True, slots=True)
class Shares:
    """How rows, or users, are shared out; they add up to 1."""

    train: float
    validation: float
    test: float

    def __post_init__(self) -> None:
        parts = (self.train, self.validation, self.test)
        if not (all(0 <= p <= 1 for p in parts) and self.train > 0 and self.test > 0):
            raise ArgumentError("split", "leaves nothing to fit or to test", "Pass for example 80/10/10")
        if abs(sum(parts) - 1) > 1e-9:
            raise ArgumentError("split", "does not add up to the whole", "Pass for example 80/10/10")

    @staticmethod
    def parse(text: str) -> Shares:
        """From `80/10/10` (train, validation, test) or `90/10`; any unit, 98/1/1 or .98/.01/.01."""
        try:
            numbers = [float(word) for word in text.split("/")]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 3) or sum(numbers) <= 0:
            raise ArgumentError("split", "is not two or three numbers", "Pass for example 80/10/10 or 90/10")
        train, *rest = (number / sum(numbers) for number in numbers)
        return Shares(train, rest[0] if len(rest) == 2 else 0.0, rest[-1])


def by_row(rows: int, shares: Shares, seed: int) -> Split:
    """Every row on its own: with x = `default_rng(seed).random(rows)` in stored order, x < test is test.

    The wording that published tables of this project use. Validation rows are the next share of x.
    """
    return _cut(PublicRandom(seed).published().random(rows), shares)


def by_pair(triplets: Triplets, shares: Shares, seed: int) -> Split:
    """Every (user, item) pair on its own, by a keyed hash of the two: the stored order does not matter.

    Repeats of a pair fall on the same side.
    """
    words = PublicRandom(seed).per_entry("split by pair", triplets.keys[triplets.user], triplets.item)
    return _cut((words >> np.uint64(11)) * np.float64(2.0**-53), shares)


def leave_out(triplets: Triplets, rows_each: int, seed: int, latest: bool, validation: bool) -> Split:
    """`rows_each` rows of every user are test, as many validation; whoever would keep none keeps all.

    Chosen by the user's own coins, or the `latest` by time. Ties are settled by the item.
    """
    if rows_each < 1:
        raise ArgumentError("rows_each", f"{rows_each} is less than 1", "Leave out at least one row")
    coins = PublicRandom(seed).per_entry("leave out", triplets.keys[triplets.user], triplets.item)
    order = np.lexsort((triplets.item, -_times(triplets) if latest else coins, triplets.user))
    own = np.bincount(triplets.user, minlength=len(triplets.keys))
    place = np.empty(len(triplets), np.int64)
    place[order] = np.arange(len(triplets)) - np.repeat(np.cumsum(own) - own, own)
    held = rows_each * (2 if validation else 1)
    place[own[triplets.user] <= held] = held
    return _rows_split(place < rows_each, place < held)


def by_time(triplets: Triplets, shares: Shares) -> Split:
    """The oldest rows are train, then validation, then test; rows of one moment stay together, earlier."""
    times = _times(triplets)
    moments = np.sort(times)

    def last(share: float) -> Any:
        return moments[max(0, int(np.ceil(share * len(moments) - 1e-9)) - 1)] if len(moments) else 0

    return _rows_split(times > last(shares.train + shares.validation), times > last(shares.train))


def new_users(
    triplets: Triplets,
    seed: int,
    test: float = 0.1,
    validation: float = 0.0,
    most: int = 2000,
    rows_to_count: int = 3,
    rows_to_test: int = 5,
    query: float = 0.8,
) -> Split:
    """Strong generalisation: people the fit never saw show a part of their rows, the rest is predicted.

    With `rng = default_rng(seed)`: the n users with `rows_to_count` rows are permuted, the first
    `min(most, test n)` held out whole. Those with `rows_to_test` rows are tested: they show rows for which
    `rng.random(number of their rows) < query`, in stored order. The next users of the permutation are the
    validation part, with coins drawn after those of the test. Users with fewer rows take no part.
    """
    rng = PublicRandom(seed).published()
    own = np.bincount(triplets.user, minlength=len(triplets.keys))
    people = rng.permutation(np.flatnonzero(own >= rows_to_count))
    group = np.zeros(len(own), np.int8)  # 0: left out, 1: train, 2: test, 3: validation
    group[people] = 1
    held = min(most, int(test * len(people) + 1e-9))
    group[people[:held]] = 2
    group[people[held : held + min(most, int(validation * len(people) + 1e-9))]] = 3

    def part(which: int) -> Part:
        rows = np.flatnonzero((group == which)[triplets.user] & (own >= rows_to_test)[triplets.user])
        shown = rng.random(len(rows)) < query
        return Part(rows[shown], rows[~shown])

    tested = part(2)
    train = np.flatnonzero(group[triplets.user] == 1)
    return Split(train, part(3) if validation > 0 else None, tested)


def _cut(coins: NDArray[np.float64], shares: Shares) -> Split:
    return _rows_split(coins < shares.test, coins < shares.test + shares.validation)


def _rows_split(test: NDArray[np.bool_], held: NDArray[np.bool_]) -> Split:
    """From which rows are test, and which are not train. A test user may show validation rows too."""
    train, validation = np.flatnonzero(~held), np.flatnonzero(held & ~test)
    part = Part(train, validation) if len(validation) else None
    return Split(train, part, Part(np.flatnonzero(~test), np.flatnonzero(test)))


def _times(triplets: Triplets) -> NDArray[np.int64]:
    if triplets.time is None:
        raise ArgumentError("protocol", "it needs the time of every row", "Name the column of times")
    return triplets.time


def _keys(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iub":
        return keys_of_numbers(ids.astype(np.int64))
    return keys_of_texts(*text_buffers(pa.array(ids.tolist(), pa.large_string())))
