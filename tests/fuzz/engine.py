"""Feeds a reader mutated files and counts what must not happen: untyped exceptions, hangs, crashes, hunger.

Coverage-guided by atheris where it is installed (`pip install atheris`), otherwise by mutation alone; both
draw on the same seeds and mutations. Everything runs in a child process, so that a crash of a library below
is seen and its input kept.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hushfold.errors import HushfoldError

try:
    import atheris
except ImportError:
    atheris = None
_COMPILED = [
    f"hushfold.data.{name}" for name in ("decimal", "identity", "lookup", "placing", "users", "words")
]
if atheris is not None and "--child" in sys.argv:  # what numba compiles must stay as it is written
    with atheris.instrument_imports(include=["hushfold.data"], exclude=_COMPILED):
        from hushfold.data.ratings import Ratings
else:
    from hushfold.data.ratings import Ratings

HANG_SECONDS = 2.0  # of processor time, so that a busy machine does not look like a hang
RSS_MIB = 512.0

_ROOT = Path(__file__).resolve().parents[2]

Mutate = Callable[[bytes, random.Random], bytes]


@dataclass
class Findings:
    """What a run saw."""

    inputs: int = 0
    read: int = 0
    untyped: list[str] = field(default_factory=list)
    hangs: int = 0
    slowest_seconds: float = 0.0
    rss_mib: float = 0.0
    guided: bool = False
    crashed: bool = False

    def passed(self, rss_mib: float = RSS_MIB) -> bool:
        """Whether nothing happened that must not."""
        return not (self.untyped or self.hangs or self.crashed) and self.rss_mib <= rss_mib


class Target:
    """Reads one input as a file and keeps the findings."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path, self.log = folder / name, folder / "findings.json"
        self.keep = folder
        self.findings = Findings()

    def __call__(self, data: bytes) -> None:
        self.path.write_bytes(data)
        started = time.process_time()
        try:
            self._read(data)
            self.findings.read += 1
        except HushfoldError:
            pass
        except Exception:
            trace = traceback.format_exc()
            if len(self.findings.untyped) < 20:
                (self.keep / f"untyped-{len(self.findings.untyped)}").write_bytes(data)
            self.findings.untyped.append(trace[-600:])
        took = time.process_time() - started
        self.findings.slowest_seconds = max(self.findings.slowest_seconds, took)
        if took > HANG_SECONDS:
            (self.keep / f"hang-{self.findings.hangs}").write_bytes(data)
            self.findings.hangs += 1
        self.findings.inputs += 1
        if self.findings.inputs % 200 == 0:
            self.save()

    def _read(self, data: bytes) -> None:
        words: dict[str, Any] = {"population": "fuzz", "ledger": "throw-away", "bad_rows": 1.0}
        words |= {"catalogue_from_data": True} if len(data) % 3 else {"catalogue": ["1", "b", 3]}
        words |= {"implicit": True} if len(data) % 5 == 0 else {"range": (1, 5)}
        for block in Ratings.read(self.path, **words).users.blocks(64):
            assert len(block.items) == len(block.values) == block.indptr[-1]

    def save(self) -> None:
        """Keep the findings where the parent process finds them, whatever happens next."""
        self.findings.rss_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.log.write_text(json.dumps(asdict(self.findings)))


def mutate_bytes(data: bytes, coins: random.Random) -> bytes:
    """One of the usual small damages."""
    at = coins.randrange(len(data) + 1)
    to = min(len(data), at + coins.choice((1, 2, 4, 8, 64)))
    match coins.randrange(6):
        case 0:
            return data[:at] + coins.randbytes(to - at) + data[to:]
        case 1:
            return (
                data[:at]
                + coins.choice((b"\0", b"\xff" * 4, b"\x80", b'"', b"\n", b"\x7f\xff\xff\xff"))
                + data[at:]
            )
        case 2:
            return data[:at] + data[to:]
        case 3:
            return data[:at]
        case 4:
            return data[:at] + data[at:to] * coins.choice((2, 3, 50)) + data[to:]
        case _:
            if not data:
                return b"\xff"
            at = coins.randrange(len(data))
            return data[:at] + bytes([data[at] ^ (1 << coins.randrange(8))]) + data[at + 1 :]


def fuzz(folder: Path, name: str, seeds: list[bytes], mutate: Mutate, seconds: float, seed: int) -> None:
    """Run in this process until the time is over; findings go to `folder`."""
    target = Target(folder, name)
    for sample in seeds:
        target(sample)
    target.save()
    if atheris is None:
        _mutation_alone(target, seeds, mutate, seconds, seed)
    else:
        _guided(target, folder, seeds, mutate, seconds, seed)
    target.save()


def _mutation_alone(target: Target, seeds: list[bytes], mutate: Mutate, seconds: float, seed: int) -> None:
    coins = random.Random(seed)
    pool, stop = list(seeds), time.monotonic() + seconds
    while time.monotonic() < stop:
        data = coins.choice(pool)
        for _ in range(coins.choice((1, 1, 2, 4, 8))):
            data = mutate(data, coins)
        before = target.findings.read
        target(data[: 1 << 16])
        if target.findings.read > before and len(pool) < 4000:
            pool.append(data[: 1 << 16])


def _guided(
    target: Target, folder: Path, seeds: list[bytes], mutate: Mutate, seconds: float, seed: int
) -> None:
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for i, sample in enumerate(seeds):
        (corpus / str(i)).write_bytes(sample)
    target.findings.guided = True

    def guided_mutate(data: bytes, max_size: int, number: int) -> bytes:
        coins = random.Random(number)
        changed = mutate(data, coins) if coins.random() < 0.7 else atheris.Mutate(data, len(data) or 1)
        return bytes(changed)[:max_size]

    flags = [f"-max_total_time={max(1, int(seconds))}", f"-seed={seed + 1}", "-max_len=65536", "-timeout=120"]
    flags += [
        "-rss_limit_mb=4096",
        "-verbosity=0",
        "-detect_leaks=0",
        f"-artifact_prefix={folder}/",
        str(corpus),
    ]
    atheris.Setup([target.path.name, *flags], target, custom_mutator=guided_mutate)
    try:
        atheris.Fuzz()
    finally:
        target.save()


def watch(script: str, seconds: float, seed: int, folder: Path) -> Findings:
    """Run a fuzzing script as a child and read its findings; a crash is one of them."""
    command = [
        sys.executable,
        "-m",
        script,
        "--child",
        str(folder),
        "--seconds",
        str(seconds),
        "--seed",
        str(seed),
    ]
    with open(folder / "child.log", "wb") as log:
        done = subprocess.run(command, stdout=log, stderr=log, check=False, cwd=_ROOT)
    stored = folder / "findings.json"
    findings = Findings(**json.loads(stored.read_text())) if stored.exists() else Findings()
    findings.crashed = done.returncode != 0
    return findings


def main(
    script: str, name: str, seeds: Callable[[], list[bytes]], mutate: Mutate, rss_mib: float = RSS_MIB
) -> None:
    """The command line of a fuzzing script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        fuzz(given.child, name, seeds(), mutate, given.seconds, given.seed)
        return
    folder = Path(
        tempfile.mkdtemp(prefix="hushfold-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    findings = watch(script, given.seconds, given.seed, folder)
    print(
        json.dumps(asdict(findings) | {"passed": findings.passed(rss_mib), "folder": str(folder)}, indent=2)
    )
    sys.exit(not findings.passed(rss_mib))
