"""One fit through the ledger: reserve, commit, publish, read again, resume, close."""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushfold.errors import AlreadyCommitted, ArgumentError, LedgerError, ResumeError
from hushfold.privacy.ledger import Ledger, Run, Total

CONFIG = {"rank": 8, "ridge": 0.1, "shares": [0.1, 0.9], "names": {"a": "x"}}
FACTS = {"shape": "moment", "size": (3, 3), "multiplier": 4.0}
DATA = hashlib.sha256(b"everybody's ratings").digest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture(params=["file", "throw-away"])
def ledger(request: pytest.FixtureRequest, path: Path) -> Ledger:
    total = Total("gaussian", 10**9)
    if request.param == "file":
        return Ledger.open(path, population="people", total=total)
    return Ledger.throw_away(total=total)


def begin(ledger: Ledger, **changed: Any) -> Run:
    settings: dict[str, Any] = {"method": "hush", "config": CONFIG, "data_digest": DATA}
    return ledger.run("fit-1", **(settings | changed))


def test_a_release_from_reservation_to_publication(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("moment", 0, 7, FACTS)
    assert (reservation.id, reservation.state) == ("fit-1/moment/0", "RESERVED")
    result = {"0.0": np.arange(6, dtype=np.float32).reshape(2, 3), "0.1": np.array([-1, 2**62])}
    run.commit(reservation, result)
    assert run.reserve("moment", 0, 7, FACTS).state == "COMMITTED"
    run.publish(reservation)
    run.publish(reservation)
    read = run.result(reservation)
    assert list(read) == list(result)
    for name, array in result.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)
    (row,) = run.rows()
    assert row == {
        "id": "fit-1/moment/0",
        "name": "moment",
        "step": 0,
        "units": 7,
        "delta_units": 0,
        "state": "PUBLISHED",
        "shape": "moment",
        "size": [3, 3],
        "multiplier": 4.0,
    }


ARRAYS = [
    np.float64(3.5),
    np.zeros((0, 7)),
    np.zeros(()),
    np.arange(24).reshape(2, 3, 4)[:, ::-1],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(5, dtype=">i4"),
    np.array([True, False]),
    np.array([np.nan, np.inf, -0.0]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_of_all_kinds_come_back_as_they_were(ledger: Ledger, array: Any) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 1, {})
    run.commit(reservation, [("x", array)])
    read = run.result(reservation)["x"]
    assert read.dtype == array.dtype
    assert read.shape == array.shape
    assert read.tobytes() == array.tobytes()
    read[...] = 0  # the caller's own copy


def test_forty_tiles_are_streamed_in_and_out(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("gram", 0, 1, {})
    drawn: list[int] = []

    def tiles() -> Iterator[tuple[str, Any]]:
        for tile in range(40):
            drawn.append(tile)
            yield f"0.{tile}", np.full(20_000, float(tile))

    run.commit(reservation, tiles())
    assert [float(part[0]) for _, part in run.stream(reservation)] == drawn == list(range(40))


def test_nothing_of_a_commit_is_on_disk_before_it_is_made(path: Path) -> None:
    """What was drawn and not committed is seen by nobody: no page of it is written beforehand."""
    run = begin(Ledger.open(path, population="people", total=Total("gaussian", 100)))
    reservation = run.reserve("gram", 0, 1, {})
    tile = np.random.default_rng(3).normal(size=500_000)  # far more than a page cache spills at

    def on_disk() -> bool:
        sample = tile[1000:1010].tobytes()
        return any(sample in file.read_bytes() for file in path.parent.glob("people.ledger-wal"))

    def tiles() -> Iterator[tuple[str, Any]]:
        for number in range(4):
            assert not on_disk()
            yield f"0.{number}", tile
        assert not on_disk()

    run.commit(reservation, tiles())
    assert on_disk()


def test_the_second_commit_is_refused_before_it_takes_a_part(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 1, {})
    run.commit(reservation, {"x": np.array([1.0])})

    def parts() -> Iterator[tuple[str, Any]]:
        raise AssertionError("a part was taken")
        yield

    with pytest.raises(AlreadyCommitted):
        begin(ledger).commit(reservation, parts())
    assert run.result(reservation)["x"].tolist() == [1.0]


def test_a_commit_that_fails_half_way_leaves_the_release_reserved(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 1, {})

    def interrupted() -> Iterator[tuple[str, Any]]:
        yield "a", np.zeros(10_000)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.commit(reservation, interrupted())
    for parts in ({}, {"a": np.array(["text"])}, {"": np.zeros(1)}, {"a": np.array([None])}):
        with pytest.raises(ArgumentError):
            run.commit(reservation, parts)
    with pytest.raises(LedgerError, match="not committed"):
        run.result(reservation)
    with pytest.raises(LedgerError, match="not committed"):
        run.publish(reservation)
    run.commit(reservation, {"a": np.ones(2)})
    assert run.result(reservation)["a"].tolist() == [1.0, 1.0]


def test_parts_cannot_use_the_ledger_they_are_written_to(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 1, {})

    def nested() -> Iterator[tuple[str, Any]]:
        run.reserve("other", 0, 1, {})
        yield "a", np.zeros(1)

    with pytest.raises(LedgerError):
        run.commit(reservation, nested())
    run.commit(reservation, {"a": np.zeros(1)})
    assert len(run.rows()) == 1


def test_repeating_a_reservation_costs_nothing_and_changing_it_is_an_error(ledger: Ledger) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 7, {"shape": "total"})
    assert run.reserve("sum", 0, 7, {"shape": "total"}) == reservation
    for units, details in (
        (8, {"shape": "total"}),
        (6, {"shape": "total"}),
        (7, {"shape": "cross"}),
        (7, {}),
    ):
        with pytest.raises(LedgerError, match="must ask for the same"):
            run.reserve("sum", 0, units, details)
    assert ledger.books().populations[ledger.population].spent == {"gaussian": (7, 0)}
    assert run.reserve("sum", 1, 8, {}).id == "fit-1/sum/1"


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "a b", "x" * 65, "é", "a\n"])
def test_names_are_plain(ledger: Ledger, name: str) -> None:
    with pytest.raises(ArgumentError, match="name"):
        begin(ledger).reserve(name, 0, 1, {})
    with pytest.raises(ArgumentError, match="run_id"):
        ledger.run(name, method="hush", config={})


