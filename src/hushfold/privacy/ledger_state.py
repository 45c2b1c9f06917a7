"""What a ledger's entries add up to: populations with their totals, runs, and releases with their states.

The ledger is a list of entries and nothing else; every balance is folded from it, here, by the one function
that both the writer and the verifier use. So no stored sum can disagree with the entries, and an entry that
no honest writer could have appended (a second commit, a total exceeded) is found when the file is opened.
Entries form a chain:

    digest_n = BLAKE2b(digest_{n-1} || n || entry_n),   digest_0 = 0
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hushfold.errors import LedgerCorrupt
from hushfold.privacy.budget import NANO, Budget, decimal, units_of_epsilon
from hushfold.privacy.gdp import probability

Claim = Literal["gaussian", "pure", "approximate"]
"""What a release says: mu^2 of a Gaussian, a pure epsilon, or an (epsilon, delta) of its own (PLD)."""

State = Literal["RESERVED", "COMMITTED", "PUBLISHED"]

ATTO = 10**18  # delta units in a delta of 1
START = bytes(32)
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, default=operator.methodcaller("item")
)


def encode(facts: Mapping[str, Any]) -> bytes:
    """The one spelling of a mapping of numbers, words and lists, numpy scalars included."""
    return _ENCODER.encode(dict(facts)).encode()


def link(previous: bytes, seq: int, body: bytes) -> bytes:
    """The digest of a chain of `seq` entries, the last of which is `body`."""
    message = previous + seq.to_bytes(8, "big") + body
    return hashlib.blake2b(message, digest_size=32, person=b"hushfold-ledger").digest()


def digest_of(body: bytes | memoryview) -> str:
    """The digest a released blob is entered with; its content is public."""
    return hashlib.blake2b(body, digest_size=32, person=b"hushfold-part").hexdigest()


@dataclass(frozen=True, slots=True)
class Total:
    """What a population may spend on one kind of claim; `epsilon` and `delta` are as stated, for display."""

    claim: Claim
    units: int
    """Nano-units of mu^2 (gaussian), nano-epsilon (pure, approximate)."""
    delta_units: int = 0
    """Of an approximate total, in 1e-18; 0 for the others."""
    epsilon: float | None = None
    delta: float = 0.0

    @staticmethod
    def of(budget: Budget) -> Total:
        """The total of a population that may spend this budget."""
        return Total(budget.claim, budget.units, 0, budget.epsilon, budget.delta)

    @staticmethod
    def approximate(epsilon: float, delta: float) -> Total:
        """The total of releases with an (epsilon, delta) of their own, which add up; rounded down."""
        delta_units = math.floor(decimal(probability("delta", delta)) * ATTO)
        return Total("approximate", units_of_epsilon(epsilon), delta_units, epsilon, delta)


def price_of(epsilon: float, delta: float) -> tuple[int, int]:
    """Units and delta units to reserve for a release with an (epsilon, delta) of its own; rounded up."""
    return math.ceil(decimal(epsilon) * NANO), math.ceil(decimal(delta) * ATTO)


@dataclass(slots=True)
class Release:
    """One charge: a statistic of one step of one run. Its id stands in `Released.releases`."""

    id: str
    run: str
    name: str
    step: int
    units: int
    delta_units: int
    details: Mapping[str, Any]
    seq: int
    """Of the entry that reserved it; its blobs are numbered from it."""
    state: State = "RESERVED"
    parts: list[list[Any]] = field(default_factory=list[list[Any]])
    """Of a committed result: name, dtype, shape and digest of every blob, in order."""


@dataclass(slots=True)
class RunRecord:
    """One fit: whose budget it draws on, what it may claim, and the keyed digests it can be resumed with."""

    id: str
    population: str
    method: str
    claim: Claim
    config: str
    data: str | None
    day: str
    closed: bool = False
    releases: list[Release] = field(default_factory=list[Release])


@dataclass(slots=True)
class Population:
    """A declared group of people; its totals were fixed in advance and only ever raised."""

    name: str
    totals: dict[Claim, Total] = field(default_factory=dict[Claim, Total])
    spent: dict[Claim, tuple[int, int]] = field(default_factory=dict[Claim, tuple[int, int]])
    raises: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    unprotected: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def left(self, claim: Claim) -> tuple[int, int]:
        """Units and delta units that may still be reserved; nothing where no total was ever stated."""
        total = self.totals.get(claim, Total(claim, 0))
        units, delta = self.spent.get(claim, (0, 0))
        return total.units - units, total.delta_units - delta

    def covers(self, claim: Claim, units: int, delta_units: int) -> bool:
        """The privacy filter: whether the totals fixed in advance cover one more release."""
        units_left, delta_left = self.left(claim)
        return units <= units_left and delta_units <= delta_left


class Books:
    """The fold of all entries so far."""

    def __init__(self) -> None:
        self.populations: dict[str, Population] = {}
        self.runs: dict[str, RunRecord] = {}
        self.releases: dict[str, Release] = {}
        self.identity: str | None = None

    def population(self, name: str) -> Population:
        """The population of this name, entered on first mention."""
        return self.populations.setdefault(name, Population(name))

    def pays(self, release: str, run: str) -> bool:
        """Whether `release` was charged to this run, so that a later part of it may be covered."""
        paid = self.releases.get(release)
        return paid is not None and paid.run == run and paid.units > 0

    def apply(self, seq: int, body: bytes) -> None:
        """Take in the next entry, or `LedgerCorrupt` if no honest writer could have appended it."""
        kinds = {
            "ledger": self._ledger,
            "total": self._total,
            "unprotected": self._unprotected,
            "run": self._run,
            "reserved": self._reserved,
            "committed": self._committed,
            "published": self._published,
            "closed": self._closed,
        }
        try:
            entry = json.loads(body)
            kind = entry.pop("kind")
            _require((self.identity is None) == (kind == "ledger"))
            kinds[kind](entry | {"seq": seq} if kind == "reserved" else entry)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _impossible() from error

    def _ledger(self, entry: dict[str, Any]) -> None:
        _require(entry["version"] == 1)
        self.identity = entry["nonce"]

    def _total(self, entry: dict[str, Any]) -> None:
        population = self.population(entry["population"])
        new = Total(**{name: entry[name] for name in Total.__slots__})
        old = population.totals.get(new.claim, Total(new.claim, 0))
        _require(new.claim in get_args(Claim))
        _require(new.units >= old.units and new.delta_units >= old.delta_units)
        if population.totals:
            population.raises.append(entry)
        population.totals[new.claim] = new

    def _unprotected(self, entry: dict[str, Any]) -> None:
        self.population(entry["population"]).unprotected.append(entry)

    def _run(self, entry: dict[str, Any]) -> None:
        run = RunRecord(**entry)
        _require(run.id not in self.runs and run.claim in get_args(Claim))
        self.runs[run.id] = run

    def _reserved(self, entry: dict[str, Any]) -> None:
        release = Release(**entry)
        run = self.runs[release.run]
        population = self.population(run.population)
        _require(release.id not in self.releases and not run.closed)
        _require(release.units > 0 or self.pays(release.details["covered_by"], run.id))
        _require(release.units >= 0 and release.delta_units >= 0)
        _require(population.covers(run.claim, release.units, release.delta_units))
        units, delta = population.spent.get(run.claim, (0, 0))
        population.spent[run.claim] = units + release.units, delta + release.delta_units
        self.releases[release.id] = release
        run.releases.append(release)

    def _committed(self, entry: dict[str, Any]) -> None:
        release = self.releases[entry["id"]]
        _require(release.state == "RESERVED" and not self.runs[release.run].closed)
        release.state, release.parts = "COMMITTED", entry["parts"]

    def _published(self, entry: dict[str, Any]) -> None:
        release = self.releases[entry["id"]]
        _require(release.state == "COMMITTED")
        release.state = "PUBLISHED"

    def _closed(self, entry: dict[str, Any]) -> None:
        run = self.runs[entry["run"]]
        _require(not run.closed)
        run.closed = True


def _require(honest: bool) -> None:
    if not honest:
        raise _impossible()


def _impossible() -> LedgerCorrupt:
    return LedgerCorrupt(
        "the ledger holds an entry that cannot follow those before it: it was edited, or written by another "
        "version. Restore the newest backup; nothing is released before that"
    )
