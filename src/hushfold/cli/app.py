"""`hushfold`: finds the verb, turns typed errors into one clear line and an exit code."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hushfold import __version__
from hushfold.errors import HushfoldError

VERBS = (
    "demo",
    "inspect",
    "fit",
    "recommend",
    "similar",
    "card",
    "compare",
    "evaluate",
    "simulate",
    "plan",
    "budget",
    "audit",
)


class _Verbs(TyperGroup):
    """Verbs by name, each imported when it is first asked for: `hushfold --version` loads none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All verbs, in the order in which one meets them."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name."""
        if cmd_name not in VERBS:
            return None
        one_verb = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        module = importlib.import_module(f"hushfold.cli.{cmd_name}")
        one_verb.command(cmd_name)(getattr(module, cmd_name))
        return typer.main.get_command(one_verb)


app = typer.Typer(
    cls=_Verbs,
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
