"""L-03, R-04: a full or read-only disk refuses a release, leaves the ledger readable, and work goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hushfold.errors import BudgetExceeded, LedgerUnavailable
from hushfold.privacy.ledger import Ledger, Run, Total

TOTAL = Total("gaussian", 1000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB of its own."""
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def begin(disk: Path) -> tuple[Ledger, Run]:
    ledger = Ledger.open(disk / "people.ledger", population="people", total=TOTAL)
    return ledger, ledger.run("fit", method="test", config={})


def fill(disk: Path) -> Path:
    """Use up what is left, to the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


def spent(disk: Path) -> tuple[int, int]:
    ledger = Ledger.attach(disk / "people.ledger")
    try:
        return ledger.books().populations["people"].spent.get("gaussian", (0, 0))
    finally:
        ledger.close()


def exhaust(run: Run) -> int:
    """Reserve until the disk is full; how many reservations were granted."""
    for step in range(1000):
        try:
            run.reserve("unit", step, 1, {"padding": "x" * 3000})
        except LedgerUnavailable:
            return step
    raise AssertionError("the disk was never full")


def test_a_reservation_on_a_full_disk(small_disk: Path) -> None:
    _, run = begin(small_disk)
    ballast = fill(small_disk)
    granted = exhaust(run)
    assert spent(small_disk) == (granted, 0)
    ballast.unlink()
    run.reserve("unit", granted, 1, {"padding": "x" * 3000})
    assert spent(small_disk) == (granted + 1, 0)


def test_a_commit_that_does_not_fit_is_no_commit(small_disk: Path) -> None:
    _, run = begin(small_disk)
    reservation = run.reserve("sum", 0, 1, {})
    for _ in range(5):
        with pytest.raises(LedgerUnavailable):
            run.commit(reservation, ((f"{tile}", np.zeros(50_000)) for tile in range(4)))
        assert run.reserve("sum", 0, 1, {}).state == "RESERVED"
    run.commit(reservation, {"sum": np.arange(5)})
    assert run.result(reservation)["sum"].tolist() == [0, 1, 2, 3, 4]


def test_opening_on_a_full_disk(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(LedgerUnavailable):
        begin(small_disk)
    (small_disk / "ballast").unlink()
    begin(small_disk)


def test_a_read_only_disk(small_disk: Path) -> None:
    ledger, run = begin(small_disk)
    reservation = run.reserve("sum", 0, 7, {})
    ledger.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(LedgerUnavailable):
        begin(small_disk)
    with pytest.raises(LedgerUnavailable):
        run.reserve("sum", 1, 1, {})
    with pytest.raises(LedgerUnavailable):
        run.commit(reservation, {"sum": np.zeros(3)})
    assert spent(small_disk) == (7, 0)
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    run.commit(reservation, {"sum": np.zeros(3)})
    with pytest.raises(BudgetExceeded):
        run.reserve("sum", 1, 1000, {})


def test_a_limit_on_file_size(tmp_path: Path) -> None:
    """Without root: a process that may not write large files is refused, and what it reserved stays."""
    script = f"""
import resource, signal, numpy as np
from pathlib import Path
from hushfold.privacy.ledger import Ledger, Total
from hushfold.errors import LedgerUnavailable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path({str(tmp_path)!r}) / "people.ledger"
ledger = Ledger.open(path, population="people", total=Total("gaussian", 1000))
run = ledger.run("fit", method="test", config={{}})
reservation = run.reserve("sum", 0, 7, {{}})
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
try:
    run.commit(reservation, {{"sum": np.zeros(100_000)}})
except LedgerUnavailable:
    print(run.reserve("sum", 0, 7, {{}}).state)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("RESERVED\n", "")
    assert spent(tmp_path) == (7, 0)
