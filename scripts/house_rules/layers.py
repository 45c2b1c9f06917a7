"""Imports point one way, and only the rooms that may open or make a sealed value do."""

from __future__ import annotations

from collections.abc import Iterator

from house_rules.source import PACKAGE, Finding, Source, within

LEVELS = (
    ("types", "errors", "rng", "threads"),
    ("data",),
    ("local", "statistics", "privacy", "linalg", "sketch"),
    ("engines",),
    ("algorithms",),
    ("packing", "card", "model", "artifact", "estimators"),
    ("recommend", "evaluate", "privacy.audit"),
    ("cli", "serve"),
)
LEVEL = {f"{PACKAGE}.{room}": level for level, rooms in enumerate(LEVELS) for room in rooms}

MAY_UNSEAL = tuple(f"{PACKAGE}.{room}" for room in ("types", "data", "statistics", "engines", "privacy"))


def imports_point_one_way(source: Source) -> Iterator[Finding]:
    """A room imports rooms of its own level and below. The package's front page may import any."""
    if source.module == PACKAGE:
        return
    own = room_of(source.module)
    if own is None:
        yield source.finding(1, "this room has no level; give it one in scripts/house_rules/layers.py")
        return
    for line, name, _ in source.imports:
        if not within(name, PACKAGE) or name == f"{PACKAGE}.__version__":
            continue
        room = room_of(name)
        if room is None:
            yield source.finding(line, f"{name} is imported from the front page; import it where it lives")
        elif LEVEL[room] > LEVEL[own]:
            yield source.finding(line, f"{own} imports {room}, which stands above it")


def room_of(name: str) -> str | None:
    """The room a dotted name lies in: the longest that fits."""
    return max((room for room in LEVEL if within(name, room)), key=len, default=None)


def sealed_values_stay_sealed(source: Source) -> Iterator[Finding]:
    """Only data, statistics, engines and privacy open a sealed value, and only through unseal()."""
    if source.module == f"{PACKAGE}.types":
        return
    for line, name in source.reached():
        if within(name, f"{PACKAGE}.types.unseal") and not within(source.module, *MAY_UNSEAL):
            yield source.finding(line, "a sealed value is opened outside data, statistics, engines, privacy")
    for line, name in source.attributes():
        if name == "_content":
            yield source.finding(line, "the content of a sealed value is reached without unseal()")
