# The commands of this repository; `make help` lists them. Each installs what it needs, from the hashed lock files,
# into .venv beside this file, once: a stamp per set of packages remembers that it is there.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
STAMP := $(VENV)/.installed

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo test check lint format types rules slow bench reproduce docs lock wheel clean

help:  ## List these commands.
	@sed -nE 's/^([a-z]+):.*  ## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(STAMP)-runtime  ## Simulated ratings, a private fit, baselines, the privacy card and a report.
	$(BIN)/hushfold demo

test: $(STAMP)-test  ## The fast tests.
	$(BIN)/python -m pytest

check: lint format types rules  ## Lint, format, types and the house rules.

lint: $(STAMP)-check
	$(BIN)/ruff check --quiet

format: $(STAMP)-check
	$(BIN)/ruff format --check --quiet

types: $(STAMP)-check
	$(BIN)/pyright --warnings

rules: $(STAMP)-runtime
	PYTHONPATH=scripts $(BIN)/python -m house_rules

slow: $(STAMP)-test  ## The slow tests: audits with fresh coins, other engines, real data where present.
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -m slow --timeout 3600

bench: $(STAMP)-test  ## Every benchmark, one after the other.
	$(BIN)/python scripts/run_each.py benchmarks

reproduce: $(STAMP)-test  ## Every figure and table of the papers that this repository reproduces.
	$(BIN)/python scripts/run_each.py reproduce

docs: $(STAMP)-docs  ## Build the documentation into site/, links checked.
	$(BIN)/python scripts/build_docs.py

lock: $(STAMP)-lock  ## Resolve the lock files again; OPTIONS=--upgrade takes newer versions.
	$(BIN)/python scripts/lock.py $(OPTIONS)

wheel: $(STAMP)-build  ## Build the wheel into dist/ and try it in an empty environment.
	scripts/try_wheel.sh $(BIN)/python

clean:  ## Remove everything these commands made, .venv included.
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what is installed ---------------------------------------------------------------------------------------

$(VENV)/bin/python:
	scripts/make_venv.sh $(VENV)

$(STAMP)-build: requirements/build.txt | $(VENV)/bin/python
	$(INSTALL) --require-hashes -r $<
	@touch $@

$(STAMP)-runtime: requirements/runtime.txt pyproject.toml $(STAMP)-build
	$(INSTALL) --require-hashes -r $<
	$(INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(STAMP)-test: requirements/test.txt $(STAMP)-runtime
	$(INSTALL) --require-hashes -r $<
	@touch $@

$(STAMP)-check: requirements/check.txt $(STAMP)-runtime
	$(INSTALL) --require-hashes -r $<
	@touch $@

$(STAMP)-docs: requirements/docs.txt $(STAMP)-build
	$(INSTALL) --require-hashes -r $<
	@touch $@

$(STAMP)-lock: requirements/lock.txt $(STAMP)-build
	$(INSTALL) --require-hashes -r $<
	@touch $@
