"""Ten million ratings from a file to rows by user: hushfold beside pandas and polars with a scipy matrix.

Every contender runs in a process of its own, in turns, after a warm-up on a small file of the same kind; peak
memory is what reading adds to the process, so libraries and compiled kernels count for nobody. All end with
rows grouped by user and codes of users and items; only hushfold also sorts, merges, drops and clips.

    python -m benchmarks.reading [--rows 10000000] [--repeats 3] [--cases parquet-int,parquet-text,csv-int]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from benchmarks.common import cpu, in_a_process, machine, peak_megabytes, wall

CASES = ("parquet-int", "parquet-text", "csv-int", "csv-text")
CONTENDERS = ("hushfold", "pandas", "polars")


def write(folder: Path, rows: int) -> None:
    """Distinct (user, item) pairs in random order, 100 rows a user; and a small file of every kind."""
    random = np.random.default_rng(0)
    users, items = max(1, rows // 100), max(50, rows // 500)
    pairs = np.empty(0, np.int64)
    while len(pairs) < rows:
        user = random.choice(users, rows // 2 + 1, p=_skew(users, 0.4))
        item = random.choice(items, rows // 2 + 1, p=_skew(items, 0.8))
        pairs = np.unique(np.concatenate([pairs, user * np.int64(items) + item]))
    pairs = random.permutation(pairs)[:rows]
    user, item = pa.array(pairs // items), pa.array(pairs % items)
    rating = pa.array(random.integers(1, 11, rows).astype(np.float32) / 2)
    texts = [pa.array([str(uuid.UUID(bytes=random.bytes(16))) for _ in range(n)]) for n in (users, items)]
    tables = {
        "int": pa.table({"user": user, "item": item, "rating": rating}),
        "text": pa.table({"user": texts[0].take(user), "item": texts[1].take(item), "rating": rating}),
    }
    for name, table in tables.items():
        for size, part in (("", table), ("-small", table.slice(0, 20_000))):
            pq.write_table(part, folder / f"parquet-{name}{size}")
            pyarrow.csv.write_csv(part, folder / f"csv-{name}{size}")


def _skew(size: int, power: float) -> np.ndarray:
    weights = (np.arange(size) + size / 100) ** -power
    return weights / weights.sum()


def read_hushfold(path: str) -> Any:
    from hushfold.data.ratings import Ratings

    return Ratings.read(path, range=(0.5, 5), catalogue_from_data=True)


def read_pandas(path: str) -> Any:
    import pandas as pd
    import scipy.sparse

    frame = pd.read_parquet(path) if "parquet-" in path else pd.read_csv(path)
    (user, users), (item, items) = pd.factorize(frame["user"]), pd.factorize(frame["item"])
    values = frame["rating"].to_numpy(np.float32)
    matrix = scipy.sparse.csr_matrix((values, (user.astype(np.int32), item.astype(np.int32))))
    matrix.sum_duplicates()
    return matrix, users, items


def read_polars(path: str) -> Any:
    import polars as pl
    import scipy.sparse

    frame = pl.read_parquet(path) if "parquet-" in path else pl.read_csv(path)
    codes = []
    for name in ("user", "item"):
        column = frame[name]
        if column.dtype == pl.String:
            physical = column.cast(pl.Categorical).to_physical().to_numpy()
            codes.append((physical - physical.min()).astype(np.int32))
        else:
            codes.append(column.rank("dense").to_numpy().astype(np.int32) - 1)
    values = frame["rating"].cast(pl.Float32).to_numpy()
    matrix = scipy.sparse.csr_matrix((values, tuple(codes)))
    matrix.sum_duplicates()
    return matrix, frame["user"].unique(), frame["item"].unique()


def bare_polars(path: str) -> Any:
    """The reader alone, as a mark for text files."""
    import polars as pl

    return pl.read_csv(path)


READERS: dict[str, Callable[[str], Any]] = {
    "hushfold": read_hushfold,
    "pandas": read_pandas,
    "polars": read_polars,
    "polars reader alone": bare_polars,
}


def measure(contender: str, path: str) -> dict[str, float]:
    """Seconds and memory of one reading in this process."""
    read = READERS[contender]
    read(f"{path}-small")
    kept: list[Any] = []
    figures: dict[str, float] = {}
    figures["megabytes"] = peak_megabytes(
        lambda: figures.update(cpu=cpu(lambda: figures.update(wall=wall(lambda: kept.append(read(path))))))
    )
    if contender == "hushfold":
        figures["final_megabytes"] = _size(kept[0]) / 2**20
    return figures


def _size(ratings: Any) -> int:
    """Bytes of what is kept: rows, keys, ids of users and items."""
    from hushfold.data.users import identities

    (rows,) = ratings.users.blocks(2**40)
    arrays = (rows.indptr, rows.items, rows.values, rows.keys)
    return sum(a.nbytes for a in arrays) + identities(ratings.users).nbytes + ratings.catalogue.ids.nbytes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one)))
        return
    print(json.dumps(machine()))
    with tempfile.TemporaryDirectory(prefix="hushfold-reading-") as folder:
        write(Path(folder), given.rows)
        for case in given.cases.split(","):
            report(case, str(Path(folder) / case), given.repeats)


def report(case: str, path: str, repeats: int) -> None:
    """One line a contender, with the ratio of hushfold to it."""
    contenders = [*CONTENDERS, "polars reader alone"] if case.startswith("csv") else list(CONTENDERS)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name in contenders:
            runs[name].append(in_a_process("-m", "benchmarks.reading", "--one", name, path))
    ours = runs["hushfold"]
    print(f"\n{case}: final structure {ours[0]['final_megabytes']:.0f} MB")
    for name, figures in runs.items():
        middle = {key: statistics.median(run[key] for run in figures) for key in ("wall", "cpu", "megabytes")}
        best = {key: min(run[key] for run in figures) for key in ("wall", "cpu")}
        ratios = {
            key: statistics.median(a[key] / b[key] for a, b in zip(ours, figures, strict=True))
            for key in ("wall", "cpu")
        }
        print(
            f"  {name:20} wall {middle['wall']:6.2f} s (best {best['wall']:.2f})  cpu {middle['cpu']:6.2f} s "
            f"(best {best['cpu']:.2f})  peak {middle['megabytes']:5.0f} MB "
            f"= {middle['megabytes'] / ours[0]['final_megabytes']:.2f} x final  "
            f"hushfold / this: wall {ratios['wall']:.2f}, cpu {ratios['cpu']:.2f}"
        )


if __name__ == "__main__":
    main()
