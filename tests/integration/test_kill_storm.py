"""R-01, R-02, R-05, P-08 through the door: killed at any instant, a run of three releases goes on as before.

The same spend, one commit a release, fresh noise where nobody had seen any, and nothing on disk that was not
released.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sqlite3
import stat
import time
from collections import Counter
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integration import storm_fit
from tests.integration.storm_fit import BUDGET, RELEASES, SHARES

from hushfold.privacy.door import Door
from hushfold.privacy.run import Run

FORKS = multiprocessing.get_context("forkserver")
SPAWN = multiprocessing.get_context("spawn")
Snapshot = dict[str, bytes]
"""Every file of the run folder, as a thief would find it."""


def start(folder: Path, die_before_committing: str | None = None) -> BaseProcess:
    """A child that fits or resumes in this folder."""
    for part in ("run", "witness"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    FORKS.set_forkserver_preload(["tests.integration.storm_server"])
    process = FORKS.Process(target=storm_fit.fit, args=(folder, die_before_committing))
    process.start()
    return process


def finish(folder: Path) -> float:
    """Run to the end; the seconds from the first line of the fit to the last."""
    before = len(witnessed(folder, "begun"))
    process = start(folder)
    began = when_begun(folder, process, before)
    process.join(200)
    assert process.exitcode == 0
    return time.monotonic() - began


def when_begun(folder: Path, process: BaseProcess, before: int) -> float:
    """Wait for the first line of the fit, the one after `before` others; the time then."""
    while process.is_alive() and len(witnessed(folder, "begun")) == before:
        time.sleep(0.001)
    return time.monotonic()


def snapshot(folder: Path) -> Snapshot:
    """The content of all files; they and their folders are private whatever the instant."""
    run = folder / "run"
    for inside in (run / ".hushfold").rglob("*"):
        assert stat.S_IMODE(inside.stat().st_mode) == (0o700 if inside.is_dir() else 0o600)
    return {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*") if file.is_file()}


def pairs_of(numbers: list[np.ndarray]) -> dict[int, set[int]]:
    """Two 8-byte words in a row, as un-noised numbers would leave them: first word -> what follows it.

    Words below 2^20 stand in every file for other reasons, and so may a single one.
    """
    pairs: dict[int, set[int]] = {}
    for part in numbers:
        words = part[: part.size // 2 * 2].view(np.int64)
        large = (words >= 2**20) | (words <= -(2**20))
        for place in np.flatnonzero(large[:-1] & large[1:]).tolist():
            pairs.setdefault(int(words[place]), set()).add(int(words[place + 1]))
    return pairs


def leaks(files: Snapshot, pairs: dict[int, set[int]], keys: list[bytes]) -> list[str]:
    """Names of the files that hold such a pair, at any alignment, or a key, as bytes or in hexadecimal."""
    firsts = np.fromiter(pairs, np.int64, len(pairs))

    def exact(content: bytes) -> bool:
        views = [np.frombuffer(content[k:][: (len(content) - k) // 8 * 8], np.int64) for k in range(8)]
        return any(
            int(view[place + 1]) in pairs[int(view[place])]
            for view in views
            for place in np.flatnonzero(np.isin(view[:-1], firsts)).tolist()
        )

    def keyed(content: bytes) -> bool:
        return any(key in content or key.hex().encode() in content.lower() for key in keys)

    return [name for name, content in files.items() if exact(content) or keyed(content)]


def witnessed(folder: Path, what: str) -> list[str]:
    file = folder / "witness" / what
    return file.read_text().splitlines() if file.exists() else []


def commits(folder: Path) -> Counter[str]:
    """How often the chain of the ledger says of each release that it was committed."""
    with closing(sqlite3.connect(folder / "run" / "people.ledger")) as file:
        entries = [json.loads(body) for (body,) in file.execute("SELECT body FROM entries")]
    return Counter(entry["id"] for entry in entries if entry["kind"] == "committed")


def check_finished(folder: Path, snapshots: list[Snapshot]) -> None:
    """What must hold of a run that was killed any number of times and then left to finish."""
    ledger, run = storm_fit.open_run(folder)
    rows = run.rows()
    spent = {row["name"]: row["units"] for row in rows}
    units = {share.name: share.units for share in SHARES}
    assert spent == {**{k: units[k] for k in ("counts", "pairs")}, "items": units["grams"] + units["sides"]}
    assert ledger.books().populations["people"].spent == {"gaussian": (BUDGET.units, 0)}
    assert [row["state"] for row in rows] == ["PUBLISHED"] * 3
    assert commits(folder) == {f"fit/{name}/{int(name == 'items')}": 1 for name in RELEASES}
    # Every reading of a release, before a kill and after, gave the same bytes.
    assert sorted(line.split()[0] for line in set(witnessed(folder, "seen"))) == sorted(RELEASES)
    keys = [bytes.fromhex(line) for line in witnessed(folder, "keys")]
    assert len(keys) == len(set(keys)) >= len(RELEASES)
    values = storm_fit.releases(storm_fit.people(), Door(run, BUDGET, new_key=no_key), lambda *_: None)
    numbers = storm_fit.exact_numbers(storm_fit.people(), storm_fit.choose_head(values["counts"]))
    for files in (*snapshots, snapshot(folder)):
        assert leaks(files, pairs_of(numbers), keys) == []
    run.close()
    ledger.close()
    left = sorted(name for name in snapshot(folder))
    assert left == [".hushfold/people.ledger/head", ".hushfold/people.ledger/lock", "people.ledger"]


def no_key() -> Any:
    raise AssertionError("a committed release was drawn again")


def storm(folder: Path, kills: int) -> set[tuple[int, int]]:
    """Kill runs at random instants, up to twice each, and let each of them finish at last.

    Returns the situations met: how many releases had been seen and how many keys drawn.
    """
    finish(folder / "warm")
    seconds = finish(folder / "calm")
    check_finished(folder / "calm", [])
    coins, trial, met = random.Random(23), 0, set()
    while kills:
        own, snapshots = folder / f"trial-{trial}", []
        for _ in range(2):
            before = len(witnessed(own, "begun"))
            process = start(own)
            if coins.random() < 0.8:  # else while it starts
                when_begun(own, process, before)
            time.sleep(coins.uniform(0, seconds))
            if kills and process.is_alive():
                os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL)
            kills -= process.exitcode != 0
            met.add((len(set(witnessed(own, "seen"))), len(witnessed(own, "keys"))))
            snapshots.append(snapshot(own))
        finish(own)
        check_finished(own, snapshots)
        trial += 1
    return met


def test_a_short_storm_of_kills(tmp_path: Path) -> None:
    assert storm(tmp_path, 6)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_forty_kills(tmp_path: Path) -> None:
    met = storm(tmp_path, 40)
    assert len(met) >= 5, met  # the instants were spread over the run


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_lost_with_its_draw_is_drawn_afresh_for_the_same_charge(tmp_path: Path, name: str) -> None:
    """P-08: killed with the noised numbers in hand; the next start shares none of them, and pays nothing."""
    process = start(tmp_path, die_before_committing=name)
    process.join(200)
    assert process.exitcode == -signal.SIGKILL
    lost = np.load(tmp_path / "witness" / "draw.npz")
    before = snapshot(tmp_path)
    ledger, run = storm_fit.open_run(tmp_path)
    assert run.rows()[-1]["state"] == "RESERVED"
    ledger.close()
    finish(tmp_path)
    ledger, run = storm_fit.open_run(tmp_path)
    row = next(row for row in run.rows() if row["name"] == name)
    reservation = run.reserve(name, row["step"], row["units"], {k: row[k] for k in DETAILS})
    parts = run.result(reservation)
    assert parts.keys() == set(lost.files)
    for part, values in parts.items():
        assert values.shape == lost[part].shape
        assert (values == lost[part]).mean() < 1e-3  # float32 panels round; on the lattice none would
    ledger.close()
    check_finished(tmp_path, [before])


DETAILS = ("kind", "grade", "touched", "parts")


def test_the_same_public_seed_twice_draws_other_noise(tmp_path: Path) -> None:
    """P-08: two runs of the same settings, data and public coins agree on nothing that was noised."""
    drawn = []
    for who in ("first", "second"):
        (tmp_path / who / "run").mkdir(parents=True)
        ledger, run = storm_fit.open_run(tmp_path / who)
        drawn.append(storm_fit.releases(storm_fit.people(), Door(run, BUDGET), lambda *_: None))
        ledger.close()
    for name in ("counts", "items"):
        assert not (drawn[0][name] == drawn[1][name]).any()


def test_a_leak_would_be_found(tmp_path: Path) -> None:
    """The control of the scan: un-noised numbers or a key in any file, shifted or spelt out."""
    head, key = np.arange(storm_fit.HEAD), os.urandom(32)
    numbers = storm_fit.exact_numbers(storm_fit.people(), head)
    pairs = pairs_of(numbers)
    assert len(pairs) > 5000
    for part in numbers:
        assert leaks({"spill": b"abc" + part.tobytes()}, pairs, [key]) == ["spill"]
    spelt = {"log": b"key=" + key.hex().upper().encode(), "core": b"x" + key}
    assert leaks(spelt, pairs, [key]) == ["log", "core"]
    assert leaks({"noise": os.urandom(2**20)}, pairs, [key]) == []


def race(folder: Path, releases: int, barrier: Any) -> tuple[list[int], list[bytes]]:
    """Draw every release, wait until the other process has drawn it, commit; the steps won, the values."""
    won: list[int] = []
    commit = Run.commit

    def together(run: Run, reservation: Any, parts: Any) -> None:
        barrier.wait()
        commit(run, reservation, parts)  # AlreadyCommitted for the loser
        won.append(reservation.step)

    Run.commit = together  # type: ignore[method-assign]
    ledger, run = storm_fit.open_run(folder)
    door, users, read = Door(run, BUDGET, threads=1), storm_fit.people(), []
    for step in range(releases):
        sums = storm_fit.ENGINE.sum(users, storm_fit.counts)
        (released,) = door.gaussian("counts", sums, 1000, step=step)
        read.append(released.value.tobytes())
        barrier.wait()
    ledger.close()
    return won, read


def races(folder: Path, releases: int) -> None:
    (folder / "run").mkdir()
    with SPAWN.Manager() as manager, SPAWN.Pool(2) as pool:
        barrier = manager.Barrier(2, timeout=200)
        (won, read), (also_won, also_read) = pool.starmap(race, [(folder, releases, barrier)] * 2)
    assert sorted(won + also_won) == list(range(releases))
    assert read == also_read
    assert len(set(read)) == releases
    ledger, run = storm_fit.open_run(folder)
    assert [row["units"] for row in run.rows()] == [1000] * releases
    assert set(commits(folder).values()) == {1}
    ledger.close()


def test_of_two_processes_that_drew_one_release_the_loser_returns_the_winners_bytes(tmp_path: Path) -> None:
    races(tmp_path, 8)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_races_through_the_door(tmp_path: Path) -> None:
    races(tmp_path, 100)
