"""Which column is which: guessed when the name leaves no doubt, otherwise asked for."""

from __future__ import annotations

from collections.abc import Sequence

from hushfold.data.source import Columns
from hushfold.errors import InputError

# Each line is tried as a whole: two columns of one line are a doubt, a later line is asked only if none fits.
_SPELLINGS = {
    "user": (
        ("user", "userid", "uid", "useridx"),
        ("u", "userkey", "username", "users"),
        ("customer", "customerid", "member", "memberid", "account", "accountid", "visitor", "visitorid"),
        (
            "reviewerid",
            "reviewer",
            "person",
            "personid",
            "client",
            "clientid",
            "profileid",
            "listener",
            "reader",
        ),
        ("session", "sessionid", "basket", "basketid", "transactionid"),
    ),
    "item": (
        ("item", "itemid", "iid", "itemidx"),
        ("i", "itemkey", "items"),
        ("movie", "movieid", "product", "productid", "book", "bookid", "track", "trackid", "song", "songid"),
        ("artist", "artistid", "album", "albumid", "game", "gameid", "anime", "animeid", "video", "videoid"),
        ("asin", "parentasin", "isbn", "sku", "article", "articleid", "business", "businessid", "recipeid"),
        (
            "content",
            "contentid",
            "document",
            "documentid",
            "page",
            "pageid",
            "url",
            "joke",
            "jokeid",
            "newsid",
        ),
    ),
    "value": (
        ("rating", "ratings"),
        ("score", "stars", "star", "value", "overall", "bookrating", "starrating", "reviewscore"),
        ("preference", "weight", "strength", "count", "plays", "playcount", "quantity", "listens"),
    ),
    "time": (
        ("timestamp", "ts", "time", "datetime"),
        ("unixreviewtime", "eventtime", "ratedat", "createdat", "date", "reviewtime", "updatedat", "tstamp"),
    ),
}


def is_known(name: str) -> bool:
    """Whether a word is a column name anybody would use: what tells a header from a row of data."""
    return any(_plain(name) in line for lines in _SPELLINGS.values() for line in lines)


def choose_columns(
    names: Sequence[str],
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    time: str | None = None,
    *,
    needs_value: bool,
    listed: str | None = None,
) -> Columns:
    """The columns to read: those stated, the others guessed.

    `needs_value` is False for implicit data, whose value and time columns are left unread. `listed` says what
    the names are when they must not be shown (a file without a header has none).
    """
    stated = {"user": user, "item": item, "value": value, "time": time}
    wanted = ["user", "item", "value", "time"] if needs_value else ["user", "item"]
    chosen: dict[str, str | None] = {"value": None, "time": None}
    taken = {name for name in stated.values() if name is not None}
    for role in wanted:
        name = stated[role]
        if name is not None:
            if name not in names:
                raise InputError(f"--{role}: there is no column {name!r}. {_listing(names, listed)}")
            chosen[role] = name
            continue
        found = guess(role, [n for n in names if n not in taken])
        if len(found) == 1:
            chosen[role] = found[0]
            taken.add(found[0])
        elif role != "time":
            doubt = f"could be any of {', '.join(found)}" if found else "is not obvious"
            raise InputError(f"--{role}: the {role} column {doubt}; name it. {_listing(names, listed)}")
    if chosen["user"] == chosen["item"]:
        raise InputError("--item: is the user column. Name the column that holds the items")
    assert chosen["user"] is not None
    assert chosen["item"] is not None
    return Columns(chosen["user"], chosen["item"], chosen["value"], chosen["time"])


def guess_item(names: Sequence[str], item: str | None, listed: str | None) -> str:
    """The column of a catalogue that holds the ids: the stated one, an obvious one, or the only one."""
    found = [item] if item in names else guess("item", names)
    if len(found) != 1 and len(names) > 1 and listed is None:
        raise InputError(
            f"--catalogue: which column holds the items is not obvious. {_listing(names, listed)}"
        )
    return found[0] if found and found[0] is not None else names[0]


def guess(role: str, names: Sequence[str]) -> list[str]:
    """The columns whose names fit a role equally well: one if it is obvious, none, or several in doubt."""
    for line in _SPELLINGS[role]:
        found = [name for name in names if _plain(name) in line]
        if found:
            return found
    return []


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _listing(names: Sequence[str], listed: str | None) -> str:
    return listed if listed is not None else f"Columns: {', '.join(names) or 'none'}"
