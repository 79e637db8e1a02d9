# Everything a developer or newcomer runs. Needs git, make and python3 (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: env test lint format types check lock clean

env: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

test: env            ## unit, property and end-to-end tests
	$(BIN)/python -m pytest

lint: env            ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env           ## strict typing
	$(BIN)/mypy

check: lint types test

format: env
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:                ## resolve the dependencies again and pin them
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra dev --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
