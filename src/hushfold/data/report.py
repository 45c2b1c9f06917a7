"""What became of the rows of a file: the operator's counts, never for publication."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hushfold.data.assemble import Tally

_REASONS = {
    "malformed": "rows with a wrong number of cells",
    "missing_user": "rows without a user id",
    "missing_item": "rows without an item id",
    "unreadable_value": "rows whose value is no number",
    "not_finite": "rows whose value is empty, NaN or infinite",
    "unknown_item": "rows whose item is not in the catalogue",
}
_CHANGES = {
    "merged": "repeated (user, item) rows merged into one",
    "clipped": "values clipped to the declared range",
}


@dataclass(frozen=True, slots=True, repr=False)
class ReadingReport:
    """Exact counts of private rows. They may stand in a terminal; they may not leave the house."""

    rows: int
    kept: int
    users: int
    malformed: int = 0
    missing_user: int = 0
    missing_item: int = 0
    unreadable_value: int = 0
    not_finite: int = 0
    unknown_item: int = 0
    merged: int = 0
    clipped: int = 0
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(tally: Tally, malformed: int, unreadable: int, notes: tuple[str, ...]) -> ReadingReport:
        """The counts of a reader and of what it handed on."""
        return ReadingReport(
            rows=tally.rows + malformed + unreadable,
            kept=tally.kept,
            users=tally.users,
            malformed=malformed,
            missing_user=tally.missing_user,
            missing_item=tally.missing_item,
            unreadable_value=tally.unreadable_value + unreadable,
            not_finite=tally.not_finite,
            unknown_item=tally.unknown_item,
            merged=tally.merged,
            clipped=tally.clipped,
            notes=notes,
        )

    def dropped(self) -> dict[str, int]:
        """Rows dropped, by reason; each row is counted once, under the first reason that applies."""
        return {name: getattr(self, name) for name in _REASONS}

    def dropped_any(self) -> bool:
        """Whether any row was dropped."""
        return any(self.dropped().values())

    def defects(self) -> list[str]:
        """In words, without counts, what strict reading objects to."""
        return [text for name, text in {**_REASONS, **_CHANGES}.items() if getattr(self, name)]

    def lines(self) -> list[str]:
        """In words, with counts, for the operator."""
        shown = {**_REASONS, **_CHANGES}
        return [f"{getattr(self, name):,} {text}" for name, text in shown.items() if getattr(self, name)]

    def as_dict(self) -> dict[str, object]:
        """For `--json`; marked like everything exact."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"protected": False, **counts, "notes": list(self.notes)}

    def __repr__(self) -> str:
        detail = "; ".join(self.lines()) or "nothing dropped or changed"
        return (
            f"NOT FOR PUBLICATION (exact counts of private rows): {self.kept:,} of {self.rows:,} rows kept, "
            f"{self.users:,} users; {detail}"
        )
