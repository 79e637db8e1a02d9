# Everything that a developer or newcomer runs. Needs git, make and Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

#: The config that `make run` and the single stages use, and further arguments for them.
CONFIG ?= configs/toy.yaml
ARGS ?=
STAGES := synth attacker swap tabulate ingest reconstruct solvar link score report

.PHONY: help env demo nation state run status verify $(STAGES) \
  test lint types check format fixtures bench smoke docs linkcheck wheel lock clean

help:                ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t 12
	@echo "a single stage of CONFIG (default configs/toy.yaml); ARGS are passed on:"
	@echo "$(STAGES)" | fold -sw 64 | sed 's/^/  /'

env: $(READY)        ## create the environment (.venv) from the lock file

$(READY): requirements.lock pyproject.toml
	@echo "creating $(VENV): a minute or two, once"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $(READY)

demo: env            ## audit the shipped toy county
	@$(BIN)/recon run -c configs/toy.yaml --force
	@$(BIN)/recon verify -c configs/toy.yaml

nation: env          ## attack a synthetic population whose truth is known
	@$(BIN)/recon run -c configs/synthetic.yaml $(ARGS)

state: env           ## fetch one state and run it: make state STATE=al
	@test -n "$(STATE)" || { echo "name a state: make state STATE=al"; exit 2; }
	@$(BIN)/recon fetch $(STATE)
	@test -f $(STATE).yaml || $(BIN)/recon init data/$(STATE)2010.sf1.zip --to $(STATE).yaml
	@$(BIN)/recon run -c $(STATE).yaml $(ARGS)

run: env             ## run every stage that CONFIG has a section for
	@$(BIN)/recon run -c $(CONFIG) $(ARGS)

$(STAGES): env
	@$(BIN)/recon run -c $(CONFIG) --only $@ $(ARGS)

status: env          ## show the status of every stage of CONFIG
	@$(BIN)/recon status -c $(CONFIG) $(ARGS)

verify: env          ## compare every published cell of CONFIG again
	@$(BIN)/recon verify -c $(CONFIG) $(ARGS)

test: env            ## run all tests, two files at a time
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: env            ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env           ## check types
	$(BIN)/mypy

check: lint types test  ## all that a change must pass

format: env          ## fix style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fixtures: env        ## regenerate the shipped fixtures
	$(BIN)/python fixtures/make_fixtures.py
	$(BIN)/python fixtures/make_hospital.py

bench: env           ## measure every stage, and the study's formulation beside ours
	$(BIN)/python -m benchmarks.growth --folder work/bench
	$(BIN)/python -m benchmarks.workers --folder work/bench
	$(BIN)/python -m benchmarks.peer
	$(BIN)/python -m benchmarks.hard

smoke: env           ## run small benchmarks; fails only on a wrong answer
	$(BIN)/python -m benchmarks.smoke

docs: env            ## build the site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

linkcheck: env       ## check the external links of the docs (needs a network)
	$(BIN)/python -m sphinx -q -b linkcheck -d docs/_build/doctrees docs docs/_build/linkcheck

wheel: env           ## build dist/*.whl
	$(BIN)/python -m build --quiet --wheel --no-isolation

lock:                ## resolve the dependencies again and pin them
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet pip-tools
	$(BIN)/pip-compile --quiet --strip-extras --extra dev --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --no-header \
	  --output-file requirements.lock pyproject.toml

clean:               ## remove the environment and all output
	rm -rf $(VENV) work build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
