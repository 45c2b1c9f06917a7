"""`hushfold card`: what a model reveals about a person, and what was assumed."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushfold.cli.options import Json


def card(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that fit wrote.")],
    json: Json = False,
) -> None:
    """Print the privacy card of MODEL."""
    from hushfold import artifact
    from hushfold.cli.app import print_json

    facts = artifact.load(model).card
    print_json(facts) if json else _show(facts)


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for stamp in facts["stamps"]:
        console.print(f"[bold red]NOT PRIVATE[/bold red]: {stamp}")
    guarantee = facts["guarantee"]
    console.print(f"[bold]{guarantee['sentence']}[/bold]\n")
    said = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    said.add_row("who", guarantee["unit"])
    said.add_row("relation", guarantee["relation"])
    said.add_row("replaced instead", f"epsilon {guarantee['replace_one_epsilon']:.4g} at most")
    said.add_row("mu", f"{guarantee['mu']:.4g}")
    said.add_row(
        "noise", f"{facts['noise']['grade']}, slack {facts['noise']['slack_epsilon']:.1g} of epsilon"
    )
    said.add_row("population", facts["population"])
    console.print(said)
    table = Table("released", "step", "cells", "sensitivity", "multiplier", box=None, header_style="bold")
    for row in facts["releases"]:
        for part in row["parts"]:
            size = " x ".join(f"{side:,}" for side in part["size"])
            table.add_row(
                f"{row['name']} ({part['shape']})",
                str(row["step"]),
                size,
                f"{part['sensitivity']:.4g}",
                f"{part['multiplier']:.4g}",
            )
    console.print(table)
    console.print("\n[bold]assumed[/bold]  " + "; ".join(facts["assumptions"]))
    console.print("[bold]not covered[/bold]  " + "; ".join(facts["excluded"]))
    console.print(f"[dim]ledger {facts['ledger_head']}[/dim]")
