"""What the benchmarks share: clocks, the machine and its BLAS, peak memory, the simulated set."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg.blas
from threadpoolctl import threadpool_info

from hushfold.data.simulate import simulate_ratings
from hushfold.threads import one_blas_thread
from hushfold.types import Rows


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of the process, all threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


def wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def machine() -> dict[str, object]:
    """Processor, cores, load, and what each BLAS takes the processor for."""
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "blas": [
            f"{blas['internal_api']} {blas['version']} {blas['architecture']}" for blas in blas_libraries()
        ],
    }


def blas_libraries() -> list[dict[str, str]]:
    return [library for library in threadpool_info() if library["user_api"] == "blas"]


def product_rates(size: int = 1500, repeats: int = 5) -> dict[str, float]:
    """Best rate of one thread, in Gflop/s: square products, and float64 `syrk` of a tall matrix."""
    rates: dict[str, float] = {}
    with one_blas_thread():
        for name, kind in (("float64", np.float64), ("float32", np.float32)):
            square = np.random.default_rng(0).standard_normal((size, size)).astype(kind)
            best = min(cpu(lambda square=square: square @ square) for _ in range(repeats))
            rates[name] = 2 * size**3 / best / 1e9
        tall = np.asfortranarray(np.random.default_rng(0).standard_normal((8 * size, size)))
        best = min(cpu(lambda: scipy.linalg.blas.dsyrk(1.0, tall, trans=1)) for _ in range(repeats))
        rates["syrk"] = 8 * size**2 * (size + 1) / best / 1e9
    return rates


def simulated(users: int, items: int, entries: int, likes: bool) -> Rows:
    """The simulated set as rows; `likes` makes every value 1."""
    drawn = simulate_ratings(users, items, entries, implicit=likes)
    indptr = np.zeros(users + 1, np.int64)
    np.cumsum(np.bincount(drawn.user, minlength=users), out=indptr[1:])
    return Rows(indptr, drawn.item, drawn.rating, np.arange(users, dtype=np.uint64), items)


def peak_megabytes(work: Callable[[], object]) -> float:
    """How far `work` raises the memory of this process at its highest. Linux only."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, else it would hide what is taken next
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts over
    before = _status("VmRSS")
    kept = work()
    high = _status("VmHWM")
    del kept
    return (high - before) / 1024


def in_a_process(script: str, *arguments: str, **environment: str | None) -> dict[str, Any]:
    """The JSON that the script prints, run in a process of its own; a variable that is None is not set."""
    variables = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    command = [sys.executable, script, *arguments]
    run = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def _status(field: str) -> int:
    (line,) = [line for line in _lines("/proc/self/status") if line.startswith(field)]
    return int(line.split()[1])


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []
