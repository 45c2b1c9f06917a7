"""Rules about the repository as a whole: proofs and tests of the shapes, and what a tracked file may name."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from house_rules.source import PACKAGE, Finding, Source

SHAPES = ("total", "cross", "moment", "gram", "dense", "linear")

# A folder of one machine at the start of a word; not a path inside the repository, nor a part of an address.
MACHINE_PATH = re.compile(r"(?<![\w./*-])/(?:home|root|Users|opt|mnt|media|srv|workspace|work)/[\w.-]")
LOCAL_FILE = re.compile(r"\bfile:/{2,3}[\w.-]")


def shapes_are_proved_and_tested(
    statistics: list[Source], proofs: set[str], property_tests: Mapping[str, str]
) -> Iterator[Finding]:
    """A file of statistics/ that makes a Spec has a proof page and a property test of its own.

    `proofs` are the names of the pages, `property_tests` the texts of the files of tests/property.
    """
    for source in statistics:
        shapes = list(_shapes_made(source))
        if not shapes:
            continue
        stem = Path(source.path).stem
        page = f"{stem.replace('_', '-')}.md"
        if page not in proofs:
            yield source.finding(1, f"a shape without its proof page proofs/{page}")
        mention = re.compile(
            rf"\b{PACKAGE}\.statistics\.{stem}\b|\b{PACKAGE}\.statistics import .*\b{stem}\b"
        )
        if not any(mention.search(text) for text in property_tests.values()):
            yield source.finding(1, "a shape that no test of tests/property imports from this file")
        for line, shape in shapes:
            if shape not in SHAPES:
                yield source.finding(line, f"{shape!r} is none of the six shapes")


def _shapes_made(source: Source) -> Iterator[tuple[int, str | None]]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Spec":
            given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "shape")]
            first = given[0] if given else None
            yield node.lineno, first.value if isinstance(first, ast.Constant) else None


def no_machine_paths(path: str, text: str) -> Iterator[Finding]:
    """No tracked file names a folder of one machine."""
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line) or LOCAL_FILE.search(line):
            yield Finding(path, number, "a path of one machine; make it relative or an option")


def tracked_texts(root: Path) -> Iterator[tuple[str, str]]:
    """(path, text) of every tracked text file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = root / name
        if path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                yield name, content.decode(errors="replace")
