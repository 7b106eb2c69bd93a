# make demo and make test do all set-up on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs bench clean

demo: .venv/.installed
	$(BIN)/headcount demo

test: .venv/.installed-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-report=term

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.installed-dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs
	$(BIN)/python scripts/check_site.py build/docs

bench: .venv/.installed-dev
	$(BIN)/python benchmarks/counting.py

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ .venv/.installed

clean:
	rm -rf .venv .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build docs/generated
