"""Thirty ways in which people write a table as text, and what becomes of each: the table of docs/data.md."""

from __future__ import annotations

import bz2
import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.data_room import STARS, table_of

from hushfold.data.ratings import Ratings
from hushfold.errors import HushfoldError, InputError

PLAIN = {("1", "a"): 4.0, ("1", "b"): 3.5, ("2", "a"): 2.0}
TEXT = "user,item,rating\n1,a,4\n1,b,3.5\n2,a,2\n"


@dataclass(frozen=True)
class Fixture:
    """A file, and what reading it gives: rows, what was dropped, or an error."""

    name: str
    content: bytes
    rows: dict[tuple[str, str], float] | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    error: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    file: str = "log.csv"


FIXTURES = [
    Fixture("plain", TEXT.encode(), PLAIN),
    Fixture("byte order mark", b"\xef\xbb\xbf" + TEXT.encode(), PLAIN),
    Fixture("UTF-16", TEXT.encode("utf-16"), PLAIN),
    Fixture("CRLF line ends", TEXT.replace("\n", "\r\n").encode(), PLAIN),
    Fixture("no newline at the end", TEXT.rstrip().encode(), PLAIN),
    Fixture("blank lines", TEXT.replace("\n", "\n\n").encode(), PLAIN),
    Fixture("tabs", TEXT.replace(",", "\t").encode(), PLAIN),
    Fixture("semicolons and decimal commas", TEXT.replace(",", ";").replace(".", ",").encode(), PLAIN),
    Fixture("bars", TEXT.replace(",", "|").encode(), PLAIN),
    Fixture("double colons", TEXT.replace(",", "::").encode(), PLAIN),
    Fixture("blanks as delimiter", TEXT.replace(",", " ").encode(), PLAIN),
    Fixture("quoted cells", b'"user","item","rating"\n"1","a","4"\n"1","b","3,5"\n2,"a",2\n', PLAIN),
    Fixture(
        "delimiter and quote inside quotes",
        b'user,item,rating\n1,"a, ""b""",4\n2,c,2\n',
        {("1", 'a, "b"'): 4.0, ("2", "c"): 2.0},
    ),
    Fixture(
        "newline inside quotes",
        b'user,item,rating\n1,"a\nb",4\n2,c,2\n',
        {("1", "a\nb"): 4.0, ("2", "c"): 2.0},
    ),
    Fixture("no header, three columns", b"1,a,4\n1,b,3.5\n2,a,2\n", PLAIN),
    Fixture(
        "no header, with time",
        b"1\ta\t4\t100\n1\tb\t3.5\t90\n2\ta\t2\t80\n1\ta\t1\t50\n",
        PLAIN,
        {"merged": 1},
    ),
    Fixture(
        "no header, words only",
        b"ann,hat\nbob,hat\n",
        {("ann", "hat"): 1.0, ("bob", "hat"): 1.0},
        arguments={"implicit": True, "range": None},
    ),
    Fixture("columns in another order", b"rating,extra,item,user\n4,x,a,1\n3.5,y,b,1\n2,z,a,2\n", PLAIN),
    Fixture("unknown names", b"who,what,how\n1,a,4\n1,b,3.5\n2,a,2\n", error="Columns: who, what, how"),
    Fixture(
        "unknown names, stated",
        b"who,what,how\n1,a,4\n1,b,3.5\n2,a,2\n",
        PLAIN,
        arguments={"user": "who", "item": "what", "value": "how"},
    ),
    Fixture(
        "rows of a wrong width, few",
        b"user,item,rating\n" + b"".join(b"%d,a,3\n" % i for i in range(19)) + b"19,a\n",
        {(str(i), "a"): 3.0 for i in range(19)},
        {"malformed": 1},
    ),
    Fixture("rows of a wrong width, many", TEXT.encode() + b"3,a\n4,a,1,1\n", error="too many rows"),
    Fixture(
        "values that are no numbers, few",
        b"user,item,rating\n" + b"".join(b"%d,a,3\n" % i for i in range(19)) + b"19,a,good\n",
        {(str(i), "a"): 3.0 for i in range(19)},
        {"unreadable_value": 1},
    ),
    Fixture(
        "missing ids and values",
        TEXT.encode() + b",a,3\n \t,a,3\n3,,3\n3,  ,3\n3,a,\n3,a,NaN\n3,a,inf\n",
        PLAIN,
        {"missing_user": 2, "missing_item": 2, "not_finite": 3},
    ),
    Fixture(
        "leading zeros",
        b"user,item,rating\n07,1,4\n7,1,3\n",
        {("07", "1"): 4.0, ("7", "1"): 3.0},
    ),
    Fixture(
        "latin-1",
        "user,item,rating\nJosé,a,4\nZoë,a,2\n".encode("latin-1"),
        {("José", "a"): 4.0, ("Zoë", "a"): 2.0},
    ),
    Fixture("gzip", gzip.compress(TEXT.encode()), PLAIN, file="log.csv.gz"),
    Fixture("bzip2, misnamed", bz2.compress(TEXT.encode()), PLAIN),
    Fixture("cut-off gzip", gzip.compress(TEXT.encode() * 999)[:-20], error="cut short"),
    Fixture("one column", b"user\n1\n2\n", error="one column only"),
    Fixture("header only", b"user,item,rating\n", {}),
    Fixture("a quote that never closes", TEXT.encode() + b'3,"a,5\n4,b,1\n', error="never closes"),
    Fixture("a last cell that never closes", TEXT.encode() + b'3,a,"5\n4,b,1\n', error="never closes"),
    Fixture("a spreadsheet", b"PK\x03\x04" + bytes(40), error="zip archive or a spreadsheet"),
    Fixture("nothing but blanks", b" \n\n\t\n", error="nothing but blanks"),
]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_every_fixture_has_its_documented_outcome(fixture: Fixture, tmp_path: Path) -> None:
    path = tmp_path / fixture.file
    path.write_bytes(fixture.content)
    arguments = {**STARS, **fixture.arguments}
    if fixture.error:
        with pytest.raises(InputError, match=fixture.error):
            Ratings.read(path, **arguments)
        return
    ratings = Ratings.read(path, bad_rows=0.1, **arguments)
    assert table_of(ratings) == fixture.rows
    became = {name: n for name, n in ratings.report.dropped().items() if n}
    if ratings.report.merged:
        became["merged"] = ratings.report.merged
    assert became == fixture.dropped


def test_at_least_thirty_fixtures_each_in_the_documentation(repository: Path) -> None:
    names = [fixture.name for fixture in FIXTURES]
    assert len(set(names)) == len(names) >= 30
    page = (repository / "docs" / "data.md").read_text()
    assert [name for name in names if f"| {name} |" not in page] == []


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_strict_refuses_what_would_be_dropped(fixture: Fixture, tmp_path: Path) -> None:
    path = tmp_path / fixture.file
    path.write_bytes(fixture.content)
    arguments = {**STARS, **fixture.arguments, "strict": True}
    if fixture.dropped or fixture.error:
        with pytest.raises(HushfoldError):
            Ratings.read(path, **arguments)
    else:
        assert table_of(Ratings.read(path, **arguments)) == fixture.rows
