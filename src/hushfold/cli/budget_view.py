"""What `hushfold budget` prints: one document for programs, and the same as tables for people."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hushfold.privacy.budget import NANO
from hushfold.privacy.gdp import epsilon_at, sqrt_up
from hushfold.privacy.ledger import Books, Claim, Population, Total
from hushfold.privacy.ledger_state import ATTO, Release
from hushfold.privacy.run import row_of

Claims = dict[Claim, dict[str, Any]]


def document(books: Books, head: str, only: str | None) -> dict[str, Any]:
    """The answer as JSON: per population, and at the top level too when there is one.

    `total`, `spent` and `left` are epsilons at `delta` (mu^2 adds up, their epsilons do not: see `claims`).
    """
    shown = [population for name, population in sorted(books.populations.items()) if only in (None, name)]
    populations = {population.name: _population(books, population) for population in shown}
    answer: dict[str, Any] = {"head": head, "populations": populations}
    if len(populations) == 1:
        (one,) = populations.values()
        answer |= {key: one[key] for key in ("total", "spent", "left", "delta", "releases")}
    return answer


def _population(books: Books, population: Population) -> dict[str, Any]:
    claims: Claims = {claim: _claim(population, claim) for claim in population.totals}
    runs = [run for run in books.runs.values() if run.population == population.name]
    return {
        "total": _add(claims, "total"),
        "spent": _add(claims, "spent"),
        "left": _add(claims, "left"),
        "delta": math.fsum(claim["delta"] for claim in claims.values()),
        "claims": claims,
        "releases": [
            row_of(release)
            | {"run": run.id, "method": run.method, "claim": run.claim, **_price(run.claim, release)}
            for run in runs
            for release in run.releases
        ],
        "runs": [
            {"id": run.id, "method": run.method, "claim": run.claim, "day": run.day, "closed": run.closed}
            for run in runs
        ],
        "raises": [
            {key: entry[key] for key in ("claim", "epsilon", "delta", "units", "day")}
            for entry in population.raises
        ],
        "unprotected": [{key: entry[key] for key in ("what", "day")} for entry in population.unprotected],
    }


def _claim(population: Population, claim: Claim) -> dict[str, Any]:
    total, (spent, delta_spent) = population.totals[claim], population.spent.get(claim, (0, 0))
    left, delta_left = population.left(claim)
    stated = total.epsilon
    return {
        "total": _epsilon(total, total.units) if stated is None else stated,
        "spent": _epsilon(total, spent),
        "left": stated if stated is not None and not spent else _epsilon(total, left),
        "delta": total.delta,
        "units": {"total": total.units, "spent": spent, "left": left},
        "delta_units": {"total": total.delta_units, "spent": delta_spent, "left": delta_left},
    }


def _epsilon(total: Total, units: int) -> float | None:
    """What so many units mean at the delta of the total; None where it was stated without one."""
    if total.claim != "gaussian":
        return units / NANO
    return epsilon_at(total.delta, sqrt_up(Fraction(units, NANO))) if total.delta else None


def _add(claims: Claims, column: str) -> float | None:
    parts = [claim[column] for claim in claims.values()]
    return None if None in parts else math.fsum(parts)


def _price(claim: Claim, release: Release) -> dict[str, Any]:
    if claim == "gaussian":
        return {"claim": claim, "mu2": release.units / NANO}
    return {"claim": claim, "epsilon": release.units / NANO, "delta": release.delta_units / ATTO}


def show(view: dict[str, Any]) -> None:
    """The document as tables on the terminal; plain text when piped."""
    console = Console(highlight=False)
    for name, population in view["populations"].items():
        _show_population(console, name, population)
    console.print(f"[dim]head of the chain[/]  {view['head']}", soft_wrap=True)


def _show_population(console: Console, name: str, population: dict[str, Any]) -> None:
    console.print(f"[bold]{escape(name)}[/]")
    for claim, row in population["claims"].items():
        console.print(_line(console, claim, row), soft_wrap=True)
    if population["releases"]:
        console.print(_releases(console, population))
    open_runs = sum(not run["closed"] for run in population["runs"])
    console.print(f"[dim]runs[/]  {len(population['runs'])}, {open_runs} of them unfinished")
    for entry in population["raises"]:
        console.print(
            f"[yellow]raised[/]  {entry['day']} to epsilon {_number(entry['epsilon'])} ({entry['claim']})"
        )
    for entry in population["unprotected"]:
        console.print(f"[red]unprotected[/]  {entry['day']} {escape(entry['what'])}")
    console.print()


def _line(console: Console, claim: str, row: dict[str, Any]) -> str:
    share = row["units"]["spent"] / max(row["units"]["total"], 1)
    at = f" at delta {row['delta']:g}" if row["delta"] else ""
    spent, total, left = (_number(row[column]) for column in ("spent", "total", "left"))
    return (
        f"  {_bar(console, share, 20)} {share:.0%} of the {claim} budget: "
        f"epsilon {spent} spent, [bold]{left} left[/], {total} in all{at}"
    )


def _bar(console: Console, share: float, width: int) -> str:
    full, empty = ("#", ".") if console.options.ascii_only else ("█", "░")
    filled = min(width, math.ceil(share * width))
    colour = "green" if share < 0.75 else "yellow" if share < 1 else "red"
    return f"[{colour}]{full * filled}[/][dim]{empty * (width - filled)}[/]"


def _releases(console: Console, population: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", width=0)
    for column in ("run", "method", "release", "step", "state", "price", "of the total"):
        table.add_column(column, no_wrap=True)
    for row in population["releases"]:
        total = population["claims"][row["claim"]]["units"]["total"]
        price = f"mu² {row['mu2']:.4g}" if "mu2" in row else f"epsilon {row['epsilon']:.4g}"
        state = {"RESERVED": "yellow", "COMMITTED": "cyan", "PUBLISHED": "green"}[row["state"]]
        table.add_row(
            "",
            *(escape(row["run"]), escape(row["method"]), escape(row["name"]), str(row["step"])),
            *(f"[{state}]{row['state'].lower()}[/]", price, _bar(console, row["units"] / max(total, 1), 10)),
        )
    return table


def _number(epsilon: float | None) -> str:
    return "?" if epsilon is None else f"{epsilon:.4g}"
