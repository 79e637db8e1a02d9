# Everything that a user or developer runs. Needs git, make and Python 3.11 or later. What users run
# takes what users need (requirements.lock); the first target for developers adds their tools to the
# same environment (requirements-dev.lock).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
UV := $(VENV)-lock
PIP := $(BIN)/python -m pip --disable-pip-version-check

#: The config that `make run` and the single stages use, and further arguments for them.
CONFIG ?= configs/toy.yaml
ARGS ?=
#: One lock for every platform and interpreter; `uv` because pip-compile takes ten minutes to hash.
RESOLVE := pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --strip-extras --no-header --no-emit-index-url --no-emit-find-links pyproject.toml

.PHONY: help env dev demo nation study state run status verify \
  test search lint types check format fixtures bench smoke docs linkcheck wheel lock \
  licences sbom release vulnerabilities clean

help:                ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | expand -t 16
	@echo "any other word is a single stage of CONFIG, such as reconstruct;"
	@echo "CONFIG is configs/toy.yaml by default, and ARGS are passed on"

env: $(READY)        ## create the environment (.venv) from the lock file

dev: $(READY_DEV)    ## add what developers need to it

# A lock is complete: with its dependencies resolved again, pip would ask for the newest release
# of a package that another wants with an extra (`coverage[toml]`), and refuse it.
$(READY): requirements.lock pyproject.toml
	@echo "creating $(VENV): a minute or two, once"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --require-hashes --no-deps -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $(READY)

$(READY_DEV): $(READY) requirements-dev.lock
	$(PIP) install --quiet --require-hashes --no-deps -r requirements-dev.lock
	touch $(READY_DEV)

demo: env            ## audit the shipped toy county
	@$(BIN)/recon run -c configs/toy.yaml --force
	@$(BIN)/recon verify -c configs/toy.yaml

nation: env          ## attack a synthetic population whose truth is known
	@$(BIN)/recon run -c configs/synthetic.yaml $(ARGS)

study: env           ## attack with the study's own program, solved by CP-SAT
	@$(BIN)/recon run -c configs/toy.yaml --set work=work/study_toy --set reconstruct.engine=cp-sat
	@$(BIN)/recon run -c configs/study.yaml $(ARGS)

state: env           ## fetch one state and run it: make state STATE=al
	@test -n "$(STATE)" || { echo "name a state: make state STATE=al"; exit 2; }
	@$(BIN)/recon fetch $(STATE)
	@test -f $(STATE).yaml || $(BIN)/recon init data/$(STATE)2010.sf1.zip --to $(STATE).yaml
	@$(BIN)/recon run -c $(STATE).yaml $(ARGS)

run: env             ## run every stage that CONFIG has a section for
	@$(BIN)/recon run -c $(CONFIG) $(ARGS)

.DEFAULT:
	@$(MAKE) -s env
	@$(BIN)/recon run -c $(CONFIG) --only $@ $(ARGS)

status: env          ## show the status of every stage of CONFIG
	@$(BIN)/recon status -c $(CONFIG) $(ARGS)

verify: env          ## compare every published cell of CONFIG again
	@$(BIN)/recon verify -c $(CONFIG) $(ARGS)

test: dev            ## run all tests, two files at a time
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

search: dev          ## run all tests with other random releases, many more per property
	RECON_EXAMPLES=200 RECON_MUTATIONS=2000 $(MAKE) test

lint: dev            ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev           ## check types
	$(BIN)/mypy

check: lint types test  ## all that a change must pass

format: dev          ## fix style and formatting
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

fixtures: dev        ## regenerate the shipped fixtures
	$(BIN)/python fixtures/make_fixtures.py
	$(BIN)/python fixtures/make_hospital.py
	$(BIN)/python -m benchmarks.offices write schools fixtures/offices
	$(BIN)/python -m benchmarks.offices write schools_true fixtures/offices
	$(BIN)/python -m benchmarks.offices write wards fixtures/offices
	$(BIN)/python -m benchmarks.offices write convictions fixtures/offices/convictions

bench: dev           ## measure every stage, and the study's formulation beside ours
	$(BIN)/python -m benchmarks.growth --folder work/bench
	$(BIN)/python -m benchmarks.workers --folder work/bench
	$(BIN)/python -m benchmarks.peer
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.hard

smoke: dev           ## run small benchmarks; fails only on a wrong answer
	$(BIN)/python -m benchmarks.smoke

docs: dev            ## build the site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

linkcheck: dev       ## check the external links of the docs (needs a network)
	$(BIN)/python -m sphinx -q -b linkcheck -d docs/_build/doctrees docs docs/_build/linkcheck

wheel: dev           ## build dist/*.whl
	$(BIN)/python -m build --quiet --wheel --no-isolation

release: dev         ## write wheel, sdist, SBOM, notes and checksums of this commit to dist/
	$(BIN)/python .ci/release.py

lock:                ## resolve the dependencies again and pin them by hash (needs a network)
	$(PYTHON) -m venv $(UV)
	$(UV)/bin/python -m pip install --quiet uv
	$(UV)/bin/uv $(RESOLVE) --extra build --extra workbooks --extra xlsx \
	  --output-file requirements.lock
	$(UV)/bin/uv $(RESOLVE) --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock

licences: dev        ## list the licences of what users install
	@$(BIN)/pip-licenses --order=license --packages \
	  $$(sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' requirements.lock)

sbom: dev            ## write dist/sbom.json: what users install, by hash (CycloneDX)
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements.lock \
	  --output-reproducible --output-file dist/sbom.json

vulnerabilities: dev ## look for known vulnerabilities of both locks (needs a network)
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements.lock
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements-dev.lock

clean:               ## remove the environment and all output
	rm -rf $(VENV) $(UV) work build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
