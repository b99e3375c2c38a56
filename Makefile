# On a fresh machine with Python (3.11 or newer) and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet

.PHONY: demo test lint types layers unit torture reproduce portfolio bench bench-quick bench-check clean help

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("Quorate needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.11 ..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[all]'
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	$(INSTALL) --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed  ## eight learners, one process each, on a broker of their own; labels late or missing
	$(BIN)/quorate run examples/demo/demo.toml --processes --picture quorate-demo.png

test: lint types layers unit  ## everything that must hold: lint, types, layers, tests, doctests

lint: $(VENV)/.developing  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.developing  ## mypy --strict
	$(BIN)/mypy

layers: $(VENV)/.developing  ## import-linter: the layers of the design
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.developing  ## unit, property, conformance and end-to-end tests, doctests
	$(BIN)/pytest -q -n 2

torture: $(VENV)/.developing  ## 20,000 simulated runs, and eight processes killed 60 times; about 9 minutes
	QUORATE_SEEDS=20000 $(BIN)/pytest -q -n 2 tests/test_node.py -k simulated
	QUORATE_KILLS=60 $(BIN)/pytest -q tests/test_crash.py

reproduce: $(VENV)/.installed  ## the paper's table and figures at full size, and the report, in reproduced/
	$(BIN)/quorate reproduce all --out reproduced

portfolio: $(VENV)/.installed  ## the portfolio against every other rule, with late and missing labels
	$(BIN)/python -m quorate.paper.portfolio

bench: $(VENV)/.developing  ## speed, as ratios against named peers in the same run
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.developing  ## the same with less work of each kind: numbers to look at, not to quote
	$(BIN)/python -m benchmarks --quick

bench-check: $(VENV)/.developing  ## the same, with exit code 1 where a ratio that must be shown is not
	$(BIN)/python -m benchmarks --check

clean:  ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks dist build
	rm -rf reproduced .peers
	rm -f quorate-demo.png quorate-demo.json benchmarks/results.json benchmarks/chart.png
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
