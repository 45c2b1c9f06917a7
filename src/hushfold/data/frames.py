"""Tables and columns that are already in memory, whoever made them, as Arrow."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hushfold.data.identity import Column
from hushfold.data.source import require_once
from hushfold.errors import ArgumentError, InputError

_UNFIT = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
)


def arrow_column(values: Any) -> Column:
    """One column of anything: Arrow, numpy, pandas, polars, a list; as texts if no Arrow type fits."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        try:
            return pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
        except _UNFIT:
            return _texts(list(values))
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values))
    if hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = np.asarray(values)
    if isinstance(values, np.ndarray):
        return _numpy_column(values)
    try:
        cells = list(values)
    except TypeError:
        raise ArgumentError(
            "array", f"a {type(values).__name__} is no column", "Pass a list or an array"
        ) from None
    try:
        return pa.array(cells, from_pandas=True)
    except _UNFIT:
        return _texts(cells)


def _numpy_column(values: np.ndarray[Any, Any]) -> Column:
    if values.ndim != 1:
        raise ArgumentError("array", f"has {values.ndim} dimensions", "Pass columns of one dimension")
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    try:
        return pa.array(values, from_pandas=True)
    except _UNFIT:
        return _texts(values.tolist())


def _texts(cells: Sequence[Any]) -> Column:
    """Cells of mixed types, each as the text it is an id by; None and NaN are missing."""
    return pa.array([_text(cell) for cell in cells], pa.large_binary())


def _text(cell: Any) -> bytes | None:
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:  # pandas' missing cells, without pandas
        return None
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, float | np.floating):
        if np.isnan(cell):
            return None
        cell = int(cell) if np.isfinite(cell) and cell == int(cell) else float(cell)
    return str(int(cell) if isinstance(cell, bool) else cell).encode("utf-8", "surrogatepass")


class Frame:
    """Any data frame: what narwhals knows, or what exports an Arrow stream, which is read here, once."""

    def __init__(self, frame: Any) -> None:
        self._table: Any = None
        known: Any = None
        try:
            import narwhals as nw

            known = nw.from_native(frame)
            known = known.lazy().collect() if isinstance(known, nw.LazyFrame) else known
            self.names = tuple(str(name) for name in known.columns)
            self._known = known
        except Exception as unknown:  # every backend has errors of its own
            if isinstance(frame, pa.RecordBatch | pa.RecordBatchReader) or hasattr(
                frame, "__arrow_c_stream__"
            ):
                self._table = _typed(lambda: pa.table(frame))
                self.names = tuple(self._table.column_names)
            elif known is None and isinstance(unknown, TypeError):
                raise ArgumentError(
                    "frame",
                    f"a {type(frame).__name__} is no data frame narwhals knows and exports no Arrow stream",
                    "Pass a pandas, polars, pyarrow or duckdb table, or use Ratings.from_arrays",
                ) from None
            else:
                raise InputError(f"the frame could not be read ({type(unknown).__name__})") from None

    def table(self, names: Sequence[str]) -> Any:
        """The named columns as an Arrow table; columns of mixed types go in as texts."""
        require_once(self.names, tuple(names))
        if self._table is not None:
            return self._table.select(list(names))
        columns = [_typed(lambda name=name: arrow_column(self._known[name].to_native())) for name in names]
        return pa.table(columns, names=list(names))


def _typed(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (ArgumentError, InputError):
        raise
    except Exception as error:  # every backend has errors of its own
        raise InputError(f"the frame could not be read ({type(error).__name__})") from None
