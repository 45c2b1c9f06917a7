"""`ordered_map`: the order of the inputs, few results in flight, and errors that arrive where they belong."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hushfold.threads import one_blas_thread, ordered_map, usable_cores

every_count = pytest.mark.parametrize("threads", [1, 2, 8])


def unevenly(number: int) -> int:
    """Later inputs are done sooner."""
    time.sleep(0.002 * (5 - number % 6))
    return number * number


@every_count
def test_results_come_in_the_order_of_the_inputs(threads):
    assert list(ordered_map(unevenly, range(40), threads)) == [n * n for n in range(40)]


@every_count
@pytest.mark.parametrize("inputs", [[], [3]])
def test_few_inputs_are_enough(threads, inputs):
    assert list(ordered_map(unevenly, inputs, threads)) == [n * n for n in inputs]


@every_count
def test_at_most_one_more_than_the_threads_are_in_flight(threads):
    taken = 0

    def inputs():
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    results = ordered_map(unevenly, inputs(), threads)
    for received, _ in enumerate(results, 1):
        assert taken <= received + threads + 1
    assert taken == 50


@every_count
def test_an_error_arrives_after_the_results_before_it_and_ends_the_map(threads):
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 5:
            raise ValueError("five")
        return number

    results = ordered_map(work, range(1000), threads)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)
    assert len(begun) <= 5 + threads + 2


@every_count
def test_an_error_of_the_inputs_is_not_lost(threads):
    def inputs():
        yield 1
        raise KeyError("no more")

    with pytest.raises(KeyError):
        list(ordered_map(unevenly, inputs(), threads))


@every_count
def test_who_stops_listening_leaves_no_thread_behind(threads):
    before = threading.active_count()
    results = ordered_map(unevenly, iter(range(10**6)), threads)
    assert next(results) == 0
    results.close()
    assert threading.active_count() <= before


def test_nothing_is_done_before_the_first_result_is_asked_for():
    done: list[int] = []
    results = ordered_map(done.append, range(3), 2)
    time.sleep(0.01)
    assert done == []
    list(results)
    assert sorted(done) == [0, 1, 2]


def test_work_runs_on_other_threads_only_if_there_are_several():
    own = threading.get_ident()
    assert set(ordered_map(lambda _: threading.get_ident(), range(5), 1)) == {own}
    assert own not in set(ordered_map(lambda _: threading.get_ident(), range(5), 2))


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert blas_threads() == before


def test_there_is_a_core_to_use():
    assert usable_cores() >= 1
