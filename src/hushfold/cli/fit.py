"""`hushfold fit`: ratings to a private model, charged to the population's ledger."""

# pyright: basic
from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushfold.cli.options import (
    CatalogueFile,
    CatalogueFromData,
    Implicit,
    ItemColumn,
    Json,
    Range,
    RatingsPath,
    Strict,
    UserColumn,
    ValueColumn,
)

if TYPE_CHECKING:
    from hushfold.data.ratings import Ratings


def fit(
    ratings: RatingsPath,
    epsilon: Annotated[float, typer.Option(help="What the model may reveal about a user: epsilon.")],
    delta: Annotated[float, typer.Option(help="And delta, well below one in the users.")],
    out: Annotated[Path, typer.Option(help="Folder to write the model to; must not exist.")],
    method: Annotated[str, typer.Option(help="hush, bias or dpals.")] = "hush",
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    implicit: Implicit = False,
    range: Range = None,
    catalogue: CatalogueFile = None,
    catalogue_from_data: CatalogueFromData = False,
    strict: Strict = False,
    ledger: Annotated[Path | None, typer.Option(help="Ledger [default: hushfold.ledger here].")] = None,
    population: Annotated[
        str | None, typer.Option(help="Whose budget it is [default: the file's name].")
    ] = None,
    total: Annotated[
        float | None, typer.Option(help="The population's whole epsilon [default: the first fit's].")
    ] = None,
    users: Annotated[int | None, typer.Option(help="A declared, public number of users.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    json: Json = False,
) -> None:
    """Fit a private model of RATINGS. An interrupted fit with the same words goes on where it stopped."""
    from hushfold import artifact
    from hushfold.algorithms.methods import method as method_of
    from hushfold.cli.app import print_json
    from hushfold.cli.options import read_ratings
    from hushfold.cli.progress import row_progress
    from hushfold.estimators import fit_private
    from hushfold.privacy.budget import Budget

    budget = Budget.gaussian(epsilon, delta)
    whole = None if total is None else Budget.gaussian(total, delta)
    artifact.require_new(out)
    started = time.perf_counter()
    read = read_ratings(
        ratings,
        user=user,
        item=item,
        value=value,
        implicit=implicit,
        range=range,
        catalogue=catalogue,
        catalogue_from_data=catalogue_from_data,
        strict=strict,
        ledger=ledger,
        population=population,
        users=users,
        quiet=quiet or json,
    )
    how = method_of(method, read.kind)
    with row_progress(quiet or json, "tiles") as progress:
        model = fit_private(
            how, read, budget, total=whole, resume=_name_of(out, how.name), progress=progress, out=out
        )
    seconds = time.perf_counter() - started
    guarantee = model.card["guarantee"]
    if json:
        print_json(
            {
                "model": str(out),
                "method": how.name,
                **{name: guarantee[name] for name in ("epsilon", "delta", "mu")},
                "population": read.population,
                "stamps": model.card["stamps"],
                "seconds": seconds,
                "peak_mb": _peak_mb(),
            }
        )
    else:
        _show(out, model.card, read, seconds)


def _name_of(out: Path, method: str) -> str:
    """One run per model folder and method, so that the same command resumes its own run."""
    return f"{method}-{hashlib.blake2b(str(out.absolute()).encode(), digest_size=6).hexdigest()}"


def _peak_mb() -> float:
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def _show(out: Path, card: dict[str, Any], ratings: Ratings, seconds: float) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for stamp in card["stamps"]:
        console.print(f"[bold red]NOT PRIVATE[/bold red]: {stamp}")
    console.print(f"[bold]{card['guarantee']['sentence']}[/bold]")
    console.print(f"model {out}  [dim]{seconds:.1f} s; not for publication: {_dropped(ratings)}[/dim]")
    console.print(f"next  hushfold recommend {out} --history FILE -n 20\n      hushfold card {out}")


def _dropped(ratings: Ratings) -> str:
    defects = ratings.report.defects()
    return ", ".join(defects) if defects else "every row was used"
