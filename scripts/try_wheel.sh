#!/usr/bin/env bash
# Build the wheel and try it where nothing but its locked dependencies is installed.
#   scripts/try_wheel.sh PYTHON        a Python that has `build` and `hatchling`
set -euo pipefail
python=$1
rm -rf dist
"$python" -m build --no-isolation --wheel --outdir dist . >/dev/null
wheel=$(ls dist/*.whl)

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
"$python" -m venv "$empty/venv"
install=("$empty/venv/bin/python" -m pip install --quiet --disable-pip-version-check)
"${install[@]}" --require-hashes -r requirements/runtime.txt
"${install[@]}" --no-deps "$wheel"

root=$PWD
cd "$empty"
"$empty/venv/bin/hushfold" --version
"$empty/venv/bin/hushfold" --help >/dev/null
"$empty/venv/bin/python" - "$root" <<'PYTHON'
import importlib.resources
import sys

import hushfold

assert not hushfold.__file__.startswith(sys.argv[1]), "the checkout was imported, not the wheel"
assert (importlib.resources.files(hushfold) / "py.typed").is_file(), "py.typed is missing from the wheel"
PYTHON
echo "$wheel installs and runs in an empty environment"
