"""A model on disk: a folder of arrays and plain text, written in one step. Loading runs no code of its own.

manifest.json       method, declarations, card, the state's numbers, digests of the other files
model.safetensors   the state's arrays
items.parquet       the catalogue, in its order
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from hushfold.algorithms.methods import method
from hushfold.card import FORMAT
from hushfold.data.catalogue import Catalogue
from hushfold.errors import ArgumentError, InputError
from hushfold.model import Model
from hushfold.packing import pack, unpack

MANIFEST, ARRAYS, ITEMS = "manifest.json", "model.safetensors", "items.parquet"
LARGEST = 2**33  # bytes of one file that a loader will read


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write the model's folder, all of it or nothing. An existing folder is refused, never overwritten."""
    place = require_new(path)
    arrays, facts = pack(model.state)
    room = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.absolute().parent))
    try:
        (room / ARRAYS).write_bytes(save_arrays(arrays))
        pyarrow.parquet.write_table(pa.table({"item": model.catalogue.ids}), room / ITEMS)
        manifest = {
            "format": FORMAT,
            "method": model.method.name,
            "kind": "explicit" if model.method.explicit else "implicit",
            "range": model.range,
            "columns": model.columns,
            "state": facts,
            "card": model.card,
            "digests": {name: _digest(room / name) for name in (ARRAYS, ITEMS)},
        }
        (room / MANIFEST).write_text(json.dumps(manifest, indent=1, allow_nan=False))
        for file in room.iterdir():
            _flush(file)
        os.chmod(room, 0o755)
        os.rename(room, place)
    except OSError as error:
        raise InputError(f"the model cannot be written ({error.strerror}); nothing of it was kept") from error
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return place


def require_new(path: str | os.PathLike[str]) -> Path:
    """The place for a new model, if one can be written there: to be asked before anything is spent."""
    place = Path(path)
    if place.exists():
        raise ArgumentError("out", "exists already", "Name a new folder, or remove the old model first")
    if not os.access(place.absolute().parent, os.W_OK | os.X_OK):
        raise ArgumentError("out", "its folder does not exist or is not writable", "Create it first")
    return place


def load(path: str | os.PathLike[str]) -> Model:
    """The model in this folder; `InputError` if anything in it is missing, damaged or of another version."""
    place = Path(path)
    manifest = _manifest(place)
    try:
        how = method(manifest["method"], manifest["kind"])
        for name in (ARRAYS, ITEMS):
            if _digest(place / name) != manifest["digests"][name]:
                raise InputError(f"{name} is not the file this model was saved with")
        arrays = load_arrays((place / ARRAYS).read_bytes())
        items = pyarrow.parquet.read_table(place / ITEMS)["item"].combine_chunks()
        state = unpack(how.state, arrays, manifest["state"])
        stated = manifest["range"]
        columns, card = dict(manifest["columns"]), dict(manifest["card"])
        return Model(how, state, Catalogue(items), tuple(stated) if stated else None, columns, card)
    except (OSError, KeyError, TypeError, ValueError, SafetensorError, pa.ArrowException) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"this is no model, or a damaged one ({type(error).__name__})") from error


def _manifest(place: Path) -> dict[str, Any]:
    if not (place / MANIFEST).is_file():
        raise ArgumentError("model", f"there is no {MANIFEST} in {place}", "Pass the folder that fit wrote")
    _sized(place / MANIFEST)
    try:
        manifest = json.loads((place / MANIFEST).read_text())
    except ValueError as error:
        raise InputError(f"{MANIFEST} is damaged") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{MANIFEST} is of another version; this one reads format {FORMAT}")
    return manifest


def _digest(file: Path) -> str:
    _sized(file)
    return hashlib.blake2b(file.read_bytes(), digest_size=32).hexdigest()


def _sized(file: Path) -> None:
    if not file.is_file() or file.is_symlink() or file.stat().st_size > LARGEST:
        raise InputError(f"{file.name} is missing, too large, or no plain file")


def _flush(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
