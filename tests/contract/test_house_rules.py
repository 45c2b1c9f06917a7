"""The house rules hold in this checkout, and every rule catches the snippet written to break it."""

from __future__ import annotations

from pathlib import Path

import pytest
from house_rules import doors, layers, repository, shape
from house_rules.__main__ import SOURCE_RULES, check, findings
from house_rules.source import Source

LATER = "TO" + "DO"
STUB = "NotImplemented" + "Error"
HOME = "/" + "home/ann/ratings.csv"

CAUGHT = [
    (shape.files_are_small, "local/fold_in.py", "x = 1\n" * 301),
    (shape.nothing_is_half_done, "local/fold_in.py", f"x = 1  # {LATER}: clip"),
    (shape.nothing_is_half_done, "local/fold_in.py", f"def f():\n    raise {STUB}"),
    (shape.nothing_is_half_done, "local/fold_in.py", f"def f():\n    raise {STUB}('later')"),
    (layers.imports_point_one_way, "data/users.py", "from hushfold.statistics.base import Sum"),
    (layers.imports_point_one_way, "types.py", "import hushfold.data.users"),
    (layers.imports_point_one_way, "statistics/gram.py", "from hushfold.engines.local import LocalEngine"),
    (layers.imports_point_one_way, "statistics/gram.py", "from ..engines.local import LocalEngine"),
    (layers.imports_point_one_way, "statistics/gram.py", "from .. import engines"),
    (layers.imports_point_one_way, "privacy/door.py", "def f():\n    import hushfold.algorithms.als"),
    (layers.imports_point_one_way, "privacy/door.py", "from hushfold.privacy.audit import controls"),
    (layers.imports_point_one_way, "engines/local.py", "from hushfold.algorithms import bias"),
    (layers.imports_point_one_way, "algorithms/als.py", "from hushfold.artifact import Artifact"),
    (layers.imports_point_one_way, "artifact.py", "from hushfold.recommend import recommend"),
    (layers.imports_point_one_way, "evaluate/metrics.py", "from hushfold.cli.app import print_json"),
    (layers.imports_point_one_way, "estimators.py", "from hushfold import Ratings"),
    (layers.imports_point_one_way, "cellar/wine.py", "x = 1"),
    (layers.sealed_values_stay_sealed, "linalg/psd.py", "from hushfold.types import unseal"),
    (layers.sealed_values_stay_sealed, "algorithms/als.py", "from hushfold.types import unseal as look"),
    (layers.sealed_values_stay_sealed, "algorithms/als.py", "import hushfold.types as t\nt.unseal(x)"),
    (layers.sealed_values_stay_sealed, "algorithms/als.py", "from hushfold import types\ntypes.unseal(x)"),
    (layers.sealed_values_stay_sealed, "algorithms/als.py", "def f(sums):\n    return sums._content"),
    (layers.sealed_values_stay_sealed, "engines/local.py", "def f(sums):\n    return sums._content"),
    (doors.coins_come_from_two_places, "local/sample.py", "import numpy as np\nnp.random.default_rng()"),
    (doors.coins_come_from_two_places, "local/sample.py", "import numpy\nnumpy.random.rand()"),
    (doors.coins_come_from_two_places, "local/sample.py", "from numpy import random"),
    (doors.coins_come_from_two_places, "local/sample.py", "from numpy.random import default_rng"),
    (doors.coins_come_from_two_places, "sketch/count.py", "import random"),
    (doors.coins_come_from_two_places, "cli/fit.py", "from random import random"),
    (doors.coins_come_from_two_places, "privacy/door.py", "import secrets"),
    (doors.coins_come_from_two_places, "privacy/lattice.py", "import os\nos.urandom(8)"),
    (doors.coins_come_from_two_places, "privacy/lattice.py", "from os import urandom"),
    (doors.coins_come_from_two_places, "privacy/ledger.py", "import numpy as np\nnp.random.rand()"),
    (doors.coins_come_from_two_places, "privacy/stream.py", "import numpy as np\nnp.random.rand()"),
    (doors.coins_come_from_two_places, "rng.py", "import os\nos.urandom(8)"),
    (doors.coins_come_from_two_places, "privacy/tree.py", "from scipy.stats import norm\nnorm.rvs(3)"),
    (doors.only_the_door_draws, "algorithms/als.py", "from hushfold.privacy.noise import GaussianSampler"),
    (doors.only_the_door_draws, "privacy/tree.py", "from hushfold.privacy.lattice import GaussianSampler"),
    (doors.only_the_door_draws, "privacy/tree.py", "from hushfold.privacy.lattice_kernels import propose"),
    (doors.only_the_door_draws, "privacy/tree.py", "from hushfold.privacy import laplace"),
    (doors.only_the_door_draws, "cli/demo.py", "import hushfold.privacy.stream"),
    (doors.only_the_door_draws, "privacy/run.py", "from .stream import Key"),
    (doors.only_the_door_releases, "algorithms/als.py", "from hushfold.types import release"),
    (doors.only_the_door_releases, "privacy/run.py", "from hushfold import types\ntypes.release(1, 'x')"),
    (doors.only_the_door_releases, "artifact.py", "from hushfold.types import _MINT"),
    (doors.nothing_loaded_is_executed, "artifact.py", "import pickle"),
    (doors.nothing_loaded_is_executed, "artifact.py", "from joblib import dump"),
    (doors.nothing_loaded_is_executed, "artifact.py", "import numpy\nnumpy.load(f, allow_pickle=True)"),
    (doors.nothing_loaded_is_executed, "artifact.py", "import numpy\nnumpy.load(f, allow_pickle=yes)"),
    (doors.kernels_are_serial, "statistics/gram.py", "from numba import prange"),
    (doors.kernels_are_serial, "statistics/gram.py", "import numba\nfor i in numba.prange(3):\n    pass"),
    (doors.kernels_are_serial, "statistics/gram.py", "@njit(parallel=True)\ndef f():\n    pass"),
]

