"""Time, memory and properties of simulated ratings.

    python benchmarks/simulate.py [--users 70000 --items 10700 --ratings 10000000 --seed 0]

Printed: wall and process seconds, peak memory, then what a film set is known for: popularity, activity, the
correlation of the two counts over rows, mean and spread, and what a bias model makes of the ratings.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from hushfold.data.simulate import Simulated, simulate_ratings


def properties(data: Simulated) -> dict[str, float]:
    own = np.bincount(data.user, minlength=data.users)
    each = np.bincount(data.item, minlength=data.items)
    fifth = np.sort(each)[::-1][: data.items // 5]
    return {
        "ratings": len(data),
        "distinct pairs": len(np.unique(data.user.astype(np.int64) * data.items + data.item)),
        "per user, least": own.min(),
        "per user, median": np.median(own),
        "per user, 99 %": np.quantile(own, 0.99),
        "per user, most": own.max(),
        "per item, median": np.median(each),
        "per item, most": each.max(),
        "items nobody rated": (each == 0).sum(),
        "share of the top fifth of items": fifth.sum() / len(data),
        "user count / item count correlation": np.corrcoef(own[data.user], each[data.item])[0, 1],
        "mean": data.rating.mean(dtype=float),
        "standard deviation": data.rating.std(dtype=float),
        "RMSE of user and item biases, 10 % of rows held out": bias_rmse(data),
    }


def bias_rmse(data: Simulated, shrinkage: float = 5, rounds: int = 8) -> float:
    test = np.random.default_rng(0).random(len(data)) < 0.1
    user, item = data.user[~test], data.item[~test]
    mean = data.rating[~test].mean(dtype=float)
    left = data.rating[~test] - mean
    of_user, of_item = np.zeros(data.users), np.zeros(data.items)
    for _ in range(rounds):
        rest = np.bincount(item, left - of_user[user], data.items)
        of_item = rest / (np.bincount(item, minlength=data.items) + shrinkage)
        rest = np.bincount(user, left - of_item[item], data.users)
        of_user = rest / (np.bincount(user, minlength=data.users) + shrinkage)
    guess = mean + of_user[data.user[test]] + of_item[data.item[test]]
    return float(np.sqrt(np.mean((guess - data.rating[test]) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=70_000)
    parser.add_argument("--items", type=int, default=10_700)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--implicit", action="store_true")
    given = parser.parse_args()
    simulate_ratings(100, 50, 2000, implicit=given.implicit)  # compile
    wall, process = time.perf_counter(), time.process_time()
    data = simulate_ratings(given.users, given.items, given.ratings, given.seed, implicit=given.implicit)
    wall, process = time.perf_counter() - wall, time.process_time() - process
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{wall:.1f} s wall, {process:.1f} s process, peak {peak:.0f} MiB")
    for name, value in properties(data).items():
        print(f"{name:>55}  {value:,.4f}".rstrip("0").rstrip("."))


if __name__ == "__main__":
    main()