@pytest.mark.parametrize(
    "details", [{"x": np.zeros(2)}, {"x": {1, 2}}, {"x": float("nan")}, {"x": "y" * 5000}]
)
def test_details_are_small_public_facts(ledger: Ledger, details: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="details"):
        begin(ledger).reserve("sum", 0, 1, details)
    with pytest.raises(ArgumentError, match="step"):
        begin(ledger).reserve("sum", -1, 1, {})


CHANGES: list[dict[str, Any]] = [
    {"config": CONFIG | {"rank": 9}},
    {"config": CONFIG | {"ridge": np.nextafter(0.1, 1)}},
    {"config": CONFIG | {"ridge": "0.1"}},
    {"config": CONFIG | {"ridge": None}},
    {"config": CONFIG | {"rank": True}},
    {"config": CONFIG | {"shares": [0.9, 0.1]}},
    {"config": CONFIG | {"shares": [0.1]}},
    {"config": CONFIG | {"names": {"a": "X"}}},
    {"config": CONFIG | {"names": {"A": "x"}}},
    {"config": CONFIG | {"new": 0}},
    {"config": {"rank": 8}},
    {"config": {}},
    {"data_digest": hashlib.sha256(b"everybody's ratings but one").digest()},
    {"data_digest": DATA[::-1]},
    {"data_digest": DATA[:-1]},
    {"data_digest": b""},
    {"data_digest": None},
    {"method": "dpals"},
    {"method": "Hush"},
    {"claim": "pure"},
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_resuming_with_anything_changed_is_refused(ledger: Ledger, change: dict[str, Any]) -> None:
    begin(ledger).reserve("sum", 0, 7, {})
    head = ledger.head
    with pytest.raises(ResumeError) as refusal:
        begin(ledger, **change)
    assert refusal.value.exit_code == 3
    assert ledger.head == head
    assert begin(ledger, config=dict(reversed(CONFIG.items()))).reserve("sum", 0, 7, {}).state == "RESERVED"


def test_a_run_stays_with_its_population(path: Path) -> None:
    total = Total("gaussian", 100)
    begin(Ledger.open(path, population="people", total=total))
    with pytest.raises(ResumeError, match="population"):
        begin(Ledger.open(path, population="others", total=total))


def test_a_run_without_its_secret_cannot_be_resumed(path: Path) -> None:
    ledger = Ledger.open(path, population="people", total=Total("gaussian", 100))
    begin(ledger)
    (path.parent / ".hushfold/people.ledger/runs/fit-1/secret").unlink()
    with pytest.raises(ResumeError):
        begin(ledger)


def test_a_closed_run_keeps_its_rows_and_nothing_else(ledger: Ledger, path: Path) -> None:
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 7, {})
    run.commit(reservation, {"a": np.full(50_000, 0.123456789)})
    run.publish(reservation)
    run.close()
    run.close()
    assert [row["state"] for row in run.rows()] == ["PUBLISHED"]
    for use in (
        lambda: run.result(reservation),
        lambda: run.commit(reservation, {"a": np.ones(1)}),
        lambda: run.reserve("sum", 1, 1, {}),
        lambda: run.publish(reservation),
    ):
        with pytest.raises(LedgerError, match="closed"):
            use()
    with pytest.raises(ResumeError):
        begin(ledger)
    if not ledger.is_throw_away:
        assert path.stat().st_size < 100_000  # the space of the results was given back
        assert not list((path.parent / ".hushfold/people.ledger/runs").iterdir())


