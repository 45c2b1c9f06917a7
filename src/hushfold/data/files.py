"""Opening a file that somebody names: regular files only, known by their first bytes."""

# pyright: basic
from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from hushfold.errors import InputError

Kind = Literal["parquet", "arrow", "text"]

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_FOREIGN = {
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "Unpack it, or save it as CSV or Parquet"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "Save it as CSV or Parquet"),
    b"SQLite format 3": (
        "a database",
        "Export the table as Parquet or CSV, or pass Ratings.from_frame a query",
    ),
    b"\x89HDF": ("an HDF5 file", "Convert it to Parquet or CSV"),
    b"\xfd7zXZ": ("an xz archive", "Unpack it, or use gzip or zstd"),
    b"\x93NUMPY": ("a numpy array", "Load it and use Ratings.from_arrays"),
    b"\x80\x04": ("a pickle, which is never opened", "Save the rows as Parquet or CSV"),
}
_HEAD = 1 << 18


def regular_path(path: Any, argument: str = "ratings") -> Path:
    """The path of a readable file or folder. A pipe is refused at once: opening it could wait forever."""
    try:
        found = Path(path)
        mode = found.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{argument}: there is no file {os.fspath(path)!r}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{argument}: the path cannot be used ({type(error).__name__})") from None
    if stat.S_ISDIR(mode):
        return found
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{argument}: {found} is a pipe or a device; rows are read more than once. Save them to a file"
        )
    if not os.access(found, os.R_OK):
        raise InputError(f"{argument}: {found} may not be read (permission denied)")
    if found.stat().st_size == 0:
        raise InputError(f"{argument}: {found} is empty (0 bytes)")
    return found


def kind_of(path: Path) -> Kind:
    """Parquet, Arrow IPC or text; what belongs to another program is refused by its name."""
    head = _read(path, 16)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    for magic, (what, remedy) in _FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"{path} is {what}. {remedy}")
    return "text"


def open_stream(path: Path) -> Any:
    """The bytes of a file, unpacked if it is compressed."""
    head = _read(path, 4)
    try:
        stream = pa.OSFile(str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be opened ({type(error).__name__})") from None
    for magic, codec in _COMPRESSED.items():
        if head.startswith(magic):
            return pa.CompressedInputStream(stream, codec)
    return stream


def first_bytes(path: Path, size: int = _HEAD) -> tuple[bytes, bool]:
    """The first unpacked bytes of a file, and whether that is all of it."""
    try:
        with open_stream(path) as stream:
            head = bytearray()
            while len(head) < size and (more := stream.read(min(_HEAD, size - len(head)))):
                head += more
            return bytes(head), len(head) < size
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{path} cannot be unpacked ({type(error).__name__}): damaged or cut short"
        ) from None


def _read(path: Path, size: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError as error:
        raise InputError(f"{path} cannot be opened ({type(error).__name__})") from None
