"""The options of every verb that reads RATINGS, and the one way in which they are read."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hushfold.data.ratings import Ratings

RatingsPath = Annotated[
    Path, typer.Argument(metavar="RATINGS", help="CSV, TSV, Parquet, Arrow or MovieLens.")
]
UserColumn = Annotated[str | None, typer.Option("--user", help="Column of the users (guessed when obvious).")]
ItemColumn = Annotated[str | None, typer.Option("--item", help="Column of the items (guessed when obvious).")]
ValueColumn = Annotated[
    str | None, typer.Option("--value", help="Column of the values (guessed when obvious).")
]
Implicit = Annotated[bool, typer.Option("--implicit", help="Rows have no values: being there is all.")]
Range = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--range", metavar="LO HI", help="Lowest and highest value: public bounds, values are clipped."
    ),
]
CatalogueFile = Annotated[
    Path | None,
    typer.Option("--catalogue", metavar="FILE", help="All items on offer: public, others are dropped."),
]
CatalogueFromData = Annotated[
    bool, typer.Option("--catalogue-from-data", help="Declare that which items occur is public.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse data with rows that would be dropped, merged or clipped.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_ratings(
    path: Path,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    implicit: bool = False,
    range: tuple[float, float] | None = None,
    catalogue: Path | None = None,
    catalogue_from_data: bool = False,
    quiet: bool = False,
    **declared: Any,
) -> Ratings:
    """`Ratings.read` with the words of the command line; progress on a terminal unless `quiet`."""
    from hushfold.cli.progress import row_progress
    from hushfold.data.ratings import Ratings

    with row_progress(quiet) as progress:
        return Ratings.read(
            path,
            user=user,
            item=item,
            value=value,
            implicit=implicit,
            range=range,
            catalogue=catalogue,
            catalogue_from_data=catalogue_from_data,
            progress=progress,
            **declared,
        )
