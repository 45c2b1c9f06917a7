"""Run every house rule on this checkout; exit code 1 if one is broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from house_rules import doors, layers, repository, shape
from house_rules.source import PACKAGE, Finding, Source

ROOT = Path(__file__).resolve().parents[2]
SOURCE_RULES = (
    shape.files_are_small,
    shape.nothing_is_half_done,
    layers.imports_point_one_way,
    layers.sealed_values_stay_sealed,
    doors.coins_come_from_two_places,
    doors.only_the_door_draws,
    doors.only_the_door_releases,
    doors.nothing_loaded_is_executed,
    doors.kernels_are_serial,
)


def findings(root: Path = ROOT) -> Iterator[Finding]:
    """Everything the rules find in the checkout at `root`."""
    package = root / "src" / PACKAGE
    sources = [Source(str(p.relative_to(package)), p.read_text()) for p in sorted(package.rglob("*.py"))]
    for source in sources:
        yield from check(source)
    yield from repository.shapes_are_proved_and_tested(
        [source for source in sources if source.path.startswith("statistics/")],
        {page.name for page in (root / "proofs").glob("*.md")},
        {path.name: path.read_text() for path in (root / "tests" / "property").glob("*.py")},
    )
    for path, text in repository.tracked_texts(root):
        yield from repository.no_machine_paths(path, text)


def check(source: Source) -> Iterator[Finding]:
    """Every rule about one file of the package."""
    try:
        for rule in SOURCE_RULES:
            yield from rule(source)
    except SyntaxError as error:
        yield source.finding(error.lineno or 1, "not a Python file")


def main() -> int:
    """Print the findings; the exit code."""
    found = list(dict.fromkeys(findings()))
    for finding in found:
        print(finding)
    print(f"house rules: {len(found)} broken" if found else "house rules: all kept")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
