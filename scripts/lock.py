"""`make lock`: resolve every set of packages in pyproject.toml into a file of names, versions and hashes.

The sets share one environment, so each is resolved under the constraints of those before it. Resolve with the
oldest Python the project supports. Where packages come from is the business of whoever installs them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
SETS = ("build", "runtime", "test", "check", "docs", "lock")
QUIET = (
    "--quiet --no-header --no-annotate --generate-hashes --allow-unsafe --strip-extras"
    " --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options"
)
PIN = r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.+!]*( ; [^:/@]+)? \\"  # name==version ; marker
HASH = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
PLAIN_LINE = re.compile(f"{PIN}|{HASH}|")


def declared(project: dict[str, Any], name: str) -> list[str]:
    """What pyproject.toml asks for under `name`: the runtime dependencies or a dependency group."""
    return project["project"]["dependencies"] if name == "runtime" else project["dependency-groups"][name]


def not_plain(text: str) -> list[str]:
    """The lines of a lock file that hold anything but a name, a version, a marker or a hash."""
    return [line for line in text.splitlines() if not PLAIN_LINE.fullmatch(line)]


def resolve(name: str, wanted: list[str], before: list[Path], options: list[str]) -> None:
    """Write requirements/<name>.txt."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{name}.in"
        source.write_text("\n".join([*wanted, *(f"-c {path}" for path in before)]) + "\n")
        target = LOCKS / f"{name}.txt"
        command = [sys.executable, "-m", "piptools", "compile", *QUIET.split(), *options]
        subprocess.run([*command, "--output-file", str(target), str(source)], check=True)
    text = re.sub(r"(?m)^\n?#.*\n", "", target.read_text())  # the resolver's remark about pinning pip itself
    target.write_text(text)
    if strange := not_plain(text):
        sys.exit(f"{target.name} holds more than names, versions and hashes:\n" + "\n".join(strange))


def main() -> None:
    """Resolve all sets; options such as `--upgrade` go to pip-compile."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    LOCKS.mkdir(exist_ok=True)
    for position, name in enumerate(SETS):
        before = [LOCKS / f"{earlier}.txt" for earlier in SETS[:position]]
        resolve(name, declared(project, name), before, sys.argv[1:])
        print(f"requirements/{name}.txt")


if __name__ == "__main__":
    main()
