"""`hushfold recommend`: fold users' histories in beside the model and print what they may like."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushfold.cli.options import ItemColumn, Json, UserColumn, ValueColumn
from hushfold.errors import ArgumentError

if TYPE_CHECKING:
    from hushfold.data.ratings import Ratings
    from hushfold.model import Model


def recommend(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that fit wrote.")],
    history: Annotated[Path, typer.Option(help="What the users have had, as RATINGS.")],
    n: Annotated[int, typer.Option("-n", help="How many for each user.")] = 20,
    out: Annotated[Path | None, typer.Option(help="Write to this .parquet or .csv instead.")] = None,
    user: UserColumn = None,
    item: ItemColumn = None,
    value: ValueColumn = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    json: Json = False,
) -> None:
    """Recommend to every user in the history. Each row of the answer is for that user's eyes only."""
    from hushfold import artifact
    from hushfold.cli.app import print_json
    from hushfold.recommend import recommend_all, write_recommendations

    fitted = artifact.load(model)
    read = read_history(history, fitted, user=user, item=item, value=value, quiet=quiet or json)
    answers = recommend_all(fitted, read, n)
    if out is not None:
        rows = write_recommendations(answers, out)
        print_json({"out": str(out), "rows": rows}) if json else print(f"{rows} rows in {out}")
        return
    users = [
        {"user": who, "items": [{"item": each, "score": score} for each, score in items]}
        for who, items in answers
    ]
    print_json({"users": users}) if json else _show(users)


def read_history(path: Path, model: Model, *, quiet: bool, **columns: str | None) -> Ratings:
    """Histories as the model was taught to read them: its catalogue, its range, its columns."""
    from hushfold.cli.options import read_ratings

    named = {part: columns.get(part) or model.columns.get(part) for part in ("user", "item", "value")}
    if not model.method.explicit:
        named["value"] = columns.get("value")
    return read_ratings(
        path,
        **named,
        implicit=model.range is None,
        range=model.range,
        catalogue=model.catalogue,
        ledger="throw-away",
        population="histories",
        quiet=quiet,
    )


def _show(users: list[dict[str, Any]]) -> None:
    from hushfold.cli.tables import show_items

    if not users:
        raise ArgumentError("history", "holds no row of this catalogue", "Check its columns, or the model's")
    for each in users[:20]:
        print(f"\n{each['user']}")
        show_items(each["items"])
    if len(users) > 20:
        print(f"\n{len(users) - 20} more users: --out FILE writes all")
