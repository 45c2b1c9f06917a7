"""A run: one fit, its releases, and the protocol by which a result comes out of it exactly once.

    reserve  ->  (sum, draw, post)  ->  commit  ->  publish

`reserve` charges the population and never gives back. Whatever is drawn before `commit` is seen by nobody, so
after a crash it is drawn again under the same reservation. `commit` writes the public result and the mark in
one transaction; from then on the stored result is the release, and only `result` hands it out.
"""

from __future__ import annotations

import hashlib
import json
import operator
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from hushfold.errors import AlreadyCommitted, ArgumentError, BudgetExceeded, LedgerError
from hushfold.privacy.ledger_state import (
    ATTO,
    Books,
    Claim,
    Population,
    Release,
    RunRecord,
    State,
    digest_of,
    encode,
)

if TYPE_CHECKING:
    from hushfold.privacy.ledger import Ledger

LARGEST_PART = 2**29  # bytes: below SQLite's limit for one blob
LARGEST_DETAILS = 4096  # bytes: public facts about a statistic, never the statistic
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}")

Part = tuple[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Reservation:
    """One charged release. `id` is stable across restarts: it is what `Released.releases` names."""

    id: str
    run: str
    name: str
    step: int
    units: int
    delta_units: int
    state: State
    """As it stood when reserved: anything but RESERVED means that a result is there to be read."""


class Run:
    """One fit on one population. Made by `Ledger.run`; safe to share between threads and processes."""

    def __init__(self, ledger: Ledger, record: RunRecord) -> None:
        self._ledger, self._store = ledger, ledger.store
        self.id, self.method, self.population = record.id, record.method, record.population
        self.claim: Claim = record.claim

    @property
    def ledger(self) -> Ledger:
        """The ledger it is charged in."""
        return self._ledger

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.method} on {self.population!r}>"

    def reserve(
        self,
        name: str,
        step: int,
        units: int,
        details: Mapping[str, Any],
        *,
        delta_units: int = 0,
        covered_by: str | None = None,
    ) -> Reservation:
        """Charge one release before its statistic is computed, or `BudgetExceeded` and nothing happened.

        `units` are nano-units of mu^2 (claim gaussian) or nano-epsilon (pure, approximate); `delta_units`, in
        1e-18, belong to an approximate claim. Repeated at the same amount it is the same reservation; at
        another it is an error. `details` are public facts (shape, sensitivity, multiplier, size) for cards.
        Only a later node of a tree costs 0 units: `covered_by` then names the release of this run that paid.
        """
        checked_name("name", name)
        step, units = whole("step", step, 0, 2**31), whole("units", units, 0 if covered_by else 1, 2**62)
        delta_units = whole("delta_units", delta_units, 0, ATTO if self.claim == "approximate" else 1)
        facts = public_facts("details", {**details, "covered_by": covered_by} if covered_by else details)
        identity = f"{self.id}/{name}/{step}"
        with self._store.transaction() as books:
            release = books.releases.get(identity)
            if release is None:
                self._record(books)
                if covered_by and not books.pays(covered_by, self.id):
                    raise LedgerError(f"release {identity}: run {self.id} paid for nothing that covers it")
                population = books.populations[self.population]
                if not population.covers(self.claim, units, delta_units):
                    raise _exceeded(self._store.name, population, self.claim, units, delta_units)
                entry = {"kind": "reserved", "id": identity, "run": self.id, "name": name, "step": step}
                self._store.append(entry | {"units": units, "delta_units": delta_units, "details": facts})
                release = books.releases[identity]
            elif (release.units, release.delta_units, release.details) != (units, delta_units, facts):
                raise LedgerError(
                    f"release {identity} was reserved at {release.units} units as {release.details}; a "
                    "second call must ask for the same. Start a new run for another budget"
                )
            return Reservation(identity, self.id, name, step, units, delta_units, release.state)

    def commit(self, reservation: Reservation, parts: Mapping[str, NDArray[Any]] | Iterable[Part]) -> None:
        """Write the public result and the mark COMMITTED in one transaction; all or nothing.

        `parts` are named public arrays, at best one per tile, taken one after the other while the ledger is
        held: draw them beforehand where that takes long. If somebody else committed first,
        `AlreadyCommitted` is raised before any part is taken: forget the draw, read theirs with `result`.
        """
        with self._store.transaction() as books:
            release = self._release(books, reservation)
            if release.state != "RESERVED":
                raise AlreadyCommitted(f"release {release.id} is committed already; read its result")
            written: list[list[Any]] = []
            for index, (name, array) in enumerate(_pairs(parts)):
                body = _bytes_of(name, array)
                written.append([name, array.dtype.str, list(array.shape), digest_of(body)])
                self._store.put_part(release, index, body)
            if not written:
                raise ArgumentError("parts", "a release has no result", "Commit at least one array")
            self._store.append({"kind": "committed", "id": release.id, "parts": written})

    def publish(self, reservation: Reservation) -> None:
        """Mark that the result may leave the process. Repeating it changes nothing."""
        with self._store.transaction() as books:
            release = self._release(books, reservation)
            if release.state == "RESERVED":
                raise LedgerError(f"release {release.id} is not committed, so it cannot be published")
            if release.state == "COMMITTED":
                self._store.append({"kind": "published", "id": release.id})

    def result(self, reservation: Reservation) -> dict[str, NDArray[Any]]:
        """The committed arrays by name, exactly as the one commit wrote them."""
        return dict(self.stream(reservation))

    def stream(self, reservation: Reservation) -> Iterator[Part]:
        """The committed arrays one after the other, each checked, in the order they were committed."""
        index, parts = 0, 1
        while index < parts:
            with self._store.transaction(write=False) as books:
                release = self._release(books, reservation)
                if release.state == "RESERVED":
                    raise LedgerError(f"release {release.id} is not committed, so it has no result")
                (name, dtype, shape, _), parts = release.parts[index], len(release.parts)
                body = bytearray(self._store.part(release, index))
            yield name, np.frombuffer(body, np.dtype(dtype)).reshape(shape)
            index += 1

    def close(self) -> None:
        """Drop the stored results and the run's secret, once the artefact is safe; the ledger's rows stay.

        Afterwards nothing can be reserved, committed or read here. Repeating it changes nothing.
        """
        with self._store.transaction() as books:
            record = books.runs[self.id]
            if not record.closed:
                for release in record.releases:
                    self._store.drop_parts(release)
                self._store.append({"kind": "closed", "run": self.id})
        self._ledger.forget_secret(self.id)
        self._store.tidy()

    def rows(self) -> list[dict[str, Any]]:
        """What the card says about every charge of this run: id, name, step, units, state and its details."""
        with self._store.transaction(write=False) as books:
            return [row_of(release) for release in books.runs[self.id].releases]

    def _record(self, books: Books) -> RunRecord:
        record = books.runs[self.id]
        if record.closed:
            raise LedgerError(f"run {self.id} is closed: its results were dropped. Start a new run")
        return record

    def _release(self, books: Books, reservation: Reservation) -> Release:
        self._record(books)
        release = books.releases.get(reservation.id)
        if release is None or release.run != self.id:
            raise LedgerError(f"release {reservation.id} is not reserved by run {self.id}")
        return release


