"""L-02, R-05: killed at any instant, a run is charged once, results stay as they were, nothing is left."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from hushfold.privacy.ledger import Ledger, Total

FORKS = multiprocessing.get_context("forkserver")
RUNS, STEPS = 3, 40
DRAW = 2000  # floats per release: several pages, so that a commit is not one write


def open_ledger(path: Path) -> Ledger:
    return Ledger.open(path, population="people", total=Total("gaussian", RUNS * STEPS))


def work(path: Path, who: int) -> None:
    """Release every step of one run, from the start; note what was published, as an outsider would see it."""
    run = open_ledger(path).run(f"fit-{who}", method="test", config={"steps": STEPS}, data_digest=b"data")
    seen = os.open(path.parent / f"seen-{who}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for step in range(STEPS):
        reservation = run.reserve("sum", step, 1, {"shape": "total"})
        if reservation.state == "RESERVED":
            run.commit(
                reservation, ((f"tile/{t}", np.random.default_rng().normal(size=DRAW)) for t in range(2))
            )
        run.publish(reservation)
        digest = hashlib.sha256(b"".join(part.tobytes() for part in run.result(reservation).values()))
        os.write(seen, f"{step} {digest.hexdigest()}\n".encode())


def start(path: Path, who: int) -> BaseProcess:
    process = FORKS.Process(target=work, args=(path, who))
    process.start()
    return process


def storm(folder: Path, kills: int) -> None:
    """Kill workers at random instants, start them again, and let them finish at last."""
    path, coins = folder / "people.ledger", random.Random(20)
    FORKS.set_forkserver_preload([__name__])
    workers = [start(path, who) for who in range(RUNS)]
    while kills:
        time.sleep(coins.uniform(0.005, 0.12))
        who = coins.randrange(RUNS)
        if workers[who].is_alive():
            os.kill(workers[who].pid or 0, signal.SIGKILL)
            kills -= 1
        workers[who].join()
        assert workers[who].exitcode in (0, -signal.SIGKILL)
        workers[who] = start(path, who)
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    check_after_the_storm(path)


def check_after_the_storm(path: Path) -> None:
    ledger = open_ledger(path)
    books = ledger.books()
    assert books.populations["people"].spent == {"gaussian": (RUNS * STEPS, 0)}
    assert set(books.releases) == {f"fit-{who}/sum/{step}" for who in range(RUNS) for step in range(STEPS)}
    for who in range(RUNS):
        lines = (path.parent / f"seen-{who}").read_text().split("\n")[:-1]
        published = set(lines)
        assert len(published) == STEPS  # every step was seen, and always with the same content
        run = ledger.run(f"fit-{who}", method="test", config={"steps": STEPS}, data_digest=b"data")
        run.close()
    ledger.close()
    left = sorted(str(file.relative_to(path.parent)) for file in path.parent.rglob("*") if file.is_file())
    seen = [f"seen-{who}" for who in range(RUNS)]
    assert left == [".hushfold/people.ledger/head", ".hushfold/people.ledger/lock", "people.ledger", *seen]


def test_a_short_storm_of_kills(tmp_path: Path) -> None:
    storm(tmp_path, 8)


@pytest.mark.slow
def test_sixty_kills(tmp_path: Path) -> None:
    storm(tmp_path, 60)
