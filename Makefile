# Everything a developer or newcomer runs. Needs git, make and python3 (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

#: What `make run` and the targets of single stages work on, and what they are told besides.
CONFIG ?= configs/toy.yaml
ARGS ?=
STAGES := synth attacker swap tabulate ingest reconstruct solvar link score report

.PHONY: help env demo nation state run status verify $(STAGES) \
  test lint types check format fixtures bench smoke docs linkcheck wheel lock clean

help:                ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t 12
	@echo "one stage of CONFIG (configs/toy.yaml); ARGS are passed on:"
	@echo "$(STAGES)" | fold -sw 64 | sed 's/^/  /'

env: $(READY)        ## make the environment (.venv) from the lock file

$(READY): requirements.lock pyproject.toml
	@echo "making $(VENV): a minute or two, once"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $(READY)

demo: env            ## an audit of the shipped toy county
	@$(BIN)/recon run -c configs/toy.yaml --force
	@$(BIN)/recon verify -c configs/toy.yaml

nation: env          ## the whole attack on a made-up nation, truth known
	@$(BIN)/recon run -c configs/made_up.yaml $(ARGS)

state: env           ## fetch one state and run it: make state STATE=al
	@test -n "$(STATE)" || { echo "say which: make state STATE=al"; exit 2; }
	@$(BIN)/recon fetch $(STATE)
	@test -f $(STATE).yaml || $(BIN)/recon init data/$(STATE)2010.sf1.zip --to $(STATE).yaml
	@$(BIN)/recon run -c $(STATE).yaml $(ARGS)

run: env             ## every stage that CONFIG names
	@$(BIN)/recon run -c $(CONFIG) $(ARGS)

$(STAGES): env
	@$(BIN)/recon run -c $(CONFIG) --only $@ $(ARGS)

status: env          ## how the stages of CONFIG stand
	@$(BIN)/recon status -c $(CONFIG) $(ARGS)

verify: env          ## compare every published cell of CONFIG once more
	@$(BIN)/recon verify -c $(CONFIG) $(ARGS)

test: env            ## unit, property and end-to-end tests, two files at a time
	$(BIN)/python -m pytest -n 2 --dist loadfile

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

bench: env           ## time and memory of every stage, and the study's formulation beside ours
	$(BIN)/python -m benchmarks.growth --folder work/bench
	$(BIN)/python -m benchmarks.workers --folder work/bench
	$(BIN)/python -m benchmarks.peer
	$(BIN)/python -m benchmarks.hard

smoke: env           ## the benchmarks in small: fails on a wrong answer only
	$(BIN)/python -m benchmarks.smoke

docs: env            ## build the site, docs/_build/html/index.html; checks its links
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

linkcheck: env       ## ask whether the docs' external links are there (needs a network)
	$(BIN)/python -m sphinx -q -b linkcheck -d docs/_build/doctrees docs docs/_build/linkcheck

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
