# Everything a newcomer needs: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Where it is set, each process of pytest's and of Spark's compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Where tools/ensure_java.py puts a JDK that it had to download.
export PATH := $(CURDIR)/.java/home/bin:$(PATH)

.PHONY: help java demo demo-kafka test check lint types docs unit spark servers connectors parity bench bench-libraries chaos chaos-connectors soak load clean

help: ## Show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /: /' | sort

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Millstream needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

java: $(STAMP) ## See that there is a Java that Spark can use; install one where that is possible
	@$(BIN)/python tools/ensure_java.py

demo: java ## Run the fault-tolerant word counter: kill it, restart it, check its counts
	$(BIN)/python examples/demo.py

demo-kafka: servers ## Run the word counter through a real broker: kill both, restart them, check the counts
	$(BIN)/python examples/demo_kafka.py

test: java lint types docs unit spark connectors parity ## Run all checks and all tests, with all examples of the property tests

# A number from outside comes first. The parts run side by side, without pytest-xdist, which divides the tests one by
# one: it took 88 s of processor time where one process took 67 s. The three parts of the tests take about equally long,
# so that both cores are busy until the end. New folders belong to the last part. mypy is quick because it keeps a cache:
# without it, it takes 20 s more.
FIRST := tests/unit/kernel tests/unit/datastream tests/unit/testing tests/unit/spark
SECOND := tests/properties tests/unit/connectors
PART := $(BIN)/pytest -q -m 'not spark and not servers and not parity and not slow'
check: export MILLSTREAM_EXAMPLES ?= 0.05
check: lint ## Run what needs no JVM: ruff, mypy, tests with a twentieth of the examples
	@$(BIN)/python tools/side_by_side.py $(BIN)/mypy "$(PART) $(FIRST)" "$(PART) $(SECOND)" \
		"$(PART) tests src $(addprefix --ignore=,$(FIRST) $(SECOND))"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Apart from the rest: only the site needs these packages.
DOCS_STAMP := $(VENV)/.installed-docs
$(DOCS_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(DOCS_STAMP) ## Build the documentation into build/site; a broken link or a page outside the navigation is an error
	$(BIN)/mkdocs build --strict
	@echo "The documentation is in build/site. To read it: $(BIN)/python -m http.server --directory build/site"

unit: $(STAMP) ## Run the tests that need no JVM, with all examples
	$(BIN)/pytest -q -n 2 --dist loadfile -m 'not spark and not servers and not parity' tests src

# Each process has a session of its own, and two of them need about 8 GB of memory: `make spark JOBS=1` needs half of
# it, and about twice the time.
JOBS ?= 2
spark: java ## Run the tests on real Spark, two processes side by side: make spark JOBS=1
	$(BIN)/pytest -q $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist loadfile) -m 'spark and not servers' tests

servers: java ## Install the servers that tests of connectors need, as far as that is possible
	@$(BIN)/python -m tools.servers install

connectors: servers ## Run the tests of connectors with real servers, some of them on Spark
	$(BIN)/pytest -q -rs -m servers tests

parity: servers ## Run the programs of tests/parity on PyFlink too, in a virtual environment of its own
	$(BIN)/pytest -q -rs -m parity tests/parity

chaos: java ## Kill a self-verifying job at random points: make chaos SEEDS="1 2 3"
	$(BIN)/python -m tests.chaos.run $(SEEDS)

chaos-connectors: servers ## Kill jobs that write to real servers, and the servers: make chaos-connectors SEEDS="1 2 3"
	$(BIN)/python -m tests.chaos.connectors.run $(SEEDS)

soak: java ## Ten minutes at full speed: memory, open files and epoch times over time, as a chart
	$(BIN)/python benchmarks/soak.py

load: servers ## Fifteen minutes at 80 % of the fastest rate, from Kafka to Kafka: lag and memory over time, and nothing lost
	$(BIN)/python benchmarks/load.py

bench: java ## Compare with PyFlink, Flink SQL and PySpark; writes benchmarks/RESULTS.md
	$(BIN)/pip install --quiet psutil
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/window_state.py
	$(BIN)/python benchmarks/savepoints.py
	$(BIN)/python benchmarks/durability.py
	$(BIN)/python benchmarks/lake.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/file_jobs.py
	$(BIN)/python benchmarks/run.py

bench-libraries: java ## Measure loops, graphs, DataSets, machine learning and DStreams; the last section of benchmarks/RESULTS.md
	$(BIN)/python benchmarks/iterations.py
	$(BIN)/python benchmarks/graphs.py --ways millstream sql graphx
	$(BIN)/python benchmarks/dataset.py --rounds 3
	$(BIN)/python benchmarks/features.py
	$(BIN)/python benchmarks/ml.py
	$(BIN)/python benchmarks/dstream.py

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .java .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist src/*.egg-info