def test_no_secret_digest_or_key_reaches_the_ledger(path: Path) -> None:
    """R-05: a scan of all files for what must not be there."""
    ledger = Ledger.open(path, population="people", total=Total("gaussian", 100))
    run = begin(ledger)
    reservation = run.reserve("sum", 0, 7, {})
    noise_key, exact = b"\x13" * 32, np.arange(1000, 2000)  # what a fit holds in memory meanwhile
    run.commit(reservation, {"a": exact + np.random.default_rng(1).normal(size=1000)})
    secret = (path.parent / ".hushfold/people.ledger/runs/fit-1/secret").read_bytes()
    config = hashlib.sha256(str(CONFIG).encode()).digest()
    forbidden = [noise_key, exact.tobytes(), exact.astype(float).tobytes(), DATA, config]
    for file in path.parent.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            for secret_bytes in (*forbidden, *([] if file.name == "secret" else [secret])):
                assert secret_bytes not in content
                assert secret_bytes.hex().encode() not in content


def test_orphans_of_killed_processes_are_removed_at_the_next_start(path: Path) -> None:
    ledger = Ledger.open(path, population="people", total=Total("gaussian", 100))
    begin(ledger)
    orphan = path.parent / ".hushfold/people.ledger/runs/never-entered"
    orphan.mkdir()
    (orphan / "secret").write_bytes(b"x" * 32)
    Ledger.open(path, population="people")
    assert not orphan.exists()
    assert begin(ledger).id == "fit-1"


def test_runs_without_an_id_are_told_apart(ledger: Ledger) -> None:
    ids = {ledger.run(method="hush", config={}).id for _ in range(20)}
    assert len(ids) == 20


def test_a_reservation_belongs_to_its_run(ledger: Ledger) -> None:
    reservation = begin(ledger).reserve("sum", 0, 7, {})
    other = ledger.run("fit-2", method="hush", config={})
    with pytest.raises(LedgerError, match="not reserved"):
        other.commit(reservation, {"a": np.ones(1)})


def test_a_later_node_is_covered_by_the_release_that_paid(ledger: Ledger) -> None:
    run = begin(ledger)
    paid = run.reserve("tree", 1, 7, {})
    assert run.reserve("tree", 3, 0, {}, covered_by=paid.id).units == 0
    for name in ("fit-1/tree/2", "fit-1/tree/3", "fit-2/tree/1"):
        with pytest.raises(LedgerError, match="paid for nothing"):
            run.reserve("tree", 5, 0, {}, covered_by=name)
    with pytest.raises(ArgumentError, match="units"):
        run.reserve("tree", 5, 0, {})


def test_a_fit_leaves_no_image_of_its_memory(ledger: Ledger) -> None:
    begin(ledger)
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
