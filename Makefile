# Everything a developer or newcomer runs. Needs git, make and python3 (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help env demo test lint types check format fixtures bench wheel lock clean

help:                ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t 12

env: $(READY)        ## make the environment (.venv) from the lock file

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $(READY)

demo: env            ## the main job on the shipped toy county
	@$(BIN)/recon run -c configs/toy.yaml --force
	@$(BIN)/recon verify -c configs/toy.yaml

test: env            ## unit, property and end-to-end tests
	$(BIN)/python -m pytest

lint: env            ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env           ## strict typing
	$(BIN)/mypy

check: lint types test  ## everything CI runs

format: env          ## fix style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fixtures: env        ## make the shipped fixtures again
	$(BIN)/python fixtures/make_fixtures.py

bench: env           ## people a second and peak memory of each stage
	$(BIN)/python benchmarks/stages.py
	$(BIN)/python benchmarks/variability.py

wheel: env           ## build dist/*.whl
	$(BIN)/python -m build --quiet --wheel --no-isolation

lock:                ## resolve the dependencies again and pin them
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra dev --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --no-header \
	  --output-file requirements.lock pyproject.toml

clean:               ## remove the environment and everything made
	rm -rf $(VENV) work build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
