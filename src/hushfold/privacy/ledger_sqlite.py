"""How a ledger's SQLite file is made, opened and checked, and what its errors mean to the caller."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from hushfold.errors import HushfoldError, LedgerCorrupt, LedgerError, LedgerUnavailable
from hushfold.privacy.ledger_folder import unavailable

APPLICATION = 0x68757368  # "hush", in the header of the file
PATIENCE = 30  # seconds to wait for another process's transaction
TABLES = {
    "entries": "CREATE TABLE entries (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, digest BLOB NOT NULL)",
    "head": "CREATE TABLE head (one INTEGER PRIMARY KEY, seq INTEGER NOT NULL, digest BLOB NOT NULL)",
    "parts": "CREATE TABLE parts (part INTEGER PRIMARY KEY, body BLOB NOT NULL)",
}
_PASSING = ("FULL", "READONLY", "CANTOPEN", "PERM", "NOMEM", "IOERR", "NOLFS", "AUTH")
_RUINED = ("IOERR_SHORT_READ", "IOERR_CORRUPTFS", "IOERR_DATA", "CANTOPEN_SYMLINK")


def make_file(path: Path) -> None:
    """An empty file of mode 0600 whatever the umask; one that exists is made 0600 too, and never opened."""
    try:
        with suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.close(file)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.fsync(folder)
            os.close(folder)
        if stat.S_IMODE(path.lstat().st_mode) != 0o600:
            path.chmod(0o600)
    except OSError as error:
        raise unavailable(error) from error


def connect(path: Path | None) -> sqlite3.Connection:
    """A connection with the settings every ledger is used with. Transactions are begun by hand.

    Nothing of a transaction reaches the disk before its commit (no cache spill, temporary tables in memory):
    what was drawn and not committed is seen by nobody.
    """
    name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        name, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=path is not None
    )
    if not is_empty(connection) and _stamp(connection) != APPLICATION:
        raise corrupt("it is another program's database")
    for setting in (
        *("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"),
        *("cache_spill = OFF", "temp_store = MEMORY", "journal_size_limit = 1048576"),
        *("trusted_schema = OFF", "cell_size_check = ON"),
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether the file holds nothing yet, of ours or of anybody."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return tables == 0 and _stamp(connection) in (0, APPLICATION)


def make_tables(connection: sqlite3.Connection) -> None:
    """Lay out an empty ledger, inside the caller's transaction."""
    for table in TABLES.values():
        connection.execute(table)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


def check_file(connection: sqlite3.Connection) -> None:
    """Read every page; `LedgerCorrupt` unless it is a sound ledger of exactly our layout."""
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    if _stamp(connection) != APPLICATION or found != TABLES:
        raise corrupt("it is not a ledger of this version")
    verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict != "ok":
        raise corrupt("the file is damaged")


def _stamp(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA application_id").fetchone()[0]


def tidy(connection: sqlite3.Connection) -> None:
    """Give back dropped pages and cut the log, with what a killed commit left in it, unless others work."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.executescript("PRAGMA incremental_vacuum")  # `execute` would take one step of it
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}")


def copy_of(path: Path, folder: Path) -> Path:
    """A private copy of a ledger on a full or read-only disk, log included, so that it can still be read."""
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{suffix}", folder / f"{path.name}{suffix}")
    return folder / path.name


def corrupt(problem: str) -> LedgerCorrupt:
    """The refusal of a ledger that cannot be trusted."""
    return LedgerCorrupt(
        f"the ledger is refused: {problem}. Nothing was released. Restore its newest backup, together with "
        "the private folder beside it; an older copy would forget what was spent"
    )


@contextmanager
def translated() -> Generator[None]:
    """Let no raw SQLite or operating system error of a ledger out."""
    try:
        yield
    except HushfoldError:
        raise
    except sqlite3.Error as error:
        raise _meaning(error) from error


def is_busy(error: BaseException | None) -> bool:
    """Whether SQLite gave up waiting for another process."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _meaning(error: sqlite3.Error) -> LedgerError:
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if is_busy(error):
        return LedgerUnavailable(
            f"another process has kept the ledger busy for {PATIENCE} seconds, so nothing was released. "
            "Run the same command again when it is done"
        )
    if name.startswith(_PASSING) and name not in _RUINED:
        return LedgerUnavailable(
            f"the ledger cannot be written ({name}: disk full, read-only or failing); nothing was released. "
            "Free some space or make it writable, and run the same command again"
        )
    return corrupt(f"SQLite cannot make sense of it ({name or type(error).__name__})")
