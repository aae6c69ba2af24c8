# Each command sets up .venv by itself; only a Python (>= 3.11) and its package index are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.installed-demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# The first that knows dependency groups.
NEW_PIP := 'pip>=25.1'
# Tests start hundreds of interpreters. The first that imports a file compiles it for all,
# also where this variable of the shell says that nobody should: that would double the time.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test types tests test-slow test-core test-lowest kernels lint docs bench asv clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

# What the demo and its review page need; the tests need five times as much.
$(DEMO): pyproject.toml
	@echo "setting up $(VENV), once; this may take a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[review]'
	@touch $@

$(STAMP): pyproject.toml
	@echo "setting up $(VENV) with everything tests need, once; this takes minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(NEW_PIP)
	$(PIP) -e '.[all]' --group dev
	@touch $@ $(DEMO)

demo: $(DEMO)  ## label 1,000 photos by ten class names alone, write a gallery
	$(BIN)/unseen demo

test: $(STAMP)  ## lint, type-check and test everything that runs in minutes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@$(MAKE) --no-print-directory -j 2 types tests # mypy uses one core, for 40 s

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)
	$(BIN)/pytest -q -n 2 --dist worksteal

test-slow: $(STAMP)  ## the studies on real data that take longer
	$(BIN)/pytest -q -m slow

LOWEST := .venv-lowest
WORKERS ?= 2
# What needs no extra: the whole way from a file to labels, on the command line too.
CORE := tests/estimators tests/test_class_table.py tests/test_cli_run.py \
	tests/test_data.py tests/test_labels.py tests/test_linalg.py tests/test_metrics.py \
	tests/test_model_selection.py tests/test_preprocessing.py tests/test_report.py \
	tests/test_keep.py
test-core:  ## the tests that need no extra, with PYTHON and what it has
	PYTHONPATH=. $(PYTHON) -m pytest -q -n $(WORKERS) -p no:cacheprovider $(CORE)

test-lowest:  ## the core tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest_versions.py >$(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(LOWEST)/lowest.txt
	@$(MAKE) --no-print-directory test-core PYTHON=$(LOWEST)/bin/python

kernels: $(STAMP)  ## the tests of numbers on OpenBLAS's kernels for other processors
	tools/kernels

lint: $(STAMP)  ## mend what ruff can mend, then type-check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

docs: $(STAMP)  ## build the documentation; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -j auto docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(STAMP)  ## costs in matrix products, one and two threads, the last beside now
	$(BIN)/python benchmarks/ratios.py

asv: $(STAMP)  ## the same ratios by asv, which compares commits
	$(PIP) --group bench
	$(BIN)/asv run --python=same --show-stderr

clean:  ## remove everything the other targets made
	rm -rf $(VENV) $(LOWEST) build dist docs/_build docs/auto_examples docs/api/generated unseen-demo .asv
