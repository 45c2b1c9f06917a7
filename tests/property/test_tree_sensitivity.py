"""The tree on neighbouring streams, in whole numbers: no level moves by more than its noise covers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfold.data.users import Users
from hushfold.engines.local import LocalEngine
from hushfold.privacy.budget import NANO, Budget
from hushfold.privacy.door import Door
from hushfold.privacy.door_tree import Tree
from hushfold.privacy.ledger import Ledger
from hushfold.statistics.base import LATTICE
from hushfold.statistics.total import total
from hushfold.types import Rows

ITEMS, EPOCHS = 5, 9
BUDGET = Budget(10.0, 1e-6, 100 * NANO)


def contribute(rows: Rows):
    return (total(rows, 1.0),)


def nodes(stream: list[dict[int, list[float]]], allowed: int) -> dict[int, list[np.ndarray]]:
    """The exact integers of every node, by level."""
    door = Door(Ledger.throw_away().run(method="t", config={}), BUDGET, threads=1)
    tree = Tree(door, "nodes", BUDGET.units, epochs=EPOCHS, epochs_per_user=allowed)
    levels: dict[int, list[np.ndarray]] = {}
    for t, epoch in enumerate(stream, 1):
        ids = [user for user, row in epoch.items() for _ in row]
        values = [value for row in epoch.values() for value in row]
        items = [item for row in epoch.values() for item in range(len(row))]
        tree.add(LocalEngine(threads=1), Users.from_arrays(ids, items, values, ITEMS), contribute)
        level = (t & -t).bit_length() - 1
        levels.setdefault(level, []).append(tree._open[level][0].tile(0))
    return levels


rows = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=ITEMS)
streams = st.lists(st.dictionaries(st.integers(0, 3), rows, max_size=4), min_size=1, max_size=EPOCHS)


@given(streams, st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_one_users_whole_stream_moves_a_level_by_at_most_what_its_noise_covers(stream, allowed):
    removed = [{user: row for user, row in epoch.items() if user != 0} for epoch in stream]
    with_user, without = nodes(stream, allowed), nodes(removed, allowed)
    for level, moved in with_user.items():
        squares = sum(
            int(difference) ** 2
            for here, there in zip(moved, without[level], strict=True)
            for difference in here - there
        )
        assert squares <= (allowed * LATTICE) ** 2


def test_a_user_who_spends_all_epochs_in_one_node_comes_within_a_thousandth():
    stream = [{0: [1e9]} for _ in range(2)]
    level = nodes(stream, 2)[1]
    assert int(level[0][0]) >= 2 * LATTICE * 0.999
