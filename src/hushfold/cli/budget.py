"""`hushfold budget`: what was released about a population, and what may still be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hushfold.privacy.ledger import Claim, Ledger, Total


def budget(
    ledger: Annotated[Path, typer.Argument(help="The ledger file.", metavar="LEDGER")],
    population: Annotated[str | None, typer.Option(help="Show this population only.")] = None,
    raise_: Annotated[
        str | None,
        typer.Option("--raise", metavar="NAME=E", help="Raise NAME's total to epsilon E, on the record."),
    ] = None,
    claim: Annotated[
        str | None, typer.Option(help="Which total to raise: gaussian, pure or approximate.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The delta to raise it at, if not the recorded one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what is spent and left, by population and release."""
    from hushfold.cli.app import print_json
    from hushfold.cli.budget_view import document, show
    from hushfold.errors import ArgumentError
    from hushfold.privacy.ledger import Ledger

    with Ledger.attach(ledger) as opened:
        if raise_ is not None:
            _raise(opened, raise_, claim, delta)
        books, head = opened.books(), opened.head
    if population is not None and population not in books.populations:
        raise ArgumentError("population", f"{population!r} is not in this ledger", f"It has: {_names(books)}")
    view = document(books, head, population)
    if json:
        print_json({"ledger": str(ledger), **view})
    else:
        show(view)


def _raise(ledger: Ledger, words: str, claim: str | None, delta: float | None) -> None:
    """Set the total named by `NAME=E`; what may be spent on other kinds of claim counts towards E."""
    from hushfold.errors import ArgumentError

    name, _, number = words.rpartition("=")
    try:
        epsilon = float(number)
    except ValueError:
        epsilon = -1.0
    if not name or not 0 < epsilon < float("inf"):
        raise ArgumentError(
            "raise", f"{words!r} is not a name and an epsilon", "Write it as --raise people=5"
        )
    books = ledger.books()
    if name not in books.populations or not books.populations[name].totals:
        raise ArgumentError("raise", f"{name!r} has no total in this ledger", f"It has: {_names(books)}")
    totals = books.populations[name].totals
    kind = _claim(claim) or next(iter(totals))
    others = sum(total.epsilon or 0 for other, total in totals.items() if other != kind)
    if epsilon <= others:
        raise ArgumentError(
            "raise", f"releases of other kinds may already spend {others:g}", "They add up: raise it further"
        )
    recorded = totals[kind].delta if kind in totals else next(iter(totals.values())).delta
    ledger.raise_total(name, _total(kind, epsilon - others, recorded if delta is None else delta))


def _claim(word: str | None) -> Claim | None:
    from typing import get_args

    from hushfold.errors import ArgumentError
    from hushfold.privacy.ledger import Claim

    if word is not None and word not in get_args(Claim):
        raise ArgumentError("claim", f"{word!r} is unknown", f"Use one of {', '.join(get_args(Claim))}")
    return word  # pyright: ignore[reportReturnType]


def _total(claim: Claim, epsilon: float, delta: float) -> Total:
    from hushfold.privacy.budget import Budget
    from hushfold.privacy.ledger import Total

    if claim == "approximate":
        return Total.approximate(epsilon, delta)
    return Total.of(Budget.pure(epsilon) if claim == "pure" else Budget.gaussian(epsilon, delta))


def _names(books: Any) -> str:
    return ", ".join(sorted(map(repr, books.populations))) or "none"
