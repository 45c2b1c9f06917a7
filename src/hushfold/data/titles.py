"""Invented film titles, so that a demo reads like a shop window and not like a table of numbers."""

from __future__ import annotations

from hushfold.errors import ArgumentError
from hushfold.rng import PublicRandom


def _words(text: str) -> list[str]:
    return [word.replace("_", " ") for word in text.split()]


_MOODS = _words(
    "Amber Borrowed Brass Careless Clockwork Crooked Drowsy Emerald Faithful Feathered Forgotten Gentle "
    "Gilded Hollow Homesick Hushed Idle Inward Ivory Jagged Lantern Lopsided Marbled Midwinter Mossy "
    "Narrow Nervous Northern Obedient Paper Patient Polite Quarrelsome Quiet Reluctant Restless Rusted "
    "Salted Scarlet Second Secret Silver Sleepless Slow Stubborn Sunken Tidal Timid Unsent Velvet "
    "Wandering Weightless Whispering"
)
_THINGS = _words(
    "Accordion Almanac Apiary Archive Arithmetic Barometer Bicycle Bridge Cartographer Cathedral "
    "Chandelier Choir Compass Conductor Dentist Encyclopaedia Envelope Factory Ferry Fiddle Garden "
    "Glacier Greenhouse Harbour Heirloom Inventor Kettle Kingfisher Ladder Librarian Lighthouse Locksmith "
    "Magpie Meadow Metronome Notary Observatory Orchard Pavilion Pendulum Pharmacist Photograph Piano "
    "Postmaster Quarry Railway Rehearsal Reservoir Saxophone Shoemaker Staircase Suitcase Telegram "
    "Thimble Tollbooth Umbrella Vineyard Watchmaker Waterfall Weathervane Windmill"
)
_PLACES = _words(
    "Albersund Bellmarsh Caldermoor Dunwick Eastervale Farrowhead Gallowmere Hexley Ingolsby Jorvasund "
    "Kestrelby Lammerfield Marlowe_Point Norrhaven Oxenholt Pellworth Quillan_Bay Ravensby Saltmarket "
    "Thornquay Undermere Varlby Westerlock Yarrowgate Zennorvik"
)
_PEOPLE = _words(
    "Adelina Bartholomew Cordula Desmond Ottilie Fergus Griselda Hieronymus Isolde Jasper Kunigunde "
    "Leopold Mirabel Nestor Ophelia Percival Quentina Rosalba Sigismund Theodora Ulrich Valentina "
    "Wilhelmina Xaver Yolanda"
)
_PATTERNS: tuple[tuple[str, tuple[list[str], ...]], ...] = (
    ("The {} {}", (_MOODS, _THINGS)),
    ("The {} of {}", (_THINGS, _PLACES)),
    ("{} and the {}", (_PEOPLE, _THINGS)),
    ("The {} {} of {}", (_MOODS, _THINGS, _PLACES)),
    ("{}'s {} {}", (_PEOPLE, _MOODS, _THINGS)),
    ("{} in {}", (_PEOPLE, _PLACES)),
    ("A Last {} for {}", (_THINGS, _PEOPLE)),
)
_FIRST_YEAR, _YEARS = 1931, 94
_BATCH = 4096


def simulate_titles(items: int, seed: int = 0) -> list[str]:
    """`items` different invented film titles with their years; the same seed begins with the same titles."""
    if items < 0:
        raise ArgumentError("items", f"{items} is negative", "Pass the size of the catalogue")
    stream = PublicRandom(seed).stream("simulate: titles")
    titles: list[str] = []
    parts: dict[str, int] = {}
    while len(titles) < items:
        draws: list[list[int]] = stream.integers(1 << 32, size=(_BATCH, 5)).tolist()
        for which, year, *choices in draws:
            pattern, lists = _PATTERNS[which % len(_PATTERNS)]
            words = (words[pick % len(words)] for words, pick in zip(lists, choices, strict=False))
            name = pattern.format(*words)
            parts[name] = part = parts.get(name, 0) + 1
            sequel = f", Part {part}" if part > 1 else ""
            titles.append(f"{name}{sequel} ({_FIRST_YEAR + year % _YEARS})")
    return titles[:items]
