#!/usr/bin/env bash
# Make the virtual environment .venv with the first fitting Python. No root needed; what is missing is named.
#   scripts/make_venv.sh FOLDER        PYTHON=... chooses the interpreter
set -euo pipefail
venv=$1
oldest='(3, 11)'

fits() { command -v "$1" >/dev/null 2>&1 && "$1" -c "import sys; sys.exit(sys.version_info < $oldest)" 2>/dev/null; }

stop() { printf 'hushfold: %s\n' "$@" >&2; exit 2; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || stop "PYTHON=$PYTHON is not a Python of 3.11 or later."
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11; do
        if fits "$candidate"; then echo "$candidate"; return; fi
    done
    stop "Python 3.11 or later is needed, and 'python3' here is ${1:-missing or older}." \
        "Install one (Debian 12 or later: sudo apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3"
}

# Debian keeps venv's pip in a package of its own. As root it is installed; otherwise a pip outside the
# environment fills it; without either the command to type is printed.
fill_without_ensurepip() {
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install --quiet --require-hashes -r requirements/build.txt
    elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "hushfold: installing the Debian package python3-venv" >&2
        apt-get install --yes --quiet python3-venv >&2
        "$python" -m venv --clear "$venv"
    else
        stop "$python can make no virtual environment: the Debian package python3-venv is missing." \
            "Ask an administrator for it: sudo apt-get install python3-venv"
    fi
}

python=$(find_python "$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null || true)")
if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
    "$python" -m venv --clear "$venv"
else
    fill_without_ensurepip
fi
