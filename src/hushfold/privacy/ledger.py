"""The ledger: what has been released about a population, and what may still be.

A population's total is fixed when it is first entered and only raised on the record. Every release of every
run is charged against it before its statistic is computed, in whole units, in one transaction, so nothing
(threads, processes, crashes, retries, a second fit) releases more than was allowed. See `docs/ledger.md`.
"""

from __future__ import annotations

import math
import os
import resource
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from hushfold.errors import ArgumentError, LedgerUnavailable, ResumeError
from hushfold.privacy.ledger_folder import PrivateFolder, checked
from hushfold.privacy.ledger_sqlite import is_busy
from hushfold.privacy.ledger_state import ATTO, Books, Claim, Population, RunRecord, Total, price_of
from hushfold.privacy.ledger_store import Store
from hushfold.privacy.run import Run, canonical, checked_name, keyed, raise_command, whole

__all__ = ["Books", "Claim", "Ledger", "Population", "Run", "RunRecord", "Total", "price_of"]


_ENDLESS = 10**15  # units of a throw-away total nobody stated: no fit comes near


class Ledger:
    """An open ledger and the population it charges. Safe between threads, processes and forks."""

    def __init__(self, store: Store, population: str | None) -> None:
        self.store, self._population = store, population
        self._room: tempfile.TemporaryDirectory[str] | None = None
        self._secrets: dict[str, bytes] = {}  # of a throw-away ledger, which has no folder

    @property
    def population(self) -> str:
        """Whose budget the runs of this ledger draw on."""
        return _checked_population(self._population)

    @property
    def is_throw_away(self) -> bool:
        """Whether this ledger lives in memory only: what it pays for is stamped."""
        return self.store.path is None

    @property
    def head(self) -> str:
        """The head of the hash chain, for the artefact and for `expect_head`."""
        return self.store.head

    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        population: str | None = None,
        total: Total | None = None,
        default_total: Total | None = None,
        expect_head: str | None = None,
    ) -> Ledger:
        """Open a ledger file for a population, making either where it does not exist yet.

        `total` is what the population may spend in all; it must agree with what the ledger says if the
        population is in it already. `default_total` is used only where it is not. The whole file is verified
        first (`LedgerCorrupt`); with `expect_head` it must contain that head, so that a rolled-back copy is
        noticed.
        """
        name = _checked_population(population)
        with ExitStack() as on_error:
            ledger = Ledger.attach(path, create=True, expect_head=expect_head)
            on_error.callback(ledger.close)
            ledger._population = name
            ledger._sweep()
            ledger._declare(name, total, default_total)
            on_error.pop_all()
            return ledger

    @staticmethod
    def attach(
        path: str | os.PathLike[str], *, create: bool = False, expect_head: str | None = None
    ) -> Ledger:
        """The ledger file with no population of its own: for reading it, raising totals and operator tools.

        Without `create` the file must exist; on a full or read-only disk a verified copy is read instead.
        """
        place = checked(path)
        folder = PrivateFolder.beside(place)
        if not create and not place.exists() and not folder.high_water():
            raise ArgumentError(
                "ledger", f"there is no file {os.fspath(path)!r}", "Pass the path of a ledger"
            )
        try:
            ledger = Ledger(Store.open(place, folder), None)
        except LedgerUnavailable as error:
            if create or is_busy(error.__cause__):
                raise
            room = tempfile.TemporaryDirectory(prefix="hushfold-")
            ledger = Ledger(Store.read_copy(place, folder, Path(room.name)), None)
            ledger._room = room
        with ExitStack() as on_error:
            on_error.callback(ledger.close)
            if expect_head is not None:
                ledger.store.expect(expect_head)
            on_error.pop_all()
            return ledger

    @staticmethod
    def throw_away(population: str = "throw-away", total: Total | None = None) -> Ledger:
        """A ledger that is gone with its process: for tests, demos, operator tools; what it pays is stamped.

        The same code in memory. Without a `total` it allows more than any fit asks for.
        """
        ledger = Ledger(Store.in_memory(), population)
        endless = (Total("gaussian", _ENDLESS), Total("pure", _ENDLESS), Total("approximate", _ENDLESS, ATTO))
        with ledger.store.transaction():
            for stated in (total,) if total else endless:
                ledger._append_total(population, stated)
        return ledger

    def run(
        self,
        run_id: str | None = None,
        *,
        method: str,
        config: Mapping[str, Any],
        data_digest: bytes | None = None,
        claim: Claim = "gaussian",
    ) -> Run:
        """Begin a fit, or resume the one of this id: then with the same settings and data, or `ResumeError`.

        Settings and data digest are compared as keyed digests; the key stays in the private folder beside the
        ledger until the run is closed. Nothing is charged here.
        """
        forbid_core_dumps()
        identity = secrets.token_hex(8) if run_id is None else checked_name("run_id", run_id)
        with self.store.transaction() as books:
            record, secret = books.runs.get(identity), self._secret(identity)
            if record is None:
                secret = self._make_secret(identity)
            elif secret is None:
                raise ResumeError(
                    f"run {identity} cannot be resumed: it is closed, or its private folder is gone"
                )
            entry = {
                "kind": "run",
                "id": identity,
                "population": self.population,
                "method": method,
                "claim": _checked_claim(claim),
                "config": keyed(secret, "config", canonical(config)),
                "data": None if data_digest is None else keyed(secret, "data", data_digest),
                "day": _today(),
            }
            if record is None:
                self.store.append(entry)
            else:
                _compare(record, entry)
            return Run(self, books.runs[identity])

    def raise_total(self, population: str, total: Total) -> None:
        """Set a population's total for one kind of claim to a higher one, on the record."""
        with self.store.transaction() as books:
            known = books.populations.get(population)
            if known is None or not known.totals:
                remedy = "Name one that `hushfold budget LEDGER` lists"
                raise ArgumentError(
                    "raise", f"the ledger has no budget for population {population!r}", remedy
                )
            old = known.totals.get(total.claim, Total(total.claim, 0))
            if total.units < old.units or total.delta_units < old.delta_units or total == old:
                remedy = "A total is only ever raised; what was promised before stays promised"
                raise ArgumentError("raise", f"{population!r} already has at least this total", remedy)
            self._append_total(population, total)

    def note_unprotected(self, population: str, what: str) -> None:
        """Record that an operator tool looked at exact numbers of this population. The card lists it."""
        about = {"population": _checked_population(population), "what": what[:500], "day": _today()}
        with self.store.transaction():
            self.store.append({"kind": "unprotected"} | about)

    def books(self) -> Books:
        """All that the ledger says now, as a copy to look at."""
        with self.store.transaction(write=False) as books:
            return deepcopy(books)

    def close(self) -> None:
        """Close the file. The ledger may be used again; a throw-away one is gone."""
        self.store.close()
        if self._room:
            self._room.cleanup()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forget_secret(self, run: str) -> None:
        """Remove what a closed run kept beside the ledger."""
        self._secrets.pop(run, None)
        if self.store.folder:
            self.store.folder.forget(run)

    def _declare(self, population: str, total: Total | None, default: Total | None) -> None:
        with self.store.transaction() as books:
            known = books.populations.get(population)
            if known is None or not known.totals:
                stated = total or default
                if stated is None:
                    remedy = "Pass total=, what may be released about it in all"
                    raise ArgumentError("total", f"population {population!r} is new to this ledger", remedy)
                self._append_total(population, stated)
            elif total and total != known.totals.get(total.claim):
                raise ArgumentError(
                    "total",
                    f"population {population!r} has another total, fixed when it was first entered",
                    f"Leave it out, or raise it on the record: {raise_command(self.store.name, population)}",
                )

    def _sweep(self) -> None:
        """Remove the secrets of runs that are closed, or that were killed before they were entered."""
        with self.store.transaction() as books:
            if self.store.folder:
                self.store.folder.sweep({run.id for run in books.runs.values() if not run.closed})

    def _append_total(self, population: str, total: Total) -> None:
        _checked_claim(total.claim)
        whole("total", total.units, 0, 2**62)
        whole("total", total.delta_units, 0, ATTO + 1)
        if not math.isfinite(total.epsilon or 0) or not 0 <= total.delta < 1:
            raise ArgumentError("total", "its epsilon or delta is out of range", "State a finite guarantee")
        entry = {"kind": "total", "population": population, "day": _today(), **asdict(total)}
        self.store.append(entry)

    def _secret(self, run: str) -> bytes | None:
        return self.store.folder.secret(run) if self.store.folder else self._secrets.get(run)

    def _make_secret(self, run: str) -> bytes:
        if self.store.folder:
            return self.store.folder.make_secret(run)
        return self._secrets.setdefault(run, secrets.token_bytes(32))


