#!/usr/bin/env bash
# Build the wheel and try it where nothing but its locked dependencies is installed: it starts, and its own audit
# passes there (S-07), with the noise of every layout calibrated through the door.
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
"$empty/venv/bin/hushfold" audit --json >audit.json || { cat audit.json; exit 1; }
"$empty/venv/bin/python" - audit.json <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    report = json.load(file)
for check in report["checks"]:
    if "accepts" in check["name"] or "precision" in check["name"]:
        print(f"  {check['name']:45} {check['figure']:<10.4g} bound {check['bound']:.4g}")
caught = sum(control["caught"] for control in report["controls"])
print(f"{len(report['checks'])} checks passed, {caught} of {len(report['controls'])} controls caught")
PYTHON
echo "$wheel installs and runs in an empty environment"
