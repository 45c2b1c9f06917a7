"""`hushfold audit`: is this installation as private as it says? Exact checks, noise, broken controls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from hushfold.privacy.audit.calibration import Check
    from hushfold.privacy.audit.report import Caught, Report


def audit(
    method: Annotated[
        str | None, typer.Option(help="Also audit this method's local steps and releases.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Audit the installed build: exact sensitivity, noise, the precision attack, and controls to be caught.

    Needs no data and no ledger. Exit code 1 if a check fails or a control is missed.
    """
    from rich.console import Console

    from hushfold.cli.app import print_json
    from hushfold.privacy.audit.report import audit_build

    with Console(stderr=True).status("audit") as status:
        report = audit_build(method, watch=status.update)
    if json:
        print_json(document(report))
    else:
        show(Console(highlight=False), report)
    if not report.passed:
        raise typer.Exit(1)


def document(report: Report) -> dict[str, Any]:
    """The answer for programs; a figure that is no number is null."""
    return {
        "passed": report.passed,
        "checks": [
            {
                "name": check.name,
                "passed": bool(check.passed),
                "figure": _finite(check.figure),
                "bound": _finite(check.bound),
            }
            for check in report.checks
        ],
        "controls": [
            {"name": control.name, "layer": control.layer, "caught": control.caught}
            for control in report.controls
        ],
    }


def show(console: Console, report: Report) -> None:
    """One line for each thing audited, every failure in full, and the controls."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("audited", "checks", "passed"):
        table.add_column(column)
    for subject, checks in _by_subject(report.checks).items():
        passed = sum(bool(check.passed) for check in checks)
        table.add_row(escape(subject), str(len(checks)), _mark(passed == len(checks), str(passed)))
    console.print(table)
    for check in report.checks:
        if not check.passed:
            console.print(f"[red]failed[/]  {escape(check.name)}: {check.figure:g}, bound {check.bound:g}")
    console.print()
    console.print(_controls(report.controls))
    failed = sum(not check.passed for check in report.checks)
    missed = sum(not control.caught for control in report.controls)
    console.print(
        f"\n{len(report.checks)} checks, {failed} failed; {len(report.controls)} controls, {missed} missed"
    )


def _controls(controls: tuple[Caught, ...]) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("control: broken on purpose", "layer", "caught"):
        table.add_column(column)
    for control in controls:
        table.add_row(control.name, control.layer, _mark(control.caught, "yes" if control.caught else "NO"))
    return table


def _by_subject(checks: tuple[Check, ...]) -> dict[str, list[Check]]:
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.name.partition(":")[0], []).append(check)
    return groups


def _mark(good: bool, words: str) -> str:
    return f"[{'green' if good else 'bold red'}]{words}[/]"


def _finite(figure: float) -> float | None:
    return float(figure) if abs(figure) < float("inf") else None
