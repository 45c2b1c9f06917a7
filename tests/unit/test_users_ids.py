"""Ids: what makes two of them one, their keys, and the vocabularies that look them up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hushfold.data.columns import ids
from hushfold.data.frames import arrow_column
from hushfold.data.identity import keys_of_numbers, keys_of_texts, readable_key, text_buffers
from hushfold.data.lookup import codes_by_dictionary
from hushfold.data.vocabulary import Vocabulary, texts_of

TEXTS = ["", "7", "-7", "07", "-0", "0", " 7", "7.0", "abc", "abcdefgh", "abcdefghi", "é" * 20, "x" * 10_000]
GOLDEN = {7: 7191089600892374487, "ann": 3468042888774307598}
NUMBERS = [0, 1, 7, -7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]


def _keys_of_texts(texts: list[str]) -> list[int]:
    return keys_of_texts(*text_buffers(pa.array(texts, pa.large_string()))).tolist()


def test_fast_keys_are_the_readable_ones() -> None:
    texts = [*TEXTS, *map(str, NUMBERS), str(2**63), str(-(2**63) - 1), "9" * 19]
    assert _keys_of_texts(texts) == [readable_key(text) for text in texts]
    assert keys_of_numbers(np.array(NUMBERS)).tolist() == [readable_key(number) for number in NUMBERS]


def test_a_number_and_its_text_are_one_and_everything_else_is_not() -> None:
    assert keys_of_numbers(np.array(NUMBERS)).tolist() == _keys_of_texts([str(n) for n in NUMBERS])
    keys = _keys_of_texts(TEXTS)
    assert len(set(keys)) == len(keys)


def test_keys_do_not_change_between_versions() -> None:
    """Golden: a user's public coins must survive an upgrade."""
    assert readable_key(7) == int(keys_of_numbers(np.array([7]))[0]) == GOLDEN[7]
    assert readable_key("ann") == GOLDEN["ann"]


def test_keys_of_a_slice_are_those_of_its_cells() -> None:
    array = pa.array(["a", "bb", "ccc", "d"], pa.large_string()).slice(1, 2)
    assert keys_of_texts(*text_buffers(array)).tolist() == _keys_of_texts(["bb", "ccc"])


@pytest.mark.parametrize("kind", ["narrow", "wide", "texts", "numbers then texts", "texts of numbers"])
def test_vocabularies_agree_with_a_dictionary(kind: str) -> None:
    rng = np.random.default_rng(1)
    draws = {
        "narrow": lambda: [int(n) for n in rng.integers(-50, 5000, 700)],
        "wide": lambda: [int(n) for n in rng.integers(-(2**62), 2**62, 50).repeat(14)],
        "texts": lambda: [f"user {n}" for n in rng.integers(0, 900, 700)],
        "numbers then texts": lambda: [int(n) for n in rng.integers(0, 900, 700)],
        "texts of numbers": lambda: [str(n) for n in rng.integers(0, 900, 700)],
    }
    vocabulary, known = Vocabulary(), {}
    for batch in range(6):
        cells = [*draws[kind](), None]
        if kind == "numbers then texts" and batch > 2:
            cells = [f"{c}" if c is not None and c % 2 else None if c is None else f"x{c}" for c in cells]
        column = ids(arrow_column(cells), "user")
        expected = codes_by_dictionary(known, [None if c is None else str(c) for c in cells], grow=True)
        assert vocabulary.codes(column, grow=True).tolist() == expected
    assert [str(i) for i in vocabulary.ids().to_pylist()] == list(known)
    assert vocabulary.keys().tolist() == [readable_key(i) for i in known]
    strangers = ["-12345678901", "somebody", "", " \t", "0", None]
    column = ids(arrow_column(strangers), "user")
    before = vocabulary.ids()
    assert vocabulary.codes(column).tolist() == codes_by_dictionary(known, strangers, grow=False)
    assert vocabulary.ids() == before


def test_looking_up_a_text_does_not_turn_public_numbers_into_texts() -> None:
    catalogue = Vocabulary()
    catalogue.codes(pa.array([3, 4]), grow=True)
    assert catalogue.codes(ids(arrow_column(["4", "pear", "3"]), "item")).tolist() == [1, -2, 0]
    assert catalogue.ids().type == pa.int64()


def test_a_dictionary_is_looked_up_again_when_more_is_known() -> None:
    vocabulary, column = Vocabulary(), ids(pa.array(["a", "b"]).dictionary_encode(), "item")
    assert vocabulary.codes(column).tolist() == [-2, -2]
    vocabulary.codes(ids(pa.array(["b"]), "item"), grow=True)
    assert vocabulary.codes(column).tolist() == [-2, 0]
    assert vocabulary.codes(column, grow=True).tolist() == [1, 0]


def test_unused_and_unwanted_entries_of_a_dictionary_are_not_taken_in() -> None:
    column = pa.DictionaryArray.from_arrays([1, None, 1, 3], ["a", "b", "c", " "])
    vocabulary = Vocabulary()
    assert vocabulary.codes(ids(column, "item"), grow=True).tolist() == [0, -1, 0, -1]
    assert vocabulary.ids().to_pylist() == ["b"]
    wanted = np.array([False, True])
    assert vocabulary.codes(pa.array([1, 2]), grow=True, wanted=wanted).tolist() == [-1, 1]


@pytest.mark.parametrize(
    "pair",
    [
        ("e\u0301", "\u00e9"),  # NFD and NFC
        ("\u202eabc", "abc"),  # right-to-left override
        ("a\0", "a"),
        ("\0", "\0\0"),
        ("👩\u200d👧", "👩👧"),
        ("x" * 10_000, "x" * 10_001),
        ("\u00a0", "\u2003"),  # only ASCII blanks are blank
        ("7", "\u0667"),
    ],
)
def test_distinct_code_points_stay_distinct(pair: tuple[str, str]) -> None:
    vocabulary = Vocabulary()
    assert vocabulary.codes(ids(arrow_column(list(pair)), "item"), grow=True).tolist() == [0, 1]
    assert tuple(map(str, vocabulary.ids().to_pylist())) == pair


def test_bytes_that_are_no_text_are_kept() -> None:
    vocabulary = Vocabulary()
    codes = vocabulary.codes(ids(arrow_column([b"\xff", b"\xfe", b"ann"]), "user"), grow=True)
    assert codes.tolist() == [0, 1, 2]
    assert vocabulary.ids().to_pylist() == [b"\xff", b"\xfe", b"ann"]
    assert vocabulary.codes(ids(arrow_column(["ann"]), "user")).tolist() == [2]


def test_numbers_as_texts() -> None:
    assert texts_of(pa.array([-(2**63), 0, None])).to_pylist() == [b"-9223372036854775808", b"0", None]
