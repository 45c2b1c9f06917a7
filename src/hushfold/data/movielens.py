"""The folders MovieLens is published in, 100K to 32M and the small ones, known by their files.

The list of films and the scale of the stars are published with the set, so both are public: they are the
defaults of `catalogue` and `range`. Films are known by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PUBLISHED = {
    100_000: "100K",
    1_000_209: "1M",
    10_000_054: "10M",
    20_000_263: "20M",
    25_000_095: "25M",
    32_000_204: "32M",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A recognised folder: where the ratings and the films are, and the scale."""

    ratings: Path
    films: Path
    range: tuple[float, float]
    columns: tuple[str, str, str, str]

    def film_ids(self) -> list[str]:
        """The numbers of all published films, rated or not."""
        cells = [
            line.replace(b"::", b"|").replace(b",", b"|").split(b"|", 1)[0]
            for line in self.films.read_bytes().split(b"\n")  # bytes: titles come in several encodings
        ]
        return [cell.decode() for cell in cells if cell.isdigit()]

    def note(self, rows: int) -> str:
        """What the number of rows says about which set this is, and whether it is whole."""
        name = _PUBLISHED.get(rows)
        return (
            f"MovieLens {name}, all published ratings"
            if name
            else "MovieLens layout, not a whole published set"
        )


_WHOLE_STARS, _HALF_STARS = (1.0, 5.0), (0.5, 5.0)
_POSITIONS, _NAMES = ("0", "1", "2", "3"), ("userId", "movieId", "rating", "timestamp")


def movielens_layout(folder: Path) -> Layout | None:
    """The layout of a folder, or None if it is no MovieLens folder."""
    if not folder.is_dir():
        return None
    holds = {path.name for path in folder.iterdir() if path.is_file()}
    if {"u.data", "u.item"} <= holds:
        return Layout(folder / "u.data", folder / "u.item", _WHOLE_STARS, _POSITIONS)
    if {"ratings.dat", "movies.dat"} <= holds:  # 1M describes its users and has whole stars; 10M does neither
        scale = _WHOLE_STARS if "users.dat" in holds else _HALF_STARS
        return Layout(folder / "ratings.dat", folder / "movies.dat", scale, _POSITIONS)
    if {"ratings.csv", "movies.csv"} <= holds:
        return Layout(folder / "ratings.csv", folder / "movies.csv", _HALF_STARS, _NAMES)
    return None
