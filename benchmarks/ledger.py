"""How fast the ledger grants under contention, and what a large commit costs.

    python benchmarks/ledger.py            8 processes x 300 requests of one unit on a budget of 1000
    python benchmarks/ledger.py --naive    the same load on a JSON file, written beside and renamed over
    python benchmarks/ledger.py --commit   one result of 200 MB in 40 parts: seconds and peak memory

Wall seconds depend on the disk (every grant is flushed to it); CPU seconds are those of all workers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hushfold.errors import BudgetExceeded
from hushfold.privacy.ledger import Ledger, Total

PROCESSES, REQUESTS, BUDGET, REPEATS = 8, 300, 1000, 5
Worked = tuple[int, float, float]
SPAWN = multiprocessing.get_context("spawn")


def open_ledger(folder: Path) -> Ledger:
    return Ledger.open(folder / "people.ledger", population="people", total=Total("gaussian", BUDGET))


def spend(folder: Path, who: int, barrier: Any) -> Worked:
    run = open_ledger(folder).run(f"fit-{who}", method="benchmark", config={})
    return timed(barrier, lambda step: _reserve(run, step))


def _reserve(run: Any, step: int) -> bool:
    try:
        run.reserve("unit", step, 1, {})
    except BudgetExceeded:
        return False
    return True


def spend_naively(folder: Path, who: int, barrier: Any) -> Worked:
    path = folder / "people.json"

    def grant(step: int) -> bool:
        spent = json.loads(path.read_text())["spent"]
        if spent >= BUDGET:
            return False
        (folder / f"{who}.tmp").write_text(json.dumps({"spent": spent + 1}))
        (folder / f"{who}.tmp").replace(path)
        return True

    return timed(barrier, grant)


def naively_recorded(folder: Path) -> int:
    return json.loads((folder / "people.json").read_text())["spent"]


def timed(barrier: Any, grant: Callable[[int], bool]) -> Worked:
    """How many requests were granted, and wall and CPU seconds of this worker."""
    barrier.wait()
    wall, cpu = time.perf_counter(), time.process_time()
    granted = sum(grant(step) for step in range(REQUESTS))
    return granted, time.perf_counter() - wall, time.process_time() - cpu


def contend(
    worker: Callable[..., tuple[int, float, float]], recorded: Callable[[Path], int]
) -> dict[str, Any]:
    rows: list[dict[str, float]] = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            folder = Path(name)
            (folder / "people.json").write_text('{"spent": 0}')
            with SPAWN.Manager() as manager, SPAWN.Pool(PROCESSES) as pool:
                barrier = manager.Barrier(PROCESSES)
                done = pool.starmap(worker, [(folder, who, barrier) for who in range(PROCESSES)])
            granted, wall = sum(row[0] for row in done), max(row[1] for row in done)
            row = {"granted": granted, "recorded": recorded(folder), "per_second": granted / wall}
            rows.append(row | {"wall": wall, "cpu": sum(row[2] for row in done)})
    return {
        "budget": BUDGET,
        "requests": PROCESSES * REQUESTS,
        "granted": [row["granted"] for row in rows],
        "recorded": [row["recorded"] for row in rows],
        "grants_per_second": round(statistics.median(row["per_second"] for row in rows), 1),
        "worst_grants_per_second": round(min(row["per_second"] for row in rows), 1),
        "wall_seconds": round(statistics.median(row["wall"] for row in rows), 3),
        "cpu_seconds": round(statistics.median(row["cpu"] for row in rows), 3),
    }


def commit(parts: int = 40, megabytes: int = 5) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        run = open_ledger(Path(name)).run("fit", method="benchmark", config={})
        reservation = run.reserve("gram", 0, 1, {})
        before, wall, cpu = _peak(), time.perf_counter(), time.process_time()
        run.commit(reservation, ((f"0.{k}", np.full(megabytes * 125_000, float(k))) for k in range(parts)))
        committed, spent = time.perf_counter() - wall, time.process_time() - cpu
        peak, wall = _peak(), time.perf_counter()
        read = sum(part.nbytes for _, part in run.stream(reservation))
        streamed, wall = time.perf_counter() - wall, time.perf_counter()
        run.close()
        return {
            "megabytes": read / 1e6,
            "commit_seconds": round(committed, 2),
            "commit_cpu_seconds": round(spent, 2),
            "peak_memory_growth_mb": round(peak - before),
            "read_seconds": round(streamed, 2),
            "close_seconds": round(time.perf_counter() - wall, 2),
            "file_mb_after_close": round(os.path.getsize(Path(name) / "people.ledger") / 1e6, 2),
        }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--naive", action="store_true")
    parser.add_argument("--commit", action="store_true")
    wanted = parser.parse_args()
    if wanted.commit:
        answer = commit()
    elif wanted.naive:
        answer = contend(spend_naively, naively_recorded)
    else:
        answer = contend(spend, lambda folder: len(open_ledger(folder).books().releases))
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
