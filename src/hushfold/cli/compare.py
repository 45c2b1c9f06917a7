"""`hushfold compare`: methods side by side on the same split and budget. The operator's tool: NOT PRIVATE."""

# pyright: basic
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hushfold.cli.options import (
    CatalogueFile,
    Implicit,
    ItemColumn,
    Json,
    Range,
    RatingsPath,
    UserColumn,
    ValueColumn,
)
from hushfold.errors import ArgumentError

if TYPE_CHECKING:
    from hushfold.evaluate.compare import Comparison

ANY_VALUE = (-3.0e38, 3.0e38)  # no bound was stated, so none is applied
STAMP = "NOT PRIVATE: exact figures about private users. For the operator's eyes, not for publication."


def compare(
    ratings: RatingsPath,
    delta: Annotated[float, typer.Option(help="The delta of every private fit.")],
    methods: Annotated[str, typer.Option(help="Private methods, by commas.")] = "hush,dpals",
    epsilon: Annotated[str, typer.Option(help="Epsilons, by commas.")] = "1,5",
    split: Annotated[str, typer.Option(help="Train/validation/test, or train/test.")] = "80/10/10",
    seed: Annotated[int, typer.Option(help="Of the split.")] = 0,
    protocol: Annotated[
        str | None, typer.Option(help="rows (for ratings) or new-users (for likes); pairs, leave-out.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="rmse or recall@20, unless you say otherwise.")] = None,
    at_least: Annotated[float | None, typer.Option(help="Keep what was rated at least so, as likes.")] = None,
    repeats: Annotated[int, typer.Option(help="Splits to average over.")] = 1,
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    implicit: Implicit = False,
    range: Range = None,
    catalogue: CatalogueFile = None,
    ledger: Annotated[
        str | None, typer.Option(help="Where it is noted that somebody looked [default: hushfold.ledger].")
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="Whose data it is [default: the file's name].")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    json: Json = False,
) -> None:
    """Fit METHODS at every epsilon on one part of RATINGS and judge them on another. NOT PRIVATE."""
    from hushfold.cli.app import print_json
    from hushfold.cli.options import read_ratings
    from hushfold.cli.progress import row_progress
    from hushfold.data.plain import at_least as likes_of
    from hushfold.data.plain import within_its_values
    from hushfold.data.readers import has_values, open_ratings
    from hushfold.evaluate.compare import compare as side_by_side
    from hushfold.privacy.ledger import Ledger

    notes = []
    if not implicit and value is None and not has_values(open_ratings(ratings)):
        implicit = True
        notes.append("no column of values was recognised: read as --implicit")
    if catalogue is None:
        notes.append("the items are those of the data; `fit` will ask for --catalogue")
    if not implicit and range is None:
        notes.append("the range is that of the data; `fit` will ask for --range")
    read = read_ratings(
        ratings,
        user=user,
        item=item,
        value=value,
        implicit=implicit,
        range=None if implicit else range or ANY_VALUE,
        catalogue=catalogue,
        catalogue_from_data=catalogue is None,
        ledger=ledger,
        population=population,
        quiet=quiet or json,
    )
    if not implicit and range is None:
        read = within_its_values(read)
    if at_least is not None:
        read = likes_of(read, at_least)
    if read.ledger != "throw-away":
        with Ledger.attach(read.ledger, create=True) as book:
            book.note_unprotected(read.population, f"compare: {methods} at epsilon {epsilon}")
    with row_progress(quiet or json, "fits") as watch:
        found = side_by_side(
            read,
            [each.strip() for each in methods.split(",") if each.strip()],
            _numbers(epsilon),
            delta,
            name=protocol or "",
            split=split,
            seed=seed,
            repeats=repeats,
            metric=metric,
            watch=watch,
        )
    if json:
        print_json({"stamp": STAMP, "notes": notes, **found.to_json()})
    else:
        _show(found, notes)


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError("epsilon", f"{text!r} is no list of numbers", "Pass such as 1,5") from None


def _show(found: Comparison, notes: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"[bold red]{STAMP}[/bold red]")
    table = Table(
        "method", "epsilon", found.rows[0].metric, "seconds", "peak MB", box=None, header_style="bold"
    )
    best = (min if found.rows[0].metric in ("rmse", "mae") else max)(
        (row.value for row in found.rows if row.private), default=None
    )
    for row in found.rows:
        value = f"{row.value:.4f}" + (f" ± {row.std:.4f}" if row.std else "")
        table.add_row(
            row.method if row.private else f"{row.method} (not private)",
            "-" if row.epsilon is None else f"{row.epsilon:g}",
            f"[bold]{value}[/bold]" if row.private and row.value == best else value,
            f"{row.seconds:.1f}",
            f"{row.peak_mb:.0f}",
        )
    console.print(table)
    for note in notes:
        console.print(f"[dim]{note}[/dim]")