def forbid_core_dumps() -> None:
    """From the first run on, a crash of this process writes no image of its memory to disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _compare(record: RunRecord, entry: Mapping[str, Any]) -> None:
    """Refuse to go on with a run on other people, other settings or other data."""
    if record.closed:
        raise ResumeError(f"run {record.id} is closed: its model is finished. Start a new run")
    for field, changed in _CHANGED.items():
        if getattr(record, field) != entry[field]:
            raise ResumeError(
                f"run {record.id} cannot be resumed: {changed} changed since it began. Nothing was charged. "
                "Restore what it began with, or start a new run"
            )


_CHANGED = {
    "population": "its population",
    "method": "the method",
    "claim": "the kind of claim",
    "config": "the settings",
    "data": "the data",
}


def _checked_population(name: str | None) -> str:
    if name and len(name) <= 200 and name.isprintable():
        return name
    problem = "it says whose budget this is, in at most 200 printable characters"
    raise ArgumentError("population", problem, "Pass population='the name of these people'")


def _checked_claim(claim: Claim) -> Claim:
    if claim not in get_args(Claim):
        raise ArgumentError("claim", f"{claim!r} is unknown", f"Use one of {', '.join(get_args(Claim))}")
    return claim


def _today() -> str:
    """A label for readers; nothing is decided by a clock."""
    return datetime.now(UTC).date().isoformat()
