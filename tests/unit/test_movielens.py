"""MovieLens folders are known by their files; the films and the scale come with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data_room import table_of

from hushfold.data.movielens import movielens_layout
from hushfold.data.ratings import Ratings

LAYOUTS = {
    "100K": (
        {
            "u.data": "1\t10\t4\t880\n2\t10\t3\t881\n",
            "u.item": "10|Café (1995)|01-Jan-1995|0\n11|Other (1996)|01-Jan-1996|1\n",
        },
        (1.0, 5.0),
    ),
    "1M": (
        {
            "ratings.dat": "1::10::4::880\n2::10::3::881\n",
            "movies.dat": "10::Café (1995)::Drama|War\n11::Other: a (1996)::Comedy\n",
            "users.dat": "1::F::1::10::48067\n",
        },
        (1.0, 5.0),
    ),
    "10M": (
        {
            "ratings.dat": "1::10::4::880\n2::10::3::881\n",
            "movies.dat": "10::Café (1995)::Drama\n11::Other (1996)::Comedy\n",
            "tags.dat": "1::10::good::880\n",
        },
        (0.5, 5.0),
    ),
    "20M": (
        {
            "ratings.csv": "userId,movieId,rating,timestamp\n1,10,4.0,880\n2,10,3.0,881\n",
            "movies.csv": 'movieId,title,genres\n10,Café (1995),Drama\n11,"Other, The (1996)",Comedy\n',
            "tags.csv": "userId,movieId,tag,timestamp\n",
        },
        (0.5, 5.0),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str, tmp_path: Path) -> None:
    contents, scale = LAYOUTS[name]
    folder = tmp_path / f"ml-{name.lower()}"
    folder.mkdir()
    for file, content in contents.items():
        (folder / file).write_text(content, encoding="latin-1" if name in ("100K", "1M") else "utf-8")
    ratings = Ratings.read(folder)
    assert table_of(ratings) == {("1", "10"): 4.0, ("2", "10"): 3.0}
    assert ratings.range == scale
    assert ratings.catalogue.ids.to_pylist() == [10, 11]
    assert not ratings.catalogue_from_data
    assert ratings.population == folder.name
    assert ratings.report.notes == ("MovieLens layout, not a whole published set",)
    stated = Ratings.read(folder, range=(1, 3), catalogue=[11])
    assert (stated.range, len(stated.catalogue)) == ((1.0, 3.0), 1)


def test_a_whole_set_is_named_by_its_rows(tmp_path: Path) -> None:
    for file, content in LAYOUTS["1M"][0].items():
        (tmp_path / file).write_text(content)
    layout = movielens_layout(tmp_path)
    assert layout is not None
    assert layout.note(1_000_209) == "MovieLens 1M, all published ratings"
    assert movielens_layout(tmp_path / "ratings.dat") is None
