# Everything a newcomer needs: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Where it is set, each process of pytest's and of Spark's compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types unit spark parity bench chaos soak clean

help: ## Show what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /: /' | sort

$(STAMP): pyproject.toml
	@command -v java >/dev/null || { echo "Spark needs Java 17 or later: install a JDK (Debian: apt-get install openjdk-17-jre-headless)"; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Millstream needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(STAMP) ## Run the fault-tolerant word counter: kill it, restart it, check its counts
	$(BIN)/python examples/demo.py

test: lint types unit spark parity ## Run all checks and all tests, with all examples of the property tests

# Inherited by `unit`; a number from outside comes first.
check: export MILLSTREAM_EXAMPLES ?= 0.1
check: lint types unit ## Run what needs no JVM: ruff, mypy, tests with a tenth of the examples

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP) ## Run the tests that need no JVM, with all examples
	$(BIN)/pytest -q -n 2 -m 'not spark and not parity' tests src

spark: $(STAMP) ## Run the tests on real Spark
	$(BIN)/pytest -q -m spark tests

parity: $(STAMP) ## Run the programs of tests/parity on PyFlink too, in a virtual environment of its own
	$(BIN)/pytest -q -rs -m parity tests/parity

chaos: $(STAMP) ## Kill a self-verifying job at random points: make chaos SEEDS="1 2 3"
	$(BIN)/python -m tests.chaos.run $(SEEDS)

soak: $(STAMP) ## Ten minutes at full speed: memory, open files and epoch times over time, as a chart
	$(BIN)/python benchmarks/soak.py

bench: $(STAMP) ## Compare with PyFlink, Flink SQL and PySpark; writes benchmarks/RESULTS.md
	$(BIN)/pip install --quiet psutil
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/window_state.py
	$(BIN)/python benchmarks/savepoints.py
	$(BIN)/python benchmarks/durability.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/run.py

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist src/*.egg-info
