"""Evaluation protocols as data: a name, a seed and a few numbers say exactly which rows are held out.

rows       every row on its own, in stored order (the wording of this project's tables)
pairs      the same by a hash of user and item: the stored order does not matter
leave-out  some rows of every user, at random or the latest
time       the past predicts the future
new-users  whole users are held out and show a part of their rows (strong generalisation)
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hushfold.data import split as splits
from hushfold.data.split import Shares, Split, Triplets
from hushfold.errors import ArgumentError

Seed = Annotated[int, Field(ge=0, lt=2**64)]
Share = Annotated[float, Field(ge=0, lt=1)]


class _Protocol(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> str:
        """One line that `protocol_from_json` reads back."""
        return self.model_dump_json()


class Rows(_Protocol):
    """Test rows are `default_rng(seed).random(rows) < test`, in stored order."""

    name: Literal["rows"] = "rows"
    seed: Seed = 0
    test: Share = 0.1
    validation: Share = 0.0

    def split(self, triplets: Triplets) -> Split:
        """Rows at random."""
        return splits.by_row(len(triplets), _shares(self.validation, self.test), self.seed)


class Pairs(_Protocol):
    """Test pairs by a keyed hash of user and item."""

    name: Literal["pairs"] = "pairs"
    seed: Seed = 0
    test: Share = 0.1
    validation: Share = 0.0

    def split(self, triplets: Triplets) -> Split:
        """Pairs at random, whatever their order."""
        return splits.by_pair(triplets, _shares(self.validation, self.test), self.seed)


class LeaveOut(_Protocol):
    """`rows_each` rows of every user are test, at random or the latest."""

    name: Literal["leave-out"] = "leave-out"
    seed: Seed = 0
    rows_each: Annotated[int, Field(ge=1)] = 1
    latest: bool = False
    validation: bool = False

    def split(self, triplets: Triplets) -> Split:
        """Some rows of everybody who has more."""
        return splits.leave_out(triplets, self.rows_each, self.seed, self.latest, self.validation)


class Time(_Protocol):
    """The latest rows are test, whoever's they are."""

    name: Literal["time"] = "time"
    test: Share = 0.1
    validation: Share = 0.0

    def split(self, triplets: Triplets) -> Split:
        """Past and future."""
        return splits.by_time(triplets, _shares(self.validation, self.test))


class NewUsers(_Protocol):
    """A share of the users, at most `most`, is held out whole; they show `query` of their rows."""

    name: Literal["new-users"] = "new-users"
    seed: Seed = 0
    test: Share = 0.1
    validation: Share = 0.0
    most: Annotated[int, Field(ge=1)] = 2000
    rows_to_count: Annotated[int, Field(ge=1)] = 3
    rows_to_test: Annotated[int, Field(ge=2)] = 5
    query: Share = 0.8

    def split(self, triplets: Triplets) -> Split:
        """New people, who show a part of what they have."""
        return splits.new_users(triplets, **self.model_dump(exclude={"name"}))


Protocol = Rows | Pairs | LeaveOut | Time | NewUsers
_ADAPTER: TypeAdapter[Protocol] = TypeAdapter(Annotated[Protocol, Field(discriminator="name")])
NAMES = ("rows", "pairs", "leave-out", "time", "new-users")


def protocol(name: str, split: str = "90/10", seed: int = 0) -> Protocol:
    """The protocol of this name with the shares of `split`.

    `leave-out` takes one row of every user for test, and one for validation if that has a share.
    """
    if name not in NAMES:
        raise ArgumentError("protocol", f"{name!r} is not known", f"Choose one of {', '.join(NAMES)}")
    shares = Shares.parse(split)
    settings: dict[str, object] = {"name": name, "seed": seed, "validation": shares.validation}
    if name == "leave-out":
        settings["validation"] = shares.validation > 0
    else:
        settings["test"] = shares.test
    if name == "time":
        del settings["seed"]
    return _ADAPTER.validate_python(settings)


def protocol_from_json(text: str) -> Protocol:
    """Read a protocol back; an unknown name or field is an error."""
    try:
        return _ADAPTER.validate_json(text)
    except ValueError as error:
        raise ArgumentError(
            "protocol", "is not a protocol", f"It has to be one of {', '.join(NAMES)}"
        ) from error


def _shares(validation: float, test: float) -> Shares:
    return Shares(1 - validation - test, validation, test)
