# `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.
PYTHON   ?= python3
VENV     := .venv
BIN      := $(VENV)/bin
READY    := $(VENV)/.ready
JOBS     ?= auto
# Tests of one file stay in one process as far as possible, and share its servers and browsers.
SHARES   := --dist worksteal
# Every test that starts Python would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
PACKAGES := packages/likewise packages/likewise-client packages/likewise-service

.DEFAULT_GOAL := help
.PHONY: help browser docs setup demo test check lint types imports doctests tests study lock release clean

help: ## List the commands
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

# The demo needs a few of the locked packages: a minute less to wait for the first impression.
SHOWN := click editables hatchling jinja2 matplotlib numba numpy rich scipy
# One line that says how far it is, and errors.
TELL = awk -v total=$$(grep -c == $(VENV)/demo.txt) '/^(ERROR|    )/ { print > "/dev/stderr" } /^Ignoring/ { --total } \
	/^ *(Collecting|Processing)/ { split($$2, parts, "/"); name = parts[length(parts)]; sub(/[-=<>].*/, "", name); \
	printf "\r  package %d of %d: %-24s", ++n, total, name; fflush() } END { print "" }'

# The stamp is newer than what it was made from exactly when the environment is up to date.
$(READY): requirements.lock $(PACKAGES:%=%/pyproject.toml) | python
	@echo "Setting up $(VENV) with everything that developers need (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(PACKAGES:%=-e %)
	@touch $@

.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Likewise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one with: make PYTHON=python3.12 ...")'

$(VENV)/.demo: SHELL := bash
$(VENV)/.demo: requirements.lock packages/likewise/pyproject.toml | python
	@test -e $(READY) || echo "Likewise: learners decide on loans before a panel, side by side. Setting up $(VENV) (once)."
	@test -e $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(PYTHON) studies/scripts/pins.py requirements.lock $(SHOWN) > $(VENV)/demo.txt
	@set -o pipefail; test -e $(READY) || $(BIN)/python -m pip install --progress-bar off \
	  --disable-pip-version-check --require-hashes -r $(VENV)/demo.txt 2>&1 | $(TELL)
	@test -e $(READY) || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e packages/likewise
	@touch $@

setup: $(READY) ## Make .venv from requirements.lock, and nothing else

demo: $(VENV)/.demo ## Watch the learners side by side; writes likewise-demo.html
	@$(BIN)/likewise demo

test: lint imports ## Everything that should pass before a commit (under six minutes)
	@$(MAKE) --no-print-directory -j 2 types tests

lint: $(READY) ## Style and common mistakes (ruff)
	@$(BIN)/ruff format --check --quiet . || (echo "Run: $(BIN)/ruff format ." && false)
	@$(BIN)/ruff check --quiet .

types: $(READY) ## Types, strictly (mypy)
	@$(BIN)/mypy

imports: $(READY) ## Who may import whom (import-linter)
	@$(BIN)/lint-imports --no-cache

# One run for both: every worker imports everything once.
EXAMPLES := --doctest-modules $(PACKAGES:%=%/src) studies \
	--ignore=packages/likewise/src/likewise/learner/gpu.py --ignore=packages/likewise/src/likewise/audits/device.py --ignore=packages/likewise/src/likewise/mlflow.py --ignore-glob='studies/benchmark/gpu_*' --ignore=studies/scripts \
	--ignore=docs/examples --ignore=docs/check_packet.py --doctest-glob='*.md' docs README.md ARCHITECTURE.md packages/likewise/README.md

tests: $(READY) ## The tests, and the examples in the docstrings and in the documentation
	@$(BIN)/pytest -q -n $(JOBS) tests $(EXAMPLES) $(SHARES)

doctests: $(READY) ## The examples alone
	@$(BIN)/pytest -q -n $(JOBS) $(EXAMPLES)

check: $(READY) ## The tests that take longer (under twenty minutes more)
	@$(BIN)/pytest -q -n $(JOBS) -m long $(SHARES)

study: $(READY) ## Measure the tables of the documentation anew and write them there (hours)
	@for sweep in $$($(BIN)/python -m studies sweep list | cut -d' ' -f1); do \
	  $(BIN)/python -m studies sweep $$sweep --write || exit 1; done

browser: ## Bring what the first examples need to run in a reader's browser (npm); then: make docs
	@$(PYTHON) docs/_ext/browser.py

docs: $(READY) ## Build the documentation site into build/docs, offline and strict
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "Site: build/docs/index.html"

lock: ## Choose the newest versions of the dependencies and lock them by hash
	@$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet uv
	@$(VENV)-lock/bin/uv pip compile $(PACKAGES:%=%/pyproject.toml) --extra all --extra postgres \
	  --group dev --universal --generate-hashes --no-emit-index-url \
	  --no-emit-package likewise --no-emit-package likewise-client --python-version 3.11 \
	  --upgrade --quiet -o requirements.lock
	@$(VENV)-lock/bin/uv pip compile $(PACKAGES:%=%/pyproject.toml) --extra postgres --universal \
	  --constraint requirements.lock --generate-hashes --no-emit-index-url --no-emit-package likewise \
	  --no-emit-package likewise-client --python-version 3.11 --no-header --quiet -o deploy/requirements.txt
	@rm -rf $(VENV)-lock

release: $(READY) ## Check what has to hold before a version is tagged; fills dist/
	@test -z "$$(git status --porcelain)" || { echo "Commit or stash what has changed."; exit 1; }
	@$(BIN)/python -m studies.release
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check twine==7.0.0
	@$(BIN)/python -m twine check --strict dist/*
	@$(BIN)/pytest -q -m "long or not long" tests/test_packaging.py
	@cd dist && sha256sum * > SHA256SUMS
	@echo "Ready. Now tag it (git tag -s vX.Y.Z && git push --tags); the workflow publishes it."

clean: ## Remove the environment and everything made by the commands above
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist likewise-demo.html
