"""`hushfold demo`: from simulated films to a private "people who liked X also like Y", and what it cost."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushfold.errors import ArgumentError

if TYPE_CHECKING:
    from hushfold.algorithms.also_like import AlsoLike
    from hushfold.data.ratings import Ratings
    from hushfold.types import Released

USERS, ITEMS, LIKES = 20_000, 1_500, 1_000_000
SHOWN = 3


def demo(
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the files [default: hushfold-demo, or -2, -3, ...].")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of these people.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta of the guarantee.")] = 1e-6,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Simulate what people like, release popularity and pairs privately, recommend from that alone."""
    import pyarrow.csv

    from hushfold.algorithms import also_like
    from hushfold.cli.app import print_json
    from hushfold.engines.local import LocalEngine
    from hushfold.privacy.budget import Budget
    from hushfold.privacy.opening import open_door

    folder = _new_folder(out)
    started = time.perf_counter()
    ratings = _simulated(folder)
    read = time.perf_counter()
    budget = Budget.gaussian(epsilon, delta)
    with open_door(ratings, budget, method="also-like", config={}) as door:
        model = also_like.fit(ratings.users, LocalEngine(), door)
        charges, slack = door.run.rows(), door.slack()
        door.run.close()
    fitted = time.perf_counter()
    titles = pyarrow.csv.read_csv(folder / "films.csv")["title"].to_pylist()
    answer: dict[str, Any] = {
        "folder": str(folder),
        "population": ratings.population,
        "epsilon": epsilon,
        "delta": delta,
        "users": USERS,
        "items": ITEMS,
        "likes": LIKES,
        "also_like": _also_like(model, titles),
        "slack": asdict(slack) if slack else None,
        "releases": charges,
        "seconds": {"simulate and read": read - started, "fit": fitted - read},
    }
    print_json(answer) if json else _show(answer)


def _new_folder(out: Path | None) -> Path:
    """Every demo simulates new people, so it gets a folder, and a ledger, of its own."""
    if out is not None and out.exists():
        raise ArgumentError("out", "exists already", "Name a new folder")
    names = (
        Path("hushfold-demo" if number == 1 else f"hushfold-demo-{number}") for number in range(1, 10_000)
    )
    folder = out or next(name for name in names if not name.exists())
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ArgumentError(
            "out", f"cannot be made ({error.strerror})", "Name a folder to write to"
        ) from error
    return folder


def _simulated(folder: Path) -> Ratings:
    """What people like, through files, as anybody's own data would come."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from hushfold.data.ratings import Ratings
    from hushfold.data.simulate import simulate_ratings
    from hushfold.data.titles import simulate_titles

    likes = simulate_ratings(USERS, ITEMS, LIKES, implicit=True)
    films = pa.table({"item": pa.array(range(ITEMS), pa.int32()), "title": simulate_titles(ITEMS)})
    pa.csv.write_csv(films, folder / "films.csv")
    pa.parquet.write_table(pa.table({"user": likes.user, "item": likes.item}), folder / "likes.parquet")
    return Ratings.read(
        folder / "likes.parquet",
        implicit=True,
        catalogue=folder / "films.csv",
        ledger=folder / "hushfold.ledger",
    )


def _also_like(model: Released[AlsoLike], titles: list[str]) -> list[dict[str, Any]]:
    """For some films of the released head: what those who like it also like."""
    from hushfold.algorithms.also_like import similar

    state = model.value
    by_likes = sorted(state.head.tolist(), key=lambda item: -state.likes[item])
    chosen = [by_likes[place] for place in (0, len(by_likes) // 4, len(by_likes) // 2)][:SHOWN]
    return [
        {
            "film": titles[film],
            "also": [{"film": titles[other], "score": score} for other, score in similar(state, film, 4)],
        }
        for film in chosen
    ]


def _show(answer: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"\n[bold]{answer['likes']:,} likes of {answer['users']:,} simulated people[/bold], "
        f"{answer['items']:,} films. Two private releases, then nothing but public arithmetic.\n"
    )
    liked = Table("people who liked", "also like", box=None, header_style="bold", padding=(0, 3, 0, 0))
    for row in answer["also_like"]:
        liked.add_row(row["film"], "\n".join(other["film"] for other in row["also"]) + "\n")
    console.print(liked)
    cost = Table(
        "released", "cells", "one person moves it by", "noise", "share", box=None, header_style="bold"
    )
    whole = sum(release["units"] for release in answer["releases"])
    for release in answer["releases"]:
        (part,) = release["parts"]
        size = " x ".join(f"{side:,}" for side in part["size"])
        cost.add_row(
            release["name"],
            size,
            f"{part['sensitivity']:g} at most",
            f"{part['multiplier']:.2f}",
            f"{release['units'] / whole:.0%}",
        )
    console.print(cost)
    ledger = f"{answer['folder']}/hushfold.ledger"
    console.print(
        f"\nWhoever sees all of this learns about any one person no more than epsilon "
        f"[bold]{answer['epsilon']:g}[/bold] at delta {answer['delta']:g} allows (the sampler's slack is "
        f"{answer['slack']['epsilon']:.0e}).\nThe budget of these people is now spent; the ledger says so:"
        f"\n\n  hushfold budget {ledger}\n"
    )
    seconds = ", ".join(f"{what} {value:.1f} s" for what, value in answer["seconds"].items())
    console.print(f"[dim]{seconds}. Files in {answer['folder']}/[/dim]")
