"""Public state to named arrays and plain numbers, and back: what an artefact is made of. No code is stored.

A state is a frozen dataclass of numbers, strings, arrays, sparse arrays, settings and further states. Packing
names every leaf by its path; unpacking follows the annotations: a file can only fill in what the class asks.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from scipy.sparse import csr_array

from hushfold.errors import InputError

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]
_SPARSE = ("data", "indices", "indptr")


def pack(state: Any) -> tuple[Arrays, Facts]:
    """The arrays of a state by path, and everything else about it as JSON would have it."""
    arrays: Arrays = {}
    facts: Facts = {}
    _pack("", state, arrays, facts)
    return arrays, facts


def unpack(kind: Any, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Any:
    """The state of class `kind`; `InputError` if anything is missing, superfluous or of another form."""
    left = set(arrays) | set(facts)
    state = _unpack("", kind, arrays, facts, left)
    if left:
        raise InputError(f"the model holds what its method does not know: {', '.join(sorted(left))}")
    return state


def _pack(path: str, value: Any, arrays: Arrays, facts: Facts) -> None:
    if isinstance(value, csr_array):
        for part in _SPARSE:
            arrays[f"{path}.{part}"] = np.ascontiguousarray(getattr(value, part))
        facts[f"{path}.shape"] = list(value.shape)
    elif isinstance(value, np.ndarray):
        arrays[path] = np.ascontiguousarray(value)
    elif isinstance(value, BaseModel):
        facts[path] = value.model_dump(mode="json")
    elif dataclasses.is_dataclass(value):
        for field in _stored(type(value)):
            _pack(f"{path}.{field}".lstrip("."), getattr(value, field), arrays, facts)
    else:
        facts[path] = _plain(value)


def _unpack(
    path: str, kind: Any, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], left: set[str]
) -> Any:
    def fact(name: str) -> Any:
        if name not in facts:
            raise InputError(f"the model lacks {name}")
        left.discard(name)
        return facts[name]

    def array(name: str) -> NDArray[Any]:
        if name not in arrays:
            raise InputError(f"the model lacks the array {name}")
        left.discard(name)
        return arrays[name]

    if kind is csr_array:
        shape = tuple(fact(f"{path}.shape"))
        data, indices, indptr = (array(f"{path}.{part}") for part in _SPARSE)
        try:
            matrix = csr_array((data, indices, indptr), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, TypeError, IndexError) as error:
            raise InputError(f"the model's {path} is no sparse matrix") from error
        return matrix
    if get_origin(kind) is np.ndarray:
        return array(path)
    if get_origin(kind) in (Union, types.UnionType):
        if path in facts and facts[path] is None:
            return fact(path)
        (kind,) = (each for each in get_args(kind) if each is not type(None))
        return _unpack(path, kind, arrays, facts, left)
    if get_origin(kind) is tuple:
        return tuple(fact(path))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_validate(fact(path))
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        fields = {
            name: _unpack(f"{path}.{name}".lstrip("."), hints[name], arrays, facts, left)
            for name in _stored(kind)
        }
        return kind(**fields)
    value = fact(path)
    if kind is float and isinstance(value, int | float | str):
        return float(value)
    if not isinstance(value, kind):
        raise InputError(f"the model's {path} is not {kind.__name__}")
    return value


def _stored(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init]


def _plain(value: Any) -> Any:
    """Numbers as JSON can carry them: infinities as words."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
