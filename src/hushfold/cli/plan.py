"""`hushfold plan`: what a guarantee costs in noise, before any data are touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hushfold.privacy.budget import Budget

RELATION = "one user added or removed"


def plan(
    epsilon: Annotated[float, typer.Option(help="The epsilon to keep within.")],
    delta: Annotated[float, typer.Option(help="The delta to keep within, well below one in the users.")],
    releases: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SHARE,...", help="What is released, and how the budget is divided."),
    ] = None,
    sensitivity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE,...", help="What one user can move a release by (1 if not given)."),
    ] = None,
    n_bound: Annotated[
        int | None, typer.Option(help="A declared upper bound on the number of users, to judge delta by.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="hush, bias, also-like or dpals: with the three sizes, what to expect.")
    ] = None,
    users: Annotated[int | None, typer.Option(help="Declared number of users.")] = None,
    items: Annotated[int | None, typer.Option(help="Size of the catalogue.")] = None,
    interactions: Annotated[int | None, typer.Option(help="Declared number of ratings or likes.")] = None,
    skew: Annotated[
        float, typer.Option(help="Share of the interactions on the most popular fifth of the items.")
    ] = 0.878,
    implicit: Annotated[bool, typer.Option("--implicit", help="Likes instead of ratings.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Turn a guarantee into noise, and with declared sizes into what a method may be expected to do."""
    from hushfold.cli.app import print_json
    from hushfold.privacy.budget import Budget, check_delta

    warning = check_delta(delta, n_bound)
    budget, expected = Budget.gaussian(epsilon, delta), {}
    if method is None:
        shares = _numbers("releases", releases or ["release=1"])
        sensitivities = _numbers("sensitivity", sensitivity or [])
    else:
        shares, sensitivities, expected = _planned(method, users, items, interactions, skew, implicit, budget)
    view = document(budget, shares, sensitivities)
    view["warnings"] = [*([warning] if warning else []), *expected.pop("warnings", [])]
    view |= expected
    if json:
        print_json(view)
    else:
        show(view)


def _planned(
    method: str,
    users: int | None,
    items: int | None,
    interactions: int | None,
    skew: float,
    implicit: bool,
    budget: Budget,
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Shares, sensitivities and expectations of a method at declared sizes."""
    from dataclasses import asdict

    from hushfold.algorithms.planning import Sizes, plan_method
    from hushfold.errors import ArgumentError

    if users is None or items is None or interactions is None:
        missing = "users, items, interactions"
        raise ArgumentError(missing, "are not all declared", "A method is planned from all three sizes")
    planned = plan_method(method, Sizes(users, items, interactions, skew, implicit), budget)
    return (
        planned.shares,
        planned.sensitivities,
        {
            "method": method,
            "warnings": planned.warnings,
            "expected": {
                **planned.figures,
                "simulated": None if planned.simulated is None else asdict(planned.simulated),
                "theory": planned.theory,
            },
        },
    )


def document(
    budget: Budget, shares: Mapping[str, float], sensitivities: Mapping[str, float]
) -> dict[str, Any]:
    """The plan of a Gaussian budget for programs; `releases` in the order in which they were named."""
    from hushfold.errors import ArgumentError
    from hushfold.privacy.budget import NANO
    from hushfold.privacy.gdp import epsilon_at, mu_for

    for name in sensitivities:
        if name not in shares:
            problem = f"{name!r} is not among the releases"
            raise ArgumentError("sensitivity", problem, f"They are: {', '.join(shares)}")
    mu = mu_for(budget.epsilon, budget.delta)
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "mu": mu,
        "relation": RELATION,
        "replace_one_epsilon": epsilon_at(budget.delta, 2 * mu),
        "units": budget.units,
        "releases": [
            {
                "name": share.name,
                "sensitivity": sensitivities.get(share.name, 1.0),
                "multiplier": share.multiplier,
                "std": share.multiplier * sensitivities.get(share.name, 1.0),
                "mu2": share.units / NANO,
                "units": share.units,
            }
            for share in budget.split(shares)
        ],
    }


def show(view: Mapping[str, Any]) -> None:
    """The document for people; plain text when piped."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    for warning in view["warnings"]:
        console.print(f"[yellow]warning[/]  {warning}", soft_wrap=True)
    console.print(
        f"[bold]epsilon {view['epsilon']:g}[/] at delta {view['delta']:g} for {view['relation']}: "
        f"[bold]mu {view['mu']:.4f}[/]",
        soft_wrap=True,
    )
    console.print(
        f"[dim]for one user replaced by another: epsilon {view['replace_one_epsilon']:.4g} at most[/]",
        soft_wrap=True,
    )
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("release")
    for column in ("share", "sensitivity", "multiplier", "noise std", "mu2"):
        table.add_column(column, justify="right")
    for row in view["releases"]:
        numbers = (f"{row[key]:.4g}" for key in ("sensitivity", "multiplier", "std", "mu2"))
        table.add_row(escape(row["name"]), f"{row['units'] / view['units']:.1%}", *numbers)
    console.print(table)
    for line in _expectations(view.get("expected", {})):
        console.print(line, soft_wrap=True)


def _expectations(expected: Mapping[str, Any]) -> Iterable[str]:
    """What to expect, in a line each; the simulation first."""
    simulated, theory = expected.get("simulated"), expected.get("theory")
    if simulated:
        yield (
            f"\nsimulated at {simulated['scale']:.0%} of these sizes: {simulated['metric']} "
            f"[bold]{simulated['value']:.4f}[/], {simulated['without']:.4f} by {simulated['rival']}"
        )
    if theory:
        yield (
            f"[dim]theory ({theory['label']}): relative error {theory['relative_error']:.2g}, "
            f"Frank-Wolfe {theory['frank_wolfe_error']:.2g}; a tenth "
            f"would take {theory['users_for_a_tenth']:,.0f} users[/]"
        )
    if "visible_items" in expected:
        yield f"\n{expected['visible_items']:,.0f} items are expected to stand clear of the noise"
    if "visibility" in expected:
        yield f"the strongest factor is expected at {expected['visibility']:.2f} of the noise"


def _numbers(argument: str, words: Iterable[str]) -> dict[str, float]:
    """`name=number` pairs, from options given several times, with commas, or both."""
    from hushfold.errors import ArgumentError

    pairs: dict[str, float] = {}
    for word in (part.strip() for each in words for part in each.split(",")):
        name, _, text = word.rpartition("=")
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not name or not 0 < number < float("inf"):
            problem = f"{word!r} is not a name and a number above 0"
            raise ArgumentError(argument, problem, f"Write it as --{argument} counts=0.1,moment=0.9")
        if name in pairs:
            raise ArgumentError(argument, f"{name!r} is named twice", "Name every release once")
        pairs[name] = number
    return pairs
