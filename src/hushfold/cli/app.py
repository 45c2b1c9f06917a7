"""`hushfold`: finds the verb, turns typed errors into one clear line and an exit code."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Annotated, Any

import typer

from hushfold import __version__
from hushfold.errors import HushfoldError

VERBS = ("plan", "budget", "inspect", "simulate")

app = typer.Typer(
    name="hushfold",
    help="Factorise user-item data under differential privacy, and serve the result.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hushfold {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Exit codes: 0 ok, 2 bad arguments or input, 3 refused resume, 4 ledger refused, 1 else."""
    for verb in VERBS:
        module = importlib.import_module(f"hushfold.cli.{verb}")
        app.command(verb)(getattr(module, verb))
    words = sys.argv[1:] if arguments is None else arguments
    try:
        app(words)
    except HushfoldError as error:
        if "--json" in words:
            print_json({"error": type(error).__name__, "message": str(error)})
        print(f"hushfold: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def print_json(document: Any) -> None:
    """The stable, machine-readable answer of a verb."""
    print(json.dumps(document, indent=2, allow_nan=False))
