"""How a text file is written: encoding, delimiter, header. Learnt from its first 256 KiB."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hushfold.data.files import first_bytes
from hushfold.data.guess import is_known
from hushfold.errors import ArgumentError, InputError

DELIMITERS = ("\t", ",", ";", "|", "::", " ")
_BY_POSITION = ("user", "item", "value", "time")
_LINES = 100
_ANY_SIZE = 1 << 40


class OneColumn(InputError):
    """No delimiter cuts the lines of a file into cells."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a reader needs to know. Without a header the columns are called "0", "1", ... by position."""

    encoding: str
    delimiter: str
    header: bool
    names: tuple[str, ...]

    @property
    def by_position(self) -> dict[str, str]:
        """What two to four columns without a header mean: user, item, value, time."""
        return (
            dict(zip(_BY_POSITION, self.names, strict=False)) if len(self.names) <= len(_BY_POSITION) else {}
        )


def sniff(path: Path, delimiter: str | None = None, encoding: str | None = None) -> Dialect:
    """Look at the beginning of a file and say how it is written; what is given is not guessed."""
    head, whole = first_bytes(path)
    encoding = encoding or _encoding(head)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    except LookupError:
        raise ArgumentError("encoding", "is not known", "Pass a name such as utf-8 or latin-1") from None
    except UnicodeError:
        raise InputError(f"{path} is not written in {encoding}. Pass encoding=") from None
    if not whole:  # the last line may be cut
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    if not text.strip():
        raise InputError(f"{path} holds nothing but blanks")
    if delimiter is not None and delimiter not in DELIMITERS:
        raise ArgumentError("delimiter", "is not supported", r"Pass one of \t , ; | :: or a blank")
    rows = _parse(text, delimiter or _delimiter(path, text))
    names = tuple(cell.strip() for cell in rows[0])
    header = _is_header(rows)
    if not header:
        names = tuple(str(i) for i in range(len(rows[0])))
    return Dialect(encoding, delimiter or _delimiter(path, text), header, names)


def read_lines(path: Path) -> list[str]:
    """The lines of a file that has one column, blank ones and a heading left out."""
    raw, _ = first_bytes(path, _ANY_SIZE)
    try:
        text = raw.decode(_encoding(raw)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(f"{path} is cut short") from None
    lines = [line.strip().strip('"') for line in text.splitlines() if line.strip()]
    return lines[1:] if lines and is_known(lines[0]) else lines


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _delimiter(path: Path, text: str) -> str:
    """The one that cuts most lines into the same number of cells, and that into as many as possible."""
    best, chosen = (0.0, 0), None
    for candidate in DELIMITERS:
        if candidate not in text or (candidate == " " and chosen is not None):
            continue
        widths = Counter(len(row) for row in _parse(text, candidate))
        width, lines = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
        share = lines / widths.total()
        score = (float(share >= 0.7), width) if width > 1 else (0.0, 0)
        if score > best:
            best, chosen = score, candidate
    if chosen is None:
        raise OneColumn(
            f"{path} has one column only: no delimiter ({_shown()}) cuts its lines alike. Pass delimiter="
        )
    return chosen


def _shown() -> str:
    return r"\t , ; | :: blank"


def _parse(text: str, delimiter: str) -> list[list[str]]:
    """The first lines as cells; blank lines are none."""
    if delimiter == "::":
        lines = (line.split("::") for line in text.splitlines() if line)
        return [row for row, _ in zip(lines, range(_LINES), strict=False)]
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _LINES:
                break
    except csv.Error:
        pass  # an endless cell: what came before it will do
    return rows or [[text]]


def _is_header(rows: list[list[str]]) -> bool:
    """Words that name columns, or words above numbers. In doubt it is data, which is never shown."""
    first = rows[0]
    if any(_is_number(cell) for cell in first):
        return False
    if any(is_known(cell) for cell in first):
        return True
    return any(_is_number(cell) for row in rows[1:2] for cell in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True
