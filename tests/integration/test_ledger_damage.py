"""L-04: a ledger that was damaged, edited, cut or rolled back is refused, and nothing is spent on it."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hushfold.errors import LedgerCorrupt
from hushfold.privacy.ledger import Ledger, Total
from hushfold.privacy.ledger_state import START, encode, link

RESULT = np.arange(3000.0)


def open_ledger(folder: Path, **options: str) -> Ledger:
    return Ledger.open(
        folder / "people.ledger", population="people", total=Total("gaussian", 1000), **options
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a run in the middle of its work, an older copy of it, and a ledger of the same name."""
    folder = tmp_path_factory.mktemp("kept")
    ledger = open_ledger(folder)
    run = ledger.run("fit", method="test", config={"rank": 3})
    first = run.reserve("first", 0, 7, {"shape": "total"})
    run.commit(first, {"sum": RESULT})
    ledger.close()
    shutil.copyfile(folder / "people.ledger", folder / "older")
    run.reserve("second", 0, 13, {"shape": "cross"})
    run.reserve("third", 0, 17, {"shape": "cross"})
    ledger.close()
    other = folder / "elsewhere"
    other.mkdir()
    ledger = open_ledger(other)
    ledger.close()
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(kept, tmp_path / "damaged"))


def flip(pattern: bytes, at: int = 0) -> Callable[[Path], None]:
    """Flip a bit `at` bytes after where `pattern` stands in the file."""

    def mutate(folder: Path) -> None:
        content = bytearray((folder / "people.ledger").read_bytes())
        content[content.index(pattern) + at] ^= 1
        (folder / "people.ledger").write_bytes(content)

    return mutate


def flip_at(place: int) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        content = bytearray((folder / "people.ledger").read_bytes())
        content[place] ^= 255
        (folder / "people.ledger").write_bytes(content)

    return mutate


def cut(size: Callable[[int], int]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        file = folder / "people.ledger"
        with file.open("r+b") as stream:
            stream.truncate(size(file.stat().st_size))

    return mutate


def sql(*statements: str) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "people.ledger")) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return mutate


def forge(edit: Callable[[list[dict]], object], *, forget_mark: bool = False) -> Callable[[Path], None]:
    """Edit the entries and build a new, consistent chain over them."""

    def mutate(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "people.ledger")) as connection, connection:
            entries = [
                json.loads(body) for (body,) in connection.execute("SELECT body FROM entries ORDER BY seq")
            ]
            edit(entries)
            connection.execute("DELETE FROM entries")
            digest = START
            for seq, entry in enumerate(entries, 1):
                body = encode(entry) if entry else b"[]"
                digest = link(digest, seq, body)
                connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (seq, body, digest))
            connection.execute("UPDATE head SET seq = ?, digest = ?", (len(entries), digest))
        if forget_mark:
            (folder / ".hushfold/people.ledger/head").unlink()

    return mutate


def replace(source: str) -> Callable[[Path], None]:
    return lambda folder: shutil.copyfile(folder / source, folder / "people.ledger") and None


def spend_less(entries: list[dict]) -> None:
    next(entry for entry in entries if entry.get("name") == "second")["units"] = 1


def overspend(entries: list[dict]) -> None:
    next(entry for entry in entries if entry.get("name") == "second")["units"] = 10_000


def commit_twice(entries: list[dict]) -> None:
    entries.append(next(entry for entry in entries if entry["kind"] == "committed"))


