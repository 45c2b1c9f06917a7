"""How fast is secure noise? The lattice sampler, AES included, against numpy's `standard_normal`, in one run.

    python benchmarks/noise.py [--draws 4194304] [--repeats 15]

Both fill an array made before the clock starts, by turns; process CPU time on one core, medians and bests.
Then two threads with an array each against one, by the wall clock: on a busy machine that says little. Ratios
carry over to other machines, rates do not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np
from numpy.typing import NDArray

from hushfold.privacy.noise import GaussianSampler, Key, LaplaceSampler

ACCEPTANCE = 0.5  # of numpy's rate


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=2**22)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--sigma", type=float, default=1.37 * 2**30)
    asked = parser.parse_args()

    start = time.perf_counter()
    sampler = GaussianSampler(asked.sigma)
    tables = time.perf_counter() - start
    stream, generator = Key().open(), np.random.default_rng()
    arrays = [np.zeros(asked.draws, np.int64) for _ in range(2)]
    integers, floats = arrays[0], np.zeros(asked.draws)
    tile = iter(range(2**32))
    words = np.empty(2 * 2**14, np.uint64)
    keystream = stream.tile(1, 0).substream(0)

    def lattice() -> None:
        sampler.add_to(stream, 0, next(tile), integers)

    def numpy() -> None:
        generator.standard_normal(out=floats)

    def encryption() -> None:
        for _ in range(-(-asked.draws // 2**14)):
            keystream.fill(words)

    def laplace() -> None:
        LaplaceSampler(2**30).add_to(stream, 2, next(tile), integers[: asked.draws // 16])

    def noise(out: NDArray[np.int64]) -> None:
        sampler.add_to(stream, 0, next(tile), out)

    def digest(out: NDArray[np.int64]) -> None:
        hashlib.sha256(out)  # what two threads can do for work that holds no lock, on this machine, now

    def each(task: Callable[[NDArray[np.int64]], None], threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(task, arrays[:threads]))

    rivals = {"lattice": lattice, "numpy": numpy, "encryption": encryption, "laplace": laplace}
    for work in rivals.values():
        work()  # compiles
    seconds = {name: list[float]() for name in rivals}
    threads = {(task, count): list[float]() for task in (noise, digest) for count in (1, 2)}
    for _ in range(asked.repeats):
        for name, work in rivals.items():
            seconds[name].append(cpu(work))
        for (task, count), taken in threads.items():
            taken.append(wall(lambda task=task, count=count: each(task, count)))

    ratio = median(seconds["numpy"]) / median(seconds["lattice"])
    figures = {
        "ratio": ratio,
        "ratio_of_bests": min(seconds["numpy"]) / min(seconds["lattice"]),
        "lattice_m_per_s": asked.draws / median(seconds["lattice"]) / 1e6,
        "lattice_best_m_per_s": asked.draws / min(seconds["lattice"]) / 1e6,
        "numpy_m_per_s": asked.draws / median(seconds["numpy"]) / 1e6,
        "encryption_share": median(seconds["encryption"]) / median(seconds["lattice"]),
        "laplace_m_per_s": asked.draws // 16 / median(seconds["laplace"]) / 1e6,
        "two_threads_speedup": 2 * median(threads[noise, 1]) / median(threads[noise, 2]),
        "two_threads_speedup_of_sha256": 2 * median(threads[digest, 1]) / median(threads[digest, 2]),
        "tables_ms": 1000 * tables,
    }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}, indent=2))
    verdict = "ok" if ratio >= ACCEPTANCE else "MISSED"
    print(f"lattice / numpy = {ratio:.2f}, at least {ACCEPTANCE} wanted: {verdict}")


if __name__ == "__main__":
    main()