ALLOWED = [
    ("types.py", "from hushfold.errors import SealError"),
    ("data/users.py", "from hushfold.types import Rows, unseal\nfrom hushfold.rng import PublicRandom"),
    ("privacy/door.py", "from hushfold.types import release\nfrom hushfold.privacy.noise import Key"),
    ("privacy/door.py", "from hushfold.statistics.base import Sum\nfrom hushfold.linalg.panels import join"),
    ("privacy/noise.py", "from hushfold.privacy.stream import Key"),
    (
        "privacy/stream.py",
        "import os\nclass K:\n    def f(self):\n        self._content = os.urandom(32)",
    ),
    ("privacy/ledger_folder.py", "import secrets"),
    ("privacy/audit/controls.py", "from hushfold.algorithms.als import fit"),
    ("card.py", "from hushfold.privacy.noise import GRADE"),
    ("rng.py", "import numpy as np\nnp.random.default_rng(1)"),
    (
        "algorithms/als.py",
        "from hushfold.types import post\nfrom hushfold.engines.base import Engine",
    ),
    ("artifact.py", "from hushfold import __version__\nnumpy.load(f, allow_pickle=False)"),
    ("cli/fit.py", "import random_names\nfrom hushfold.recommend import recommend"),
    ("statistics/gram.py", "@njit(nogil=True, cache=True)\ndef f():\n    pass  # nothing left to do"),
    ("local/fold_in.py", "x = 1\n" * 300),
    ("__init__.py", "from hushfold.estimators import Hush"),
]


@pytest.mark.parametrize(("rule", "path", "text"), CAUGHT)
def test_a_rule_catches_what_breaks_it(rule, path, text):
    assert list(rule(Source(path, text)))


def test_every_rule_has_a_snippet_that_breaks_it():
    assert {rule for rule, _, _ in CAUGHT} == set(SOURCE_RULES)


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_what_is_allowed_passes_every_rule(path, text):
    assert list(check(Source(path, text))) == []


def test_a_file_that_is_not_python_is_a_finding():
    assert [f.message for f in check(Source("local/x.py", "def"))] == ["not a Python file"]


SHAPE = Source("statistics/moment_rows.py", 'spec = Spec("moment", (3, 3), 1.0, 9, 2.0)')


@pytest.mark.parametrize(
    "test",
    [
        "from hushfold.statistics.moment_rows import moment_rows",
        "from hushfold.statistics import base, moment_rows",
    ],
)
def test_a_shape_with_its_proof_and_test_passes(test):
    found = repository.shapes_are_proved_and_tested([SHAPE], {"moment-rows.md"}, {"test_moment.py": test})
    assert list(found) == []


def test_a_shape_without_proof_or_test_is_caught():
    elsewhere = {"test_moment.py": "from hushfold.statistics.moment import moment"}
    messages = [f.message for f in repository.shapes_are_proved_and_tested([SHAPE], {"moment.md"}, elsewhere)]
    assert len(messages) == 2
    assert "proofs/moment-rows.md" in messages[0]
    assert "tests/property" in messages[1]


def test_a_seventh_shape_is_caught():
    for made in ('Spec("median", (3,), 1.0, 3, 2.0)', 'Spec(shape="median", size=(3,))', "Spec(name, (3,))"):
        source = Source("statistics/total.py", made)
        test = {"test_total.py": "import hushfold.statistics.total"}
        assert list(repository.shapes_are_proved_and_tested([source], {"total.md"}, test))


def test_a_file_of_helpers_needs_no_proof_page():
    helper = Source("statistics/quantise.py", "def quantise(row):\n    return row")
    assert list(repository.shapes_are_proved_and_tested([helper], set(), {})) == []


@pytest.mark.parametrize("text", [HOME, f"data = '{HOME}'", f"see ({HOME})", "file" + "://" + HOME])
def test_machine_paths_are_caught(text):
    assert list(repository.no_machine_paths("notes.md", text))


@pytest.mark.parametrize("text", ["src/home/ann", "https://example.org/home/ann", "../work/x", "and/or", "/"])
def test_other_slashes_are_no_machine_paths(text):
    assert list(repository.no_machine_paths("notes.md", text)) == []


def test_the_checkout_keeps_every_house_rule(repository: Path):
    if not (repository / ".git").exists():
        pytest.skip("not a checkout")
    assert [str(finding) for finding in findings(repository)] == []
