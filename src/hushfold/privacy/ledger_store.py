"""The entries of a ledger: one immediate transaction per change, a hash chain over all of them.

The chain shows that entries were edited, cut or put in another order; the high-water mark beside the file
shows that all of it is an older copy. It has no key: it guards against accidents, not against an insider.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from hushfold.errors import LedgerError, LedgerUnavailable
from hushfold.privacy.ledger_folder import PrivateFolder, format_head, parse_head
from hushfold.privacy.ledger_sqlite import (
    check_file,
    connect,
    copy_of,
    corrupt,
    is_empty,
    make_file,
    make_tables,
    tidy,
    translated,
)
from hushfold.privacy.ledger_state import START, Books, Release, digest_of, encode, link

PARTS_PER_RELEASE = 2**24


class Store:
    """One ledger's entries, folded into `Books`, and the blobs of committed results.

    Safe between threads (one lock), processes (SQLite's locks) and forks (the child opens anew). `path` None
    is a ledger in memory: the same code without a file. `folder` None keeps no high-water mark.
    """

    def __init__(self, path: Path | None, folder: PrivateFolder | None) -> None:
        self.path, self.folder = path, folder
        self.read_only = self._gone = False
        self._reset()
        _STORES.add(self)
        with translated():
            self._here()

    @staticmethod
    def open(path: Path, folder: PrivateFolder) -> Store:
        """Open or make the ledger at a checked path; everything in it is verified first."""
        with translated(), ExitStack() as on_error:
            with folder.opening():
                if not os.path.lexists(path) and folder.high_water():
                    raise corrupt("its file is gone, but a ledger was kept here")
                make_file(path)
                store = Store(path, folder)
                on_error.callback(store.close)
                store._make()
            store._verify()
            on_error.pop_all()
            return store

    @property
    def name(self) -> str:
        """What to call the ledger in a command."""
        return str(self.path or "LEDGER")

    @staticmethod
    def in_memory() -> Store:
        """A ledger that is gone when its process is."""
        store = Store(None, None)
        store._make()
        return store

    @staticmethod
    def read_copy(path: Path, folder: PrivateFolder, room: Path) -> Store:
        """A verified copy, made in `room`, of a ledger whose disk is full or read-only."""
        with translated():
            store = Store(copy_of(path, room), folder)
            store._verify()
            store.read_only = True
            return store

    def _make(self) -> None:
        """Lay out the file unless it holds something already, or once did."""
        connection = self._here()
        if not is_empty(connection) or (self.folder and self.folder.high_water()):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            make_tables(connection)
            connection.execute("INSERT INTO head VALUES (1, 0, ?)", (START,))
            self.append({"kind": "ledger", "version": 1, "nonce": secrets.token_hex(16)})
            connection.execute("COMMIT")
        except BaseException:
            self._undo()
            raise
        self._remember()

    def _verify(self) -> None:
        check_file(self._here())
        self.verify_parts()
        self.tidy()

    @contextmanager
    def transaction(self, *, write: bool = True) -> Generator[Books]:
        """All or nothing: the books as they stand, verified, and the entries appended inside."""
        with self._lock, translated():
            if self._busy:
                raise LedgerError(
                    "the ledger cannot be used by what is being written to it: draw before commit"
                )
            if write and self.read_only:
                raise LedgerUnavailable("the ledger can be read but not written now (disk full or read-only)")
            connection = self._here()
            self._busy = True
            try:
                mark = self.folder.high_water() if self.folder else None  # before the snapshot it must be in
                connection.execute("PRAGMA shrink_memory")  # read the file, not a memory of it
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._catch_up(connection)
                if mark:
                    self._check_contains(connection, *mark)
                yield self.books
                connection.execute("COMMIT")
            except BaseException:
                self._undo()
                raise
            finally:
                self._busy = False
            if write:
                self._remember()

    def append(self, entry: dict[str, Any]) -> int:
        """Add an entry inside a transaction; its number."""
        connection, seq = self._here(), self.seq + 1
        body = encode(entry)
        digest = link(self.digest, seq, body)
        self.dirty = True
        self.books.apply(seq, body)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (seq, body, digest))
        connection.execute("UPDATE head SET seq = ?, digest = ?", (seq, digest))
        self.seq, self.digest = seq, digest
        return seq

    def put_part(self, release: Release, index: int, body: memoryview) -> None:
        """Store one blob of a result, inside a transaction."""
        self._here().execute("INSERT INTO parts VALUES (?, ?)", (_part(release, index), body))

    def part(self, release: Release, index: int) -> bytes:
        """One blob of a committed result, checked against its digest in the chain."""
        with self._lock, translated():
            row = (
                self._here()
                .execute("SELECT body FROM parts WHERE part = ?", (_part(release, index),))
                .fetchone()
            )
        if row is None or type(row[0]) is not bytes or digest_of(row[0]) != release.parts[index][3]:
            raise corrupt("a committed result is not what was committed")
        return row[0]

    def drop_parts(self, release: Release) -> None:
        """Forget a result that is safe elsewhere, inside a transaction; its entries stay."""
        first = _part(release, 0)
        self._here().execute(
            "DELETE FROM parts WHERE part >= ? AND part < ?", (first, first + PARTS_PER_RELEASE)
        )

    def verify_parts(self) -> None:
        """Every blob that should be there is, as it was committed, and no other."""
        with self.transaction(write=False) as books:
            kept = 0
            for release in books.releases.values():
                if not books.runs[release.run].closed:
                    for index in range(len(release.parts)):
                        self.part(release, index)
                    kept += len(release.parts)
            if self._here().execute("SELECT count(*) FROM parts").fetchone()[0] != kept:
                raise corrupt("it holds results that nobody committed")

    def expect(self, head: str) -> None:
        """`LedgerCorrupt` unless the chain contains this head, as printed in an artefact or by `budget`."""
        seq, digest = parse_head(head)
        with self.transaction(write=False):
            self._check_contains(self._here(), seq, digest)

    @property
    def head(self) -> str:
        """The head of the chain: what to remember in order to notice a rollback."""
        with self.transaction(write=False):
            return format_head(self.seq, self.digest.hex())

    def tidy(self) -> None:
        """Give freed space back to the disk if nobody else is at work."""
        with self._lock, translated():
            tidy(self._here())

    def close(self) -> None:
        """Close the file; the store opens it again if it is used again. One in memory is gone."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection, self._gone = None, self.path is None

    def _here(self) -> sqlite3.Connection:
        if self._gone:
            raise LedgerError("this throw-away ledger was closed, or lives in the parent process")
        if self._connection is None:
            if self.path and not self.path.exists():
                raise corrupt("its file is gone")
            self._connection, self._inodes = connect(self.path), None
        return self._connection

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Verify and fold what was appended since last time, here or by others."""
        head = connection.execute("SELECT seq, digest FROM head").fetchall()
        self._inodes = self._inodes or self._identity()  # the log is there after the first look
        if self._identity() != self._inodes:
            raise corrupt("its file or its log was replaced while it was in use")
        if self.seq:
            self._check_contains(connection, self.seq, self.digest.hex())
        rows = connection.execute(
            "SELECT seq, body, digest FROM entries WHERE seq > ? ORDER BY seq", (self.seq,)
        )
        self.dirty = True
        for seq, body, digest in rows:
            if type(body) is not bytes or seq != self.seq + 1 or link(self.digest, seq, body) != digest:
                raise corrupt("its hash chain is broken")
            self.books.apply(seq, body)
            self.seq, self.digest = seq, digest
        if head != [(self.seq, self.digest)]:
            raise corrupt("its last entries are missing")
        self.dirty = False

    def _check_contains(self, connection: sqlite3.Connection, seq: int, digest: str) -> None:
        row = connection.execute("SELECT digest FROM entries WHERE seq = ?", (seq,)).fetchone()
        if row is None or not isinstance(row[0], bytes) or row[0].hex() != digest:
            raise corrupt("it is an older or another copy than the one last used here (rolled back)")

    def _undo(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        if self.dirty:
            self._forget()

    def _remember(self) -> None:
        self.dirty = False
        if self.folder:
            with suppress(OSError, LedgerError):  # the entry is safe; a mark that lags costs no spend
                self.folder.remember(self.seq, self.digest.hex())

    def _forget(self) -> None:
        self.books, self.seq, self.digest, self.dirty = Books(), 0, START, False

    def _reset(self) -> None:
        self._lock, self._busy = threading.RLock(), False
        self._connection: sqlite3.Connection | None = None
        self._inodes: list[tuple[int, int]] | None = None
        self._forget()

    def _identity(self) -> list[tuple[int, int]]:
        """Which files these are: SQLite would go on writing to ones that were moved away."""
        try:
            found = [os.lstat(f"{self.path}{suffix}") for suffix in ("", "-wal")] if self.path else []
        except OSError:
            raise corrupt("its file or its log is gone") from None
        return [(file.st_dev, file.st_ino) for file in found]

    def after_fork(self) -> None:
        """In a child: leave the parent's connection alone (closing it would drop locks) and start afresh."""
        _ABANDONED.append(self._connection)
        self._gone = self.path is None
        self._reset()


_STORES: WeakSet[Store] = WeakSet()
_ABANDONED: list[sqlite3.Connection | None] = []


def _after_fork() -> None:
    for store in list(_STORES):
        store.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _part(release: Release, index: int) -> int:
    if not 0 <= index < PARTS_PER_RELEASE:
        raise LedgerError(f"a result has at most {PARTS_PER_RELEASE} parts; commit larger tiles")
    return release.seq * PARTS_PER_RELEASE + index
