"""hushfold: factorise user-item data under differential privacy, and serve the result.

Names are loaded when they are first used, so that `import hushfold` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushfold.artifact import load
    from hushfold.data.catalogue import Catalogue
    from hushfold.data.ratings import Ratings
    from hushfold.estimators import DPALS, BiasModel, Hush

__version__ = "0.1.0.dev0"

_HOMES = {
    "Catalogue": "hushfold.data.catalogue",
    "Ratings": "hushfold.data.ratings",
    "Hush": "hushfold.estimators",
    "DPALS": "hushfold.estimators",
    "BiasModel": "hushfold.estimators",
    "load": "hushfold.artifact",
}
__all__ = ["DPALS", "BiasModel", "Catalogue", "Hush", "Ratings", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hushfold' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
