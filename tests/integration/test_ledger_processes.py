"""L-01, R-02: many processes on one ledger spend the budget exactly, and one release is committed once."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushfold.errors import AlreadyCommitted, BudgetExceeded
from hushfold.privacy.ledger import Ledger, Total

SPAWN = multiprocessing.get_context("spawn")
PROCESSES, SPENDS, BUDGET = 8, 300, 1000


def open_ledger(path: Path, units: int) -> Ledger:
    return Ledger.open(path, population="people", total=Total("gaussian", units))


def spend(path: Path, who: int) -> int:
    """How many of `SPENDS` requests of one unit each were granted."""
    run = open_ledger(path, BUDGET).run(f"fit-{who}", method="test", config={})
    granted = 0
    for step in range(SPENDS):
        try:
            run.reserve("unit", step, 1, {})
            granted += 1
        except BudgetExceeded:
            pass
    return granted


def test_eight_processes_spend_the_budget_exactly(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with SPAWN.Pool(PROCESSES) as pool:
        granted = pool.starmap(spend, [(path, who) for who in range(PROCESSES)])
    assert sum(granted) == BUDGET
    books = open_ledger(path, BUDGET).books()
    assert books.populations["people"].spent == {"gaussian": (BUDGET, 0)}
    assert len(books.releases) == BUDGET


def race(path: Path, who: int, releases: int, barrier: Any) -> tuple[list[int], list[bytes]]:
    """Commit every release as fast as possible; the steps won, and what each release's result is."""
    run = open_ledger(path, BUDGET).run("fit", method="test", config={})
    won: list[int] = []
    results: list[bytes] = []
    for step in range(releases):
        reservation = run.reserve("sum", step, 1, {})
        barrier.wait()
        try:
            run.commit(reservation, {"draw": np.random.default_rng().normal(size=100)})
            won.append(step)
        except AlreadyCommitted:
            pass
        run.publish(reservation)
        results.append(run.result(reservation)["draw"].tobytes())
    return won, results


def _races(path: Path, releases: int) -> None:
    with SPAWN.Manager() as manager, SPAWN.Pool(2) as pool:
        barrier = manager.Barrier(2, timeout=60)
        (won, read), (also_won, also_read) = pool.starmap(
            race, [(path, who, releases, barrier) for who in range(2)]
        )
    assert sorted(won + also_won) == list(range(releases))
    assert read == also_read
    assert len(set(read)) == releases
    books = open_ledger(path, BUDGET).books()
    assert books.populations["people"].spent == {"gaussian": (releases, 0)}
    assert all(release.state == "PUBLISHED" for release in books.releases.values())


def test_the_loser_of_a_commit_race_reads_the_winners_bytes(tmp_path: Path) -> None:
    _races(tmp_path / "people.ledger", 12)


@pytest.mark.slow
def test_a_hundred_commit_races(tmp_path: Path) -> None:
    _races(tmp_path / "people.ledger", 100)


def naive_spend(path: Path, barrier: Any) -> int:
    """The obvious ledger: read a JSON file, check, write a temporary file and rename it over the old one."""
    barrier.wait()
    granted = 0
    for _ in range(SPENDS):
        spent = json.loads(path.read_text())["spent"]
        if spent < BUDGET:
            own = path.with_suffix(f".{os.getpid()}")
            own.write_text(json.dumps({"spent": spent + 1}))
            own.replace(path)
            granted += 1
    return granted


@pytest.mark.slow
def test_the_naive_ledger_is_caught(tmp_path: Path) -> None:
    """The negative control: under the same load it grants more than it has, or forgets what it granted."""
    path = tmp_path / "naive.json"
    path.write_text(json.dumps({"spent": 0}))
    with SPAWN.Manager() as manager, SPAWN.Pool(PROCESSES) as pool:
        barrier = manager.Barrier(PROCESSES, timeout=60)
        granted = sum(pool.starmap(naive_spend, [(path, barrier)] * PROCESSES))
    recorded = json.loads(path.read_text())["spent"]
    assert granted > BUDGET or recorded != granted
