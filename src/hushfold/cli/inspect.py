"""`hushfold inspect`: what is in a file, and what would be dropped and why. The operator's tool: NOT
PRIVATE.
"""

# pyright: basic
from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from hushfold.data.describe import Description
    from hushfold.data.ratings import Ratings

_STAMP = "NOT PRIVATE: exact statistics of private users. For the operator's eyes, not for publication."
_ANY_VALUE = (-3.0e38, 3.0e38)  # no bound was stated, so none is applied


def inspect(
    ratings: RatingsPath,
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    implicit: Implicit = False,
    range: Range = None,
    catalogue: CatalogueFile = None,
    json: Json = False,
) -> None:
    """Show what is in RATINGS and what would be dropped, merged or clipped. NOT PRIVATE: not for
    publication.
    """
    from hushfold.cli.app import print_json
    from hushfold.cli.options import read_ratings
    from hushfold.data.describe import describe
    from hushfold.data.readers import has_values, open_ratings

    notes = []
    if not implicit and value is None and not has_values(open_ratings(ratings)):
        implicit = True
        notes.append("no column of values was recognised: read as --implicit")
    if not implicit and range is None:
        notes.append("no --range was stated: nothing is clipped here; `fit` will ask for it")
    if catalogue is None:
        notes.append("no --catalogue was stated: items are those of the data; `fit` will ask for it")
    read = read_ratings(
        ratings,
        user=user,
        item=item,
        value=value,
        implicit=implicit,
        range=None if implicit else range or _ANY_VALUE,
        catalogue=catalogue,
        catalogue_from_data=catalogue is None,
        quiet=json,
    )
    found = describe(read)
    notes += read.report.notes
    if json:
        print_json(document(read, found, notes))
    else:
        show(read, found, notes)


def document(read: Ratings, found: Description, notes: list[str]) -> dict[str, Any]:
    """The stable answer for programs."""
    columns = read.columns
    assert columns is not None
    return {
        "protected": False,
        "stamp": _STAMP,
        "columns": {role: getattr(columns, role) for role in ("user", "item", "value", "time")},
        "kind": read.kind,
        "rows": read.report.rows,
        "kept": read.report.kept,
        "dropped": read.report.dropped(),
        "merged": read.report.merged,
        "clipped": read.report.clipped,
        "data": found.as_dict(),
        "notes": notes,
    }


def show(read: Ratings, found: Description, notes: list[str]) -> None:
    """The same for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(_STAMP, style="bold red")
    columns = read.columns
    assert columns is not None
    named = [
        f"{role} = {getattr(columns, role)}"
        for role in ("user", "item", "value", "time")
        if getattr(columns, role)
    ]
    console.print(f"columns: {', '.join(named)}", highlight=False)
    console.print(f"{read.report.kept:,} of {read.report.rows:,} rows kept", highlight=False)
    for line in read.report.lines():
        console.print(f"  {line}", highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in _facts(found):
        table.add_row(name, text)
    console.print(table)
    _bars(console, "users by number of rows", found.activity)
    _bars(console, "items by number of rows", found.popularity)
    _bars(console, "rows by value", {f"{value:g}": count for value, count in found.values.items()})
    for note in notes:
        console.print(f"note: {note}", highlight=False)


def _facts(found: Description) -> list[tuple[str, str]]:
    per_user, per_item = found.per_user, found.per_item
    facts = [
        (
            "users",
            f"{found.users:,} ({found.single_users:,} with one row, {found.users_with_20:,} with 20 or more)",
        ),
        ("items", f"{found.items:,} ({found.items_seen:,} with rows)"),
        ("density", f"{found.density:.4%}"),
        ("rows per user", _spread(per_user)),
        ("rows per item", _spread(per_item)),
        ("top 20 % of items", f"{found.top_20_percent:.1%} of the rows"),
    ]
    if found.mean is not None:
        facts.append(("mean and std", f"{found.mean:.4g} and {found.std:.4g}"))
    if found.correlation is not None:
        facts.append(("user-item correlation", f"{found.correlation:.3f} (of row counts, over rows)"))
    return facts


def _spread(spread: Any) -> str:
    return (
        f"min {spread.min:,}, median {spread.median:,.4g}, mean {spread.mean:,.4g}, "
        f"99 % {spread.p99:,.4g}, max {spread.max:,}"
    )


def _bars(console: Any, title: str, counts: dict[str, int]) -> None:
    from rich.bar import Bar
    from rich.table import Table

    if not counts:
        return
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(width=40)
    highest = max(counts.values())
    for label, count in counts.items():
        table.add_row(label, f"{count:,}", Bar(highest, 0, count, width=40))
    console.print(table)
