"""`hushfold simulate`: realistic ratings for trials and scale tests."""

# pyright: basic
from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from hushfold.cli.app import print_json


def simulate(
    users: Annotated[int, typer.Option(help="How many users.")],
    items: Annotated[int, typer.Option(help="How many items.")],
    ratings: Annotated[int, typer.Option(help="How many rows (low-rank: how many to expect).")],
    out: Annotated[Path, typer.Option(help="Where to write them: .parquet or .csv.")],
    seed: Annotated[int, typer.Option(help="The same seed writes the same rows.")] = 0,
    implicit: Annotated[
        bool, typer.Option("--implicit", help="What was chosen, not how it was liked.")
    ] = False,
    kind: Annotated[
        Literal["film", "low-rank"],
        typer.Option(help="A realistic film set, or a low-rank matrix of real values."),
    ] = "film",
    outliers: Annotated[float, typer.Option(help="Share of rows that become gross errors.")] = 0.0,
    titles: Annotated[
        Path | None, typer.Option(help="Also write the catalogue here: item, invented title (.csv).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Simulate ratings with the skew, activity and taste of a film set; columns user, item, rating."""
    from hushfold.data.simulate import simulate_blocks, simulate_ratings
    from hushfold.data.simulated_files import write_rows, write_titles

    started = time.perf_counter()
    if kind == "low-rank":
        whole = simulate_ratings(users, items, ratings, seed, kind=kind, implicit=implicit, outliers=outliers)
        blocks = iter([(whole.user, whole.item, whole.rating)])
    else:
        blocks = simulate_blocks(users, items, ratings, seed, implicit=implicit, outliers=outliers)
    rows = write_rows(out, blocks)
    if titles is not None:
        write_titles(titles, items, seed)
    seconds = time.perf_counter() - started
    if json:
        answer = {
            "out": str(out),
            "users": users,
            "items": items,
            "rows": rows,
            "kind": kind,
            "implicit": implicit,
        }
        print_json({**answer, "seed": seed, "seconds": round(seconds, 3)})
    else:
        print(f"{rows} simulated rows of {users} users and {items} items in {out} ({seconds:.1f} s)")
