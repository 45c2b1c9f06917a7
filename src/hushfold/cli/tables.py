"""Small tables that several verbs print."""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table


def show_items(rows: Iterable[Mapping[str, Any]]) -> None:
    """Items and their scores, best first."""
    table = Table("", "item", "score", box=None, header_style="bold")
    for place, row in enumerate(rows, 1):
        table.add_row(str(place), str(row["item"]), f"{row['score']:.4g}")
    Console(highlight=False).print(table)
