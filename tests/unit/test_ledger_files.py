"""R-07, I-12: where a ledger may lie, what stands beside it, and who may read it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from hushfold.errors import ArgumentError, BudgetExceeded, LedgerCorrupt, LedgerUnavailable
from hushfold.privacy import ledger_folder, ledger_sqlite
from hushfold.privacy.ledger import Ledger, Total

TOTAL = Total("gaussian", 1000)


def open_ledger(path: Path) -> Ledger:
    return Ledger.open(path, population="people", total=TOTAL)


def modes(folder: Path) -> dict[str, int]:
    return {str(f.relative_to(folder)): stat.S_IMODE(f.lstat().st_mode) for f in folder.rglob("*")}


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o277])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        run = open_ledger(tmp_path / "people.ledger").run("fit", method="test", config={})
        run.reserve("sum", 0, 1, {})
    finally:
        os.umask(before)
    assert modes(tmp_path) == {
        "people.ledger": 0o600,
        "people.ledger-wal": 0o600,
        "people.ledger-shm": 0o600,
        ".hushfold": 0o700,
        ".hushfold/people.ledger": 0o700,
        ".hushfold/people.ledger/head": 0o600,
        ".hushfold/people.ledger/lock": 0o600,
        ".hushfold/people.ledger/runs": 0o700,
        ".hushfold/people.ledger/runs/fit": 0o700,
        ".hushfold/people.ledger/runs/fit/secret": 0o600,
    }


def test_a_ledger_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    open_ledger(path).close()
    path.chmod(0o666)
    (tmp_path / ".hushfold").chmod(0o777)
    open_ledger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / ".hushfold").stat().st_mode) == 0o700


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "x")
    return folder / "x"


def _link(folder: Path) -> Path:
    (folder / "x").symlink_to(folder / "elsewhere.ledger")
    return folder / "x"


def _second_name(folder: Path) -> Path:
    open_ledger(folder / "first.ledger").close()
    os.link(folder / "first.ledger", folder / "x")
    return folder / "x"


def _under_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "x"


def _open_to_all(folder: Path) -> Path:
    (folder / "open").mkdir()
    (folder / "open").chmod(0o1777)
    return folder / "open" / "x"


def _below_open_to_all(folder: Path) -> Path:
    (folder / "open" / "mine").mkdir(parents=True)
    (folder / "open").chmod(0o777)
    return folder / "open" / "mine" / "x"


def _folder_is_a_link(folder: Path) -> Path:
    (folder / "there").mkdir()
    (folder / ".hushfold").symlink_to(folder / "there")
    return folder / "x"


def _folder_is_a_file(folder: Path) -> Path:
    (folder / ".hushfold").touch()
    return folder / "x"


PLACES = {
    "a FIFO": _fifo,
    "a symbolic link": _link,
    "a hard link": _second_name,
    "a folder": lambda folder: folder,
    "no such folder": lambda folder: folder / "missing" / "x",
    "below a file": _under_a_file,
    "a folder everybody may write to": _open_to_all,
    "below a folder everybody may write to": _below_open_to_all,
    "a private folder that is a link": _folder_is_a_link,
    "a private folder that is a file": _folder_is_a_file,
    "NUL": lambda folder: folder / "a\0b",
    "no name": lambda folder: Path(""),
    "the folder above": lambda folder: folder / "..",
}


@pytest.mark.parametrize("place", PLACES)
def test_places_that_are_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(ArgumentError, match=r"ledger: .*refused"):
        open_ledger(PLACES[place](tmp_path))


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", True), ("fuse.sshfs", True), ("ext4", False)])
def test_network_file_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, refused: bool
) -> None:
    place = tmp_path / "a share"
    place.mkdir()
    point = str(place).replace(" ", "\\040")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {point} rw shared:1 - {kind} host:/x rw\n")
    monkeypatch.setattr(ledger_folder, "MOUNTS", mounts)
    assert ledger_folder.file_system(place) == kind
    if refused:
        with pytest.raises(ArgumentError, match="network"):
            open_ledger(place / "x")
    else:
        open_ledger(place / "x")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerCorrupt, match="another program"):
        open_ledger(path)
    assert path.read_bytes() == before


def test_commits_are_flushed_and_nothing_before_them_is_written(tmp_path: Path) -> None:
    """What a power cut and a peeping reader find cannot be tested here; the settings they depend on can."""
    path = tmp_path / "people.ledger"
    open_ledger(path).close()
    wanted = {"journal_mode": "wal", "synchronous": 2, "cache_spill": 0, "temp_store": 2}
    with closing(ledger_sqlite.connect(path)) as connection:
        assert {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted


def test_a_busy_ledger_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_sqlite, "PATIENCE", 0.05)
    path = tmp_path / "people.ledger"
    run = open_ledger(path).run("fit", method="test", config={})
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="busy"):
            run.reserve("sum", 0, 1, {})
    run.reserve("sum", 0, 1, {})


def test_threads_spend_the_budget_exactly(tmp_path: Path) -> None:
    run = open_ledger(tmp_path / "people.ledger").run("fit", method="test", config={})
    granted: list[int] = []

    def spend(who: int) -> None:
        for step in range(20):
            try:
                run.reserve(f"thread-{who}", step, 20, {})
                granted.append(20)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=spend, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 1000


STORY = """
import sys
from pathlib import Path
from hushfold.privacy.ledger import Ledger, Total
ledger = Ledger.open(Path(sys.argv[1]), population="ılık İnsanlar", total=Total("gaussian", 10))
run = ledger.run("fit", method="test", config={"title": "ILIK"})
run.reserve("sum", int(sys.argv[2]), 5, {"shape": "total"})
print(run.rows()[-1]["units"], ledger.books().populations["ılık İnsanlar"].spent)
"""

PAST = """
import datetime
class Then(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(1970, 1, 1, tzinfo=tz)
datetime.datetime = Then
"""


def test_neither_clock_nor_locale_nor_time_zone_matters(tmp_path: Path) -> None:
    """A run begun here goes on in a Turkish locale, in another zone and before the ledger was made."""
    worlds = [
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8"},
        {"TZ": "Pacific/Niue", "LC_ALL": "C", "PYTHONUTF8": "1"},
    ]
    seen = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "people.ledger"), str(step)],
            env=os.environ | world,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for step, (world, script) in enumerate(zip(worlds, (STORY, PAST + STORY), strict=True))
    ]
    assert seen == ["5 {'gaussian': (5, 0)}\n", "5 {'gaussian': (10, 0)}\n"]
