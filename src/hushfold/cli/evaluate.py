"""`hushfold evaluate`: a saved model on rows it did not see. The operator's tool: NOT PRIVATE."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushfold.cli.compare import STAMP
from hushfold.cli.options import ItemColumn, Json, UserColumn, ValueColumn


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that fit wrote.")],
    history: Annotated[Path, typer.Option(help="What the users show, as RATINGS.")],
    holdout: Annotated[Path, typer.Option(help="What is to be predicted, of the same users, as RATINGS.")],
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    json: Json = False,
) -> None:
    """Judge MODEL on the rows of HOLDOUT, its users known by their HISTORY. NOT PRIVATE."""
    from hushfold import artifact
    from hushfold.cli.app import print_json
    from hushfold.cli.recommend import read_history
    from hushfold.evaluate.saved import judge_saved

    fitted = artifact.load(model)
    columns = {"user": user, "item": item, "value": value}
    shown, wanted = (
        read_history(path, fitted, quiet=quiet or json, **columns) for path in (history, holdout)
    )
    figures = judge_saved(fitted, shown, wanted).to_json()
    print_json({"stamp": STAMP, **figures}) if json else _show(figures)


def _show(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"[bold red]{STAMP}[/bold red]")
    table = Table("metric", "value", box=None, header_style="bold")
    for name, figure in figures["metrics"].items():
        error = figures["errors"].get(name)
        table.add_row(name, "-" if figure is None else f"{figure:.4f}" + (f" ± {error:.4f}" if error else ""))
    console.print(table)
    for name, slices in figures["slices"].items():
        cut = Table(name, *next(iter(slices.values())), box=None, header_style="bold")
        for label, row in slices.items():
            cut.add_row(label, *("-" if cell is None else f"{cell:.4g}" for cell in row.values()))
        console.print(cut)
