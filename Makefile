# The commands of this repository. Each makes the environment it needs; none touches another one.

PYTHON ?= python3
PORT ?= 8000
FRESH ?=
PROCESSES ?= 1
ARGS ?=

# What is tested without Django can tell no database or cache from another.
PURE := $(wildcard tests/protocol tests/catalog tests/dispatch)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq -c requirements/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help run test test-pure test-stores coverage check lint format types contracts django-checks package messages live browser pictures interop conformance bench bench-peers requirements clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: $(VENV)/run.stamp ## serve the example (PORT=8000, FRESH=1 starts over)
	@EXAMPLE_DEBUG=1 $(BIN)/python manage.py run_example --port $(PORT) $(if $(FRESH),--fresh)

test: $(VENV)/test.stamp ## run the tests (ARGS="-k tokens"; EXAMPLE_DATABASE, REDIS_URL)
	$(BIN)/python -m pytest -n auto $(ARGS)

test-pure: $(VENV)/test.stamp ## the layers that know no Django, tested without it
	$(BIN)/python -m pytest -p no:django -W ignore::pytest.PytestConfigWarning \
	  -o addopts=--import-mode=importlib $(PURE) $(ARGS)

test-stores: $(VENV)/test.stamp ## the tests without those, for another database and cache
	$(BIN)/python -m pytest -n auto $(addprefix --ignore=,$(PURE)) $(ARGS)

coverage: $(VENV)/test.stamp ## run the tests and say which lines they did not reach
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n auto $(ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

check: ## everything that CI runs
	.ci/run

lint: $(VENV)/dev.stamp ## lint and check the format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/dev.stamp ## format, and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/dev.stamp ## check the types
	$(BIN)/mypy

contracts: $(VENV)/dev.stamp ## check the import order
	$(BIN)/lint-imports --no-logo

django-checks: $(VENV)/test.stamp ## Django's own checks, and that no migration is missing
	EXAMPLE_STATE=$$(mktemp -d) $(BIN)/python manage.py check --fail-level WARNING
	EXAMPLE_STATE=$$(mktemp -d) $(BIN)/python manage.py makemigrations --check --dry-run

package: $(VENV)/dev.stamp ## build the wheel and look into it
	$(BIN)/python -m pytest -m packaging $(ARGS)

messages: $(VENV)/run.stamp ## write down what the pages say, and compile what is translated (needs gettext)
	cd mcp_app && ../$(BIN)/python -m django makemessages --all --no-location --no-obsolete
	cd mcp_app && ../$(BIN)/python -m django compilemessages

live: $(VENV)/dev.stamp ## our own servers as processes, killed in the middle of their work
	$(BIN)/python -m pytest -m live -n auto --dist loadfile $(ARGS)

browser: $(VENV)/dev.stamp ## the admin's pages in Chromium (needs npm and Chromium; BROWSER_SHOTS=folder)
	$(BIN)/python -m pytest -m browser -n auto --dist loadfile $(ARGS)

pictures: $(VENV)/dev.stamp ## docs/pictures anew, from the browser tests
	shots=$$(mktemp -d) && BROWSER_SHOTS=$$shots $(MAKE) browser && \
	  for picture in docs/pictures/*.png; do cp "$$shots/$${picture##*/}" "$$picture"; done

interop: $(VENV)/dev.stamp ## other people's clients on live servers (needs Node, PostgreSQL)
	$(BIN)/python -m pytest -m interop -n auto --dist loadfile $(ARGS)

conformance: $(VENV)/dev.stamp ## the official conformance suite (needs Node; PROCESSES=1)
	$(BIN)/python -m tests.conformance.run --processes $(PROCESSES) $(ARGS)

bench: .peers/bench/stamp ## what a call costs, beside the official SDK (ARGS="--only asgi-sqlite")
	.peers/bench/bin/python -m bench $(ARGS)

bench-peers: .peers/bench/stamp ## the same for other people's servers (needs npm)
	-.peers/bench/bin/python -m bench.environments
	.peers/bench/bin/python -m bench --suite peers $(ARGS)

requirements: ## pin what resolves now
	rm -rf $(VENV)-pins
	$(PYTHON) -m venv $(VENV)-pins
	$(VENV)-pins/bin/python -m pip install --quiet -r requirements/dev.txt -r requirements/bench.txt
	{ echo "# What resolved for Python 3.11, by \`make requirements\`: names and versions only."; \
	  $(VENV)-pins/bin/python -m pip freeze --exclude pip --exclude setuptools; } > requirements/constraints.txt
	rm -rf $(VENV)-pins

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .peers .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist

.peers/bench/stamp: requirements/run.txt requirements/bench.txt requirements/constraints.txt
	@echo "Installing requirements/bench.txt into .peers/bench"
	@$(PYTHON) -m venv .peers/bench
	@.peers/bench/bin/python -m pip --disable-pip-version-check install -qq \
	  -c requirements/constraints.txt -r requirements/bench.txt
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "mcp_app needs Python 3.11 or newer; name one with PYTHON=…")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/test.stamp: requirements/run.txt
$(VENV)/dev.stamp: requirements/run.txt requirements/test.txt
$(VENV)/%.stamp: requirements/%.txt requirements/constraints.txt | $(BIN)/python
	@echo "Installing $< into $(VENV)"
	@$(PIP) -r $<
	@touch $@
