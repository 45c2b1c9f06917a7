"""Threads: nogil kernels driven from Python threads, with the linear algebra library held to one thread each.

Threaded BLAS inside parallel loops makes both slow, and a parallel reduction inside a kernel would make its
last bits depend on the machine's mood. So kernels are serial, and this is the only place that starts threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from threadpoolctl import threadpool_limits

In = TypeVar("In")
Out = TypeVar("Out")


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Hold BLAS to one thread while Python threads share the cores."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def ordered_map(function: Callable[[In], Out], inputs: Iterable[In], threads: int) -> Iterator[Out]:
    """`map` on several threads: results in the order of `inputs`, at most `threads + 1` of them in flight."""
    if threads <= 1:
        yield from map(function, inputs)
        return
    remaining = iter(inputs)
    waiting: deque[Future[Out]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting.extend(pool.submit(function, each) for each in islice(remaining, threads + 1))
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(function, each) for each in islice(remaining, 1))
                yield result
        finally:
            for future in waiting:
                future.cancel()
