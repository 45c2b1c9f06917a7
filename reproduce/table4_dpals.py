"""Table 4 of the DPALS paper, re-accounted: what was claimed, what its own bill says, and what is guaranteed.

The bill of the paper has its noisy mean k times too cheap and leaves the global Gram out; its conversion is
looser than the exact curve. The last two columns are the guarantee of the same noise, for one user added or
removed and for one user replaced. Run: python reproduce/table4_dpals.py
"""

from __future__ import annotations

import math

from hushfold.algorithms.dpals_bill import bill_of_published, paper_epsilon, statement
from hushfold.algorithms.dpals_configs import PUBLISHED

ITEMS = {"ml-10m-top400": 400, "ml-10m": 10_677, "ml-20m": 20_108}


def main() -> None:
    """Print one line for each column of the table."""
    print(f"{'':24}{'claimed':>9}{'its bill':>10}{'exact':>9}{'replaced':>10}")
    for name, column in PUBLISHED.items():
        trained = math.ceil(column.config.frequent_fraction * ITEMS[name.partition(" ")[0]])
        ours = statement(bill_of_published(column), column.config, trained, column.delta)
        figures = f"{column.claimed:>9g}{paper_epsilon(column):>10.3f}{ours.epsilon:>9.3f}"
        print(f"{name:24}{figures}{ours.replace_epsilon:>10.3f}")


if __name__ == "__main__":
    main()
