"""What the owner of the data states in public before any row is read."""

# pyright: basic
from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from hushfold.data.catalogue import Catalogue
from hushfold.data.placing import Repeats
from hushfold.data.source import Progress, silent
from hushfold.errors import ArgumentError

Kind = Literal["explicit", "implicit", "counts"]
THROW_AWAY = "throw-away"


class Declared(TypedDict, total=False):
    """Keyword arguments of every `Ratings.read`, `.from_frame`, `.from_arrays`, `.from_scipy`."""

    range: tuple[float, float] | None
    implicit: bool
    counts: float | None
    catalogue: Any
    catalogue_from_data: bool
    population: str | None
    ledger: str | os.PathLike[str] | None
    declared_users: int | None
    repeats: Literal["last", "mean"]
    strict: bool
    memory: int | None
    progress: Progress


@dataclass(frozen=True, slots=True)
class Declaration:
    """The same, checked."""

    kind: Kind
    range: tuple[float, float] | None
    catalogue: Catalogue | Path | None
    population: str
    ledger: Path | Literal["throw-away"]
    declared_users: int | None
    repeats: Repeats
    strict: bool
    memory: int
    progress: Progress


def declaration(
    declared: Declared, file: Path | None, range: tuple[float, float] | None = None, catalogue: Any = None
) -> Declaration:
    """Check what was declared; a file gives population and ledger their defaults, a layout the rest."""
    implicit, counts = declared.get("implicit", False), declared.get("counts")
    stated = declared.get("range")
    if sum((stated is not None, implicit, counts is not None)) > 1:
        raise ArgumentError("range", "goes with neither implicit nor counts", "State one of the three")
    if stated is None and not implicit and counts is None:
        if range is None:
            raise ArgumentError(
                "range",
                "the lowest and highest value are public bounds and were not stated",
                "Pass range=(LO, HI) (--range LO HI), implicit=True (--implicit) for rows without values, or "
                "counts=CAP for numbers of plays or purchases",
            )
        stated = range
    repeats = declared.get("repeats", "last")
    if repeats not in ("last", "mean"):
        raise ArgumentError("repeats", "is not known", 'Pass "last" or "mean"')
    kind: Kind = "implicit" if implicit else "explicit" if counts is None else "counts"
    return Declaration(
        kind,
        _bounds(stated, counts),
        _catalogue(declared, catalogue),
        *_owner(declared, file),
        _count(declared.get("declared_users")),
        "sum" if kind == "counts" else repeats,
        declared.get("strict", False),
        _memory(declared.get("memory")),
        declared.get("progress", silent),
    )


def _bounds(stated: Any, counts: float | None) -> tuple[float, float] | None:
    if counts is not None:
        if not 0 < counts < math.inf:
            raise ArgumentError(
                "counts", "is no cap", "Pass the largest count that may matter, e.g. counts=100"
            )
        return 0.0, float(counts)
    if stated is None:
        return None
    try:
        low, high = (float(bound) for bound in stated)
    except (TypeError, ValueError):
        raise ArgumentError(
            "range", "is no pair of numbers", "Pass range=(LO, HI), e.g. range=(1, 5)"
        ) from None
    if not -math.inf < low < high < math.inf:
        raise ArgumentError("range", "is empty or not finite", "Pass two finite numbers, the lower one first")
    return low, high


def _catalogue(declared: Declared, default: Any) -> Catalogue | Path | None:
    """None: taken from the data, as was typed."""
    stated = declared.get("catalogue")
    if declared.get("catalogue_from_data", False):
        if stated is not None:
            raise ArgumentError("catalogue_from_data", "contradicts catalogue", "State one of the two")
        return None
    stated = default if stated is None else stated
    if stated is None:
        raise ArgumentError(
            "catalogue",
            "the list of items is public and was not stated",
            "Pass catalogue= (--catalogue FILE) with all items on offer; or catalogue_from_data=True "
            "(--catalogue-from-data) to declare that which items occur is public",
        )
    if isinstance(stated, str | os.PathLike):
        return Path(stated)
    return stated if isinstance(stated, Catalogue) else Catalogue(stated)


def _owner(declared: Declared, file: Path | None) -> tuple[str, Path | Literal["throw-away"]]:
    population, ledger = declared.get("population"), declared.get("ledger")
    if population is None:
        if file is None:
            raise ArgumentError(
                "population",
                "these rows have no file name to be known by",
                'Pass population="name of the people"',
            )
        population = file.resolve().name.split(".")[0] or file.resolve().name
    if not population.strip():
        raise ArgumentError("population", "is blank", "Pass the name of the people whose budget this is")
    if ledger is None:
        if file is None:
            raise ArgumentError(
                "ledger",
                "these rows have no ledger of their own",
                f'Pass ledger= with the path of one, or ledger="{THROW_AWAY}" for tests and demos',
            )
        ledger = "hushfold.ledger"
    return population, THROW_AWAY if ledger == THROW_AWAY else Path(ledger)


def _count(users: int | None) -> int | None:
    if users is not None and (not isinstance(users, int) or users < 1):
        raise ArgumentError(
            "declared_users", "is no number of users", "Pass a positive integer, or leave it out"
        )
    return users


def _memory(stated: int | None) -> int:
    """Bytes the rows may take; half of the machine unless stated."""
    if stated is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if stated < 1:
        raise ArgumentError("memory", "is no number of bytes", "Pass how many bytes the rows may take")
    return stated
