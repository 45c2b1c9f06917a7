"""`hushfold similar`: the nearest items, from the model alone."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushfold.cli.options import Json


def similar(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that fit wrote.")],
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item of its catalogue.")],
    n: Annotated[int, typer.Option("-n", help="How many.")] = 20,
    json: Json = False,
) -> None:
    """Print the items nearest to ITEM."""
    from hushfold import artifact
    from hushfold.cli.app import print_json
    from hushfold.cli.tables import show_items

    found = artifact.load(model).similar_items(item, n)
    rows = [{"item": other, "score": score} for other, score in found]
    print_json({"item": item, "items": rows}) if json else show_items(rows)
