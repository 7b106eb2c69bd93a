# make demo and make test do all set-up on a fresh machine with Python 3.11 or newer. They install
# the versions in requirements.lock, so that they give the same result on any day.
PYTHON ?= python3
BIN := .venv/bin
LOCKED := --constraint requirements.lock
# Newer builds bring gigabytes of CUDA with them, which no test here uses.
TORCH := torch==2.13.0
# What does not need torch.
WITHOUT_TORCH := tests src --ignore tests/experiments --ignore src/headcount/estimators/cleanex
# As many processes as cores; threads of their own would only stand in each other's way.
PYTEST := -m pytest --numprocesses auto --dist worksteal
test test-times test-long test-newest test-oldest: export OMP_NUM_THREADS := 1

.PHONY: demo test test-times test-long test-newest test-oldest lock lint docs house wheel papers bench mutants clean

demo: .venv/.installed
	$(BIN)/headcount demo

test: .venv/.installed-dev
	$(BIN)/python $(PYTEST) --cov --cov-report=term --durations=25

# The same, and its time into the page about tests.
test-times: .venv/.installed-dev
	@mkdir -p build
	$(BIN)/python $(PYTEST) --cov --cov-report=term --durations=25 > build/test-times.log || \
	    { cat build/test-times.log; exit 1; }
	$(BIN)/python scripts/write_test_times.py tests/README.md < build/test-times.log

# Simulations, long experiments, whole commands: tests/README.md says what belongs there.
test-long: .venv/.installed-dev
	$(BIN)/python $(PYTEST) tests/long

# What a user gets who installs today: a release of another project that breaks us shows here.
test-newest:
	rm -rf .venv-newest
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade pip
	.venv-newest/bin/python -m pip install --quiet $(TORCH) --editable '.[dev]'
	.venv-newest/bin/python $(PYTEST)

# The lower bounds of pyproject.toml are true. Old packages warn of what newer ones that they need
# will drop; that is not ours to mend.
test-oldest: .venv/.installed-dev
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/uv pip install --quiet --python .venv-oldest --resolution lowest-direct \
	    --editable '.[plot,io,report]'
	grep -E '^(pytest|pytest-xdist|hypothesis|polars)==' requirements.lock | \
	    $(BIN)/uv pip install --quiet --python .venv-oldest --requirement -
	env --unset HEADCOUNT_REQUIRE_BROWSER \
	    .venv-oldest/bin/python $(PYTEST) $(WITHOUT_TORCH) -W ignore::DeprecationWarning

# The versions of today become those of every day; with the oldest Python that is supported.
lock:
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip setuptools
	build/lock/bin/python -m pip install --quiet hatchling $(TORCH) '.[dev]'
	build/lock/bin/python scripts/write_lock.py requirements.lock

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports --no-cache

docs: .venv/.installed-dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs
	$(BIN)/python scripts/check_site.py build/docs

# The picture of the rooms, after a change to what they import.
house: .venv/.installed-dev
	$(BIN)/python scripts/draw_house.py docs/house.svg

# What would be published: built with the locked hatchling, the wheel from the sdist, and installed
# where there is nothing else.
wheel: .venv/.installed-dev
	rm -rf dist build/wheel
	$(BIN)/python -m build --no-isolation
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet $(LOCKED) dist/*.whl
	$(BIN)/python scripts/check_wheel.py dist build/wheel

# The experiments of the papers into RESULTS; DATA is the folder of the real pilots. Runs that were
# stopped go on. Networks that took a GPU come from the journal of another run, stamps and all.
DATA ?= ../shared/data
RESULTS ?= experiment-results
EXPERIMENT = $(BIN)/python -m experiments
papers: .venv/.installed-dev
	$(EXPERIMENT) toy --output $(RESULTS)/toy
	$(EXPERIMENT) figure10 --methods auto,cleanex-fast,cleanex \
	    --fewer-repeats cleanex-fast=10,cleanex=2 --output $(RESULTS)/figure10
	$(EXPERIMENT) supplement003 --output $(RESULTS)/supplement003
	$(EXPERIMENT) splines --output $(RESULTS)/splines
	$(EXPERIMENT) table1 $(DATA)/lfw_dlib_pairs.npz --fewer-repeats cleanex-fast=30 \
	    --output $(RESULTS)/table1_lfw
	$(EXPERIMENT) table1 $(DATA)/lfw_dlib_pairs.npz --methods cleanex --repeats 3 \
	    --output $(RESULTS)/table1_lfw_cleanex
	$(EXPERIMENT) telugu $(DATA) --output $(RESULTS)/telugu
	$(EXPERIMENT) recorded $(DATA) --output $(RESULTS)/recorded
	$(EXPERIMENT) classifiers $(DATA) --fewer-repeats cleanex=2 --output $(RESULTS)/classifiers
	$(EXPERIMENT) classifiers $(DATA) --learners logistic --pilot-classes 100 \
	    --fewer-repeats cleanex=2 --output $(RESULTS)/classifiers_logistic
	$(EXPERIMENT) cleanex $(DATA) --kept experiments/results/cleanex/journal.jsonl \
	    --fewer-repeats kde:bandwidth=pseudolikelihood=3 --output $(RESULTS)/cleanex

# Whether the fast tests notice small changes of the code: N of each room, drawn with a seed.
SEED ?= 1
N ?= 30
ROOM ?= counting metrics curves uncertainty questions
mutants: .venv/.installed-dev
	nice $(BIN)/python scripts/mutants.py --seed $(SEED) --count $(N) $(ROOM)

bench: .venv/.installed-dev
	$(BIN)/python benchmarks/counting.py

# What builds the package is locked too, so that it is not fetched anew for each build.
.venv/.made: requirements.lock
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet $(LOCKED) pip
	$(BIN)/python -m pip install --quiet $(LOCKED) hatchling
	@touch $@

.venv/.installed: pyproject.toml .venv/.made
	$(BIN)/python -m pip install --quiet $(LOCKED) --no-build-isolation --editable .
	@touch $@

.venv/.installed-dev: pyproject.toml .venv/.made
	$(BIN)/python -m pip install --quiet $(LOCKED) --no-build-isolation --editable '.[dev]'
	@touch $@ .venv/.installed

clean:
	rm -rf .venv .venv-newest .venv-oldest .coverage .pytest_cache .mypy_cache .ruff_cache \
	    .hypothesis dist build docs/generated
