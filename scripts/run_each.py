"""Run every program of a folder, one after the other: `make bench`, `make reproduce`.

A program is a Python file with a `__main__` part; the others are helpers. All run, then the exit code tells
whether any failed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def programs(folder: Path) -> list[Path]:
    """The files of `folder` that can be run."""
    return [path for path in sorted(folder.rglob("*.py")) if '__name__ == "__main__"' in path.read_text()]


def main(name: str) -> int:
    """Run the programs of the folder `name`; the number of failures, at most 1."""
    failed = []
    for path in programs(ROOT / name):
        print(f"--- {path.relative_to(ROOT)}", flush=True)
        start = time.perf_counter()
        if subprocess.run([sys.executable, str(path)], cwd=ROOT, check=False).returncode:
            failed.append(path)
        print(f"--- {time.perf_counter() - start:.1f} s\n", flush=True)
    for path in failed:
        print(f"FAILED {path.relative_to(ROOT)}")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
