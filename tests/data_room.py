"""What tests of the data room share: rows as a dictionary, and the words that declare them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hushfold.data.ratings import Ratings
from hushfold.data.users import Users, identities

THROW_AWAY = {"population": "somebody", "ledger": "throw-away"}
STARS = {"range": (1, 5), "catalogue_from_data": True, **THROW_AWAY}


def rows_of(users: Users, users_per_block: int = 3) -> dict[Any, dict[int, float]]:
    """User id -> item position -> value; checks on the way what every block promises."""
    ids = identities(users).to_pylist()
    found: dict[Any, dict[int, float]] = {}
    for block in users.blocks(users_per_block):
        assert len(block) == len(block.indptr) - 1 <= users_per_block
        for items, values in block.each():
            assert all(a < b for a, b in pairwise(items))
            assert len(items) > 0
            assert ids[len(found)] not in found
            found[ids[len(found)]] = dict(zip(items.tolist(), values.tolist(), strict=True))
    assert len(found) == len(ids)
    return found


def table_of(ratings: Ratings) -> dict[tuple[str, str], float]:
    """(user id, item id) -> value, ids as texts."""
    items = [_text(item) for item in ratings.catalogue.ids.to_pylist()]
    return {
        (_text(user), items[item]): value
        for user, row in rows_of(ratings.users).items()
        for item, value in row.items()
    }


def _text(identity: Any) -> str:
    return identity.decode("utf-8", "backslashreplace") if isinstance(identity, bytes) else str(identity)