def row_of(release: Release) -> dict[str, Any]:
    """A release as the card and `hushfold budget` show it."""
    facts = {"id": release.id, "name": release.name, "step": release.step, "state": release.state}
    return facts | {"units": release.units, "delta_units": release.delta_units, **release.details}


def checked_name(argument: str, name: str) -> str:
    """`name` if it can stand in a release id and in a path."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            argument, f"{name!r} is not a plain name", "Use letters, digits and _ . : + -, at most 64 of them"
        )
    return name


def public_facts(argument: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A small mapping in the form in which JSON gives it back, numpy scalars and tuples included."""
    text = canonical(facts, argument)
    if len(text) > LARGEST_DETAILS:
        raise ArgumentError(
            argument, "it is too large for public facts", "Pass shapes and scales, never arrays"
        )
    return json.loads(text)


def canonical(facts: Mapping[str, Any], argument: str = "config") -> bytes:
    """The one spelling of a mapping of numbers, words and lists (numpy scalars included)."""
    try:
        return encode(facts)
    except (TypeError, ValueError, AttributeError) as error:
        remedy = "Pass plain numbers, words and lists"
        raise ArgumentError(argument, "it does not go into JSON", remedy) from error


def keyed(secret: bytes, purpose: str, content: bytes) -> str:
    """A digest nobody can compare with a guess: for telling one data set from another on resume."""
    return hashlib.blake2b(content, digest_size=32, key=secret, person=purpose.encode()).hexdigest()


def whole(argument: str, value: SupportsIndex, smallest: int, bound: int) -> int:
    """`value` as a Python integer, if it is one and `smallest <= value < bound`."""
    try:
        if smallest <= operator.index(value) < bound:
            return operator.index(value)
    except TypeError:
        pass
    problem = f"{value!r} is not a whole number in {smallest} .. {bound - 1}"
    raise ArgumentError(argument, problem, "Round budgets to whole units first")


def _exceeded(ledger: str, population: Population, claim: Claim, units: int, delta: int) -> BudgetExceeded:
    left, delta_left = population.left(claim)
    missing = f"{units} units asked, {left} left"
    if units <= left:
        missing = f"{delta} units of delta asked, {delta_left} left"
    return BudgetExceeded(
        f"the budget of population {population.name!r} does not cover this {claim} release ({missing}). "
        f"Nothing was spent. To allow more, on the record: {raise_command(ledger, population.name)}"
    )


def raise_command(ledger: str, population: str) -> str:
    """What to type in order to raise a population's total."""
    return f"hushfold budget {shlex.quote(ledger)} --raise {shlex.quote(f'{population}=E')}"


def _pairs(parts: Mapping[str, NDArray[Any]] | Iterable[Part]) -> Iterable[Part]:
    return cast("Mapping[str, NDArray[Any]]", parts).items() if isinstance(parts, Mapping) else parts


def _bytes_of(name: str, array: NDArray[Any]) -> memoryview:
    if not name or len(name) > 200 or array.dtype.kind not in "biufc":
        raise ArgumentError("parts", f"{name!r} is not a named numeric array", "Commit named numeric arrays")
    if array.nbytes > LARGEST_PART:
        raise ArgumentError(
            "parts", f"{name!r} is larger than {LARGEST_PART} bytes", "Commit one part per tile"
        )
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