MUTATIONS: dict[str, Callable[[Path], object]] = {
    "a bit of an amount": flip(b'"units":13', 9),
    "a bit of an entry": flip(b'"kind":"run"', 9),
    "a bit of a total": flip(b'"units":1000', 8),
    "a bit of a result": flip(RESULT[100:110].tobytes(), 7),
    "a bit of the layout": flip(b"CREATE TABLE parts", 14),
    "the magic bytes": flip(b"SQLite format 3"),
    "the page size": flip_at(16),
    "the text encoding": flip_at(59),
    "the stamp of the program": flip_at(68),
    "a page's kind": flip_at(4096 * 2),
    "half of it": cut(lambda size: size // 2),
    "a page less": cut(lambda size: size - 4096),
    "a byte less": cut(lambda size: size - 1),
    "the header only": cut(lambda size: 100),
    "nothing left": cut(lambda size: 0),
    "the last entry deleted": sql("DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)"),
    "an entry deleted": sql("DELETE FROM entries WHERE seq = 4"),
    "an amount edited": sql(
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), '\"units\":13', '\"units\":1') AS BLOB)"
    ),
    "an entry as text": sql("UPDATE entries SET body = CAST(body AS TEXT) WHERE seq = 2"),
    "entries exchanged": sql(
        "UPDATE entries SET seq = -seq WHERE seq IN (6, 7)", "UPDATE entries SET seq = 13 + seq WHERE seq < 0"
    ),
    "the head edited": sql("UPDATE head SET seq = seq - 1"),
    "no head": sql("DELETE FROM head"),
    "a result deleted": sql("DELETE FROM parts"),
    "a result nobody committed": sql("INSERT INTO parts VALUES (1, x'00')"),
    "a table dropped": sql("DROP TABLE parts"),
    "a trigger added": sql("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END"),
    "the end cut off, with a new head": forge(lambda entries: entries.pop()),
    "an amount edited, with a new chain": forge(spend_less),
    "more spent than the total, with a new chain": forge(overspend, forget_mark=True),
    "a release committed twice, with a new chain": forge(commit_twice, forget_mark=True),
    "an unknown kind of entry": forge(lambda entries: entries.append({"kind": "gift"}), forget_mark=True),
    "a kind of entry that is a method": forge(lambda e: e.append({"kind": "_eq__"}), forget_mark=True),
    "an entry that is a list": forge(lambda e: e.append([]), forget_mark=True),
    "an entry without its fields": forge(lambda entries: entries.append({"kind": "total"}), forget_mark=True),
    "an older copy": replace("older"),
    "another ledger": replace("elsewhere/people.ledger"),
    "no file": lambda folder: (folder / "people.ledger").unlink(),
    "something else": lambda folder: (folder / "people.ledger").write_text("population: people\n" * 500),
    "an unreadable mark": lambda folder: (folder / ".hushfold/people.ledger/head").write_text("x"),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_damaged_ledger_is_refused(folder: Path, mutation: str) -> None:
    MUTATIONS[mutation](folder)
    for attempt in (open_ledger, lambda folder: Ledger.attach(folder / "people.ledger")):
        with pytest.raises(LedgerCorrupt) as refusal:
            attempt(folder)
        assert refusal.value.exit_code == 4


def test_the_undamaged_copy_is_not_refused(folder: Path) -> None:
    run = open_ledger(folder).run("fit", method="test", config={"rank": 3})
    assert run.result(run.reserve("first", 0, 7, {"shape": "total"}))["sum"].tolist() == RESULT.tolist()


def test_a_rollback_without_the_folder_is_noticed_by_the_remembered_head(folder: Path) -> None:
    ledger = open_ledger(folder)
    head = ledger.head
    ledger.close()
    open_ledger(folder, expect_head=head).close()
    shutil.rmtree(folder / ".hushfold")
    replace("older")(folder)
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        open_ledger(folder, expect_head=head)


@pytest.mark.parametrize("how", ["in place", "in place, the log removed", "by renaming", "removed"])
def test_a_rollback_under_an_open_ledger_is_noticed_before_the_next_spend(folder: Path, how: str) -> None:
    run = open_ledger(folder).run("fit", method="test", config={"rank": 3})
    if how.startswith("in place"):
        replace("older")(folder)
    if how.endswith("log removed"):
        (folder / "people.ledger-wal").unlink()
    if how == "by renaming":
        (folder / "older").rename(folder / "people.ledger")
    if how == "removed":
        (folder / "people.ledger").unlink()
    with pytest.raises(LedgerCorrupt):
        run.reserve("fourth", 0, 1, {})


def test_a_log_that_lost_its_end_is_a_rollback(folder: Path) -> None:
    ledger = open_ledger(folder)
    ledger.run("fit", method="test", config={"rank": 3}).reserve("fourth", 0, 1, {})
    crashed = folder.parent / "crashed"
    shutil.copytree(folder, crashed)  # the log is still there, as after a kill
    assert (crashed / "people.ledger-wal").stat().st_size
    log = bytearray((crashed / "people.ledger-wal").read_bytes())
    log[len(log) // 2] ^= 1
    (crashed / "people.ledger-wal").write_bytes(log)
    with pytest.raises(LedgerCorrupt):
        open_ledger(crashed)


def test_any_flipped_byte_is_refused_or_changes_nothing(kept: Path, tmp_path: Path) -> None:
    sound, coins = (kept / "people.ledger").read_bytes(), random.Random(4)
    with open_ledger(kept) as ledger:
        books = repr(vars(ledger.books()))
    for trial in range(60):
        folder = Path(shutil.copytree(kept, tmp_path / str(trial)))
        flip_at(coins.randrange(len(sound)))(folder)
        try:
            ledger = open_ledger(folder)
        except LedgerCorrupt:
            continue
        assert repr(vars(ledger.books())) == books
        run = ledger.run("fit", method="test", config={"rank": 3})
        assert np.array_equal(run.result(run.reserve("first", 0, 7, {"shape": "total"}))["sum"], RESULT)
        ledger.close()
