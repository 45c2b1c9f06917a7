"""Metrics against their definitions written out, and the marking of what they are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushfold.errors import ArgumentError
from hushfold.evaluate.figures import lists_of, ranking_figures, rating_figures
from hushfold.evaluate.metrics import calibration, ranking, rating
from hushfold.evaluate.metrics.coverage import coverage
from hushfold.evaluate.metrics.slices import by_activity, by_popularity

people = st.lists(
    st.tuples(st.permutations(range(12)).map(lambda p: p[:6]), st.sets(st.integers(0, 11))),
    min_size=1,
    max_size=6,
)


def csr(lists):
    return np.cumsum([0, *map(len, lists)]), np.array([j for own in lists for j in sorted(own)], np.int32)


@given(people=people, k=st.integers(1, 6))
def test_ranking_metrics_follow_their_definitions(people, k):
    found = ranking.hits([ranked for ranked, _ in people], csr([own for _, own in people]))
    answers = [m(found, k) for m in (ranking.recall, ranking.ndcg, ranking.mrr, ranking.hit_rate)]
    for i, (ranked, own) in enumerate(people):
        values = [a[i] for a in answers]
        if not own:
            assert all(map(math.isnan, values))
            continue
        places = [place for place, item in enumerate(ranked[:k], 1) if item in own]
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(own)) + 1))
        assert values == pytest.approx(
            [
                len(places) / min(k, len(own)),
                sum(1 / math.log2(place + 1) for place in places) / ideal,
                1 / places[0] if places else 0,
                float(bool(places)),
            ]
        )


def test_empty_places_hit_nothing_and_cover_nothing():
    items = [[2, -1, -1], [-1, -1, -1]]
    found = ranking.hits(items, csr([{0, 2}, {1}]))
    assert ranking.recall(found, 3).tolist() == [0.5, 0.0]
    assert coverage(items, 3, 4) == 0.25


def test_rating_errors():
    assert rating.rmse([1, 2, 3], [1, 2, 5]) == pytest.approx(math.sqrt(4 / 3))
    assert rating.mae([1, 2, 3], [1, 2, 5]) == pytest.approx(2 / 3)
    assert math.isnan(rating.rmse([], []))
    assert math.isnan(rating.mae([], []))


def test_a_calibrated_prediction_is_told_from_an_overconfident_one():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(3, 1, 20_000), 0.5 + rng.random(20_000)
    actual = mean + std * rng.standard_normal(20_000)
    assert calibration.calibration_error(mean, actual) < 0.03
    assert calibration.calibration_error(3 + 2 * (mean - 3), actual) > 0.5
    assert calibration.interval_share(mean, actual, std) == pytest.approx(0.9, abs=0.01)
    assert calibration.interval_share(mean, actual, std / 2) < 0.7
    assert sum(b.rows for b in calibration.calibration_bins(mean, actual, 7)) == 20_000


def test_popularity_is_cut_by_released_counts_noise_and_all():
    cut = by_popularity([5.0, math.nan, -3.0, 9.0, 5.0, math.inf, 0.0, 1.0, 2.0, 3.0], shares=(0.1, 0.4))
    assert cut.names == ("top 10 % of items", "next, to 40 %", "all other items")
    assert cut.of.tolist() == [1, 2, 2, 1, 1, 0, 2, 2, 2, 2]


def test_activity_is_cut_at_the_edges():
    cut = by_activity([0, 4, 5, 19, 20, 99, 100, 5000])
    assert cut.of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert cut.names[0] == "0 - 4 rows"


def test_figures_say_that_they_are_not_protected_and_are_valid_json():
    cut = by_popularity([3.0, 2.0, 1.0, 0.0], shares=(0.25, 0.5))
    figures = ranking_figures(
        [[0, 1], [2, 3]],
        csr([{1}, {2, 3}]),
        catalogue=4,
        at=(1, 2, 50),
        popularity=cut,
        activity=by_activity([1, 7]),
    )
    document = json.loads(json.dumps(figures.to_json(), allow_nan=False))
    assert document["protected"] is False
    assert document["metrics"]["recall@1"] == 0.5
    assert document["metrics"]["recall@2"] == 1.0
    assert "recall@50" not in document["metrics"]
    assert document["slices"]["popularity"]["top 25 % of items"] == {"recall@1": None, "users": 0}
    assert document["slices"]["activity"]["5 - 19 rows"] == {"recall@1": 1.0, "users": 1}
    with pytest.raises(AttributeError):
        figures.protected = True  # type: ignore[misc]


def test_rating_figures_clip_to_the_scale_and_slice():
    cut = by_popularity([9.0, 1.0], shares=(0.5,))
    figures = rating_figures(
        [7.0, 3.0, 1.0],
        [5.0, 3.0, 2.0],
        std=[1, 1, 1],
        scale=(1, 5),
        slices={"popularity": (cut, np.array([0, 0, 1]))},
    )
    assert figures.metrics["mae"] == pytest.approx(1 / 3)
    assert figures.metrics["inside_90"] == 1.0
    assert figures.slices["popularity"]["top 50 % of items"] == {"rmse": 0.0, "rows": 2}
    assert figures.slices["popularity"]["all other items"] == {"rmse": 1.0, "rows": 1}


def test_lists_are_increasing_distinct_and_of_the_users_asked_for():
    user, item = np.array([5, 2, 5, 9, 5]), np.array([7, 1, 3, 0, 7], np.int32)
    indptr, items = lists_of(user, item, np.array([2, 3, 5]))
    assert indptr.tolist() == [0, 1, 1, 3]
    assert items.tolist() == [1, 3, 7]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rating.rmse([1, 2], [1]),
        lambda: ranking.recall(ranking.hits([[0]], csr([{0}])), 2),
        lambda: ranking.hits([[0]], csr([{0}, {1}])),
        lambda: coverage([[0]], 1, 0),
        lambda: by_popularity([1.0], shares=(0.5, 0.2)),
        lambda: by_activity([1], edges=(5, 5)),
        lambda: calibration.calibration_bins([1], [1], 0),
        lambda: calibration.interval_share([1], [1], [1], 1.0),
    ],
)
def test_bad_arguments_are_named(call):
    with pytest.raises(ArgumentError):
        call()
