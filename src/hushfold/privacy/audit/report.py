"""The whole audit of an installed build: every check, then every control that the same checks must catch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hushfold.errors import ArgumentError
from hushfold.privacy.audit.calibration import Check
from hushfold.privacy.audit.company import check_departures
from hushfold.privacy.audit.controls import CONTROLS, Control, precision_layer
from hushfold.privacy.audit.layouts import LAYOUTS, Named, check_cells, check_noise
from hushfold.privacy.audit.methods import METHODS
from hushfold.privacy.audit.sensitivity import Subject, check_bound, check_company, check_replacement
from hushfold.privacy.audit.shapes import SHAPES
from hushfold.privacy.door import Door

PAIRS = 100  # of neighbours per subject; the test suite runs 2000

Watch = Callable[[str], None]
"""Told what is looked at next; the operator's eyes only."""


@dataclass(frozen=True, slots=True)
class Caught:
    """Whether a control was noticed by its layer."""

    name: str
    layer: str
    caught: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What the audit found. A clean one is no proof: it says that nothing known to be breakable is broken."""

    checks: tuple[Check, ...]
    controls: tuple[Caught, ...]

    @property
    def passed(self) -> bool:
        """Every check passed and every control was caught."""
        return all(check.passed for check in self.checks) and all(one.caught for one in self.controls)


def audit_build(
    method: str | None = None,
    *,
    shapes: Iterable[Subject] = SHAPES,
    layouts: Iterable[Named] = LAYOUTS,
    controls: Iterable[Control] = CONTROLS,
    watch: Watch = lambda _: None,
) -> Report:
    """Audit the foundation and, if one is named, a method's local steps and releases.

    Keys are the operating system's: each check that must accept alarms falsely with probability 1e-6.
    """
    if method is not None and method not in METHODS:
        raise ArgumentError("method", f"{method!r} is not audited", f"Pass one of {', '.join(METHODS)}")
    subjects, releases = [*shapes], [*layouts]
    if method is not None:
        subjects += METHODS[method].subjects
        releases += METHODS[method].releases
    checks = tuple(_checks(subjects, releases, watch))
    found: list[Caught] = []
    for control in controls:
        watch(f"control: {control.name}")
        found.append(Caught(control.name, control.layer, control.caught()))
    return Report(checks, tuple(found))


def _checks(subjects: list[Subject], releases: list[Named], watch: Watch) -> Iterator[Check]:
    for subject in subjects:
        watch(f"exact sensitivity: {subject.name}")
        yield from check_bound(subject, PAIRS)
        yield from check_replacement(subject, PAIRS // 4)
        yield from check_company(subject, users=20)
        yield from check_departures(subject, 50)
    for named in releases:
        watch(f"noise: {named.name}")
        yield from check_noise(named)
        yield from check_cells(named)
    watch("precision attack")
    yield from precision_layer(Door)
