"""A bar for what takes more than two seconds: rows and steps, nothing about what the rows say."""

# pyright: basic
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0


@contextmanager
def row_progress(quiet: bool = False, unit: str = "rows") -> Iterator[Callable[[str, int, int], None]]:
    """A callback `(step, done, total)` that draws on a terminal's stderr; silent if piped, `quiet` or
    quick.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    started, tasks = time.monotonic(), {}

    def show(step: str, done: int, total: int) -> None:
        if time.monotonic() - started < PATIENCE:
            return
        if not tasks:
            bar.start()
        if step not in tasks:
            tasks[step] = bar.add_task(step)
        bar.update(tasks[step], completed=done, total=total or None)

    try:
        yield show
    finally:
        bar.stop()
