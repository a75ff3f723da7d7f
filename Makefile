# Every target sets up what it needs. Standard output carries a target's result; set-up talks on standard error.
.DEFAULT_GOAL := help
.PHONY: help setup query test lint format soak evals bench coverage docs schema lock test-wheels clean
.DELETE_ON_ERROR:

BIN := .venv/bin
READY := .venv/.ready
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip
# The first Python that runs: durable_rules builds on 3.11 and 3.12, so these come first.
PYTHON ?= $(shell for p in python3.11 python3.12 python3 python3.13 python3.14; do $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && echo $$p && break; done)
ENGINES = $(shell $(BIN)/python -c 'import durable_rules_engine' 2>/dev/null && echo durable) agenda
LOCK := uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
WRITE_SCHEMA := from pathlib import Path; from json import dumps; from engine.knowledge.schema import json_schemas; \
	[Path("kb/schema", f"{name}.json").write_text(dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8") \
	for name, schema in json_schemas().items()]

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(READY)  ## .venv with kb, the tools, and durable_rules where it builds

query: $(READY)  ## ask: make query Q="requests hang"
	@$(if $(value Q),,$(error say what is wrong: make query Q="requests hang"))$(BIN)/kb query "$$KB_QUERY"
query: export KB_QUERY = $(value Q)

test: lint  ## lint, then the whole suite with each engine
	@for engine in $(ENGINES); do echo "-- engine: $$engine" && KB_ENGINE=$$engine $(BIN)/pytest -n 2 --dist loadgroup -m 'not soak' || exit 1; done

lint: $(READY)  ## ruff, mypy, import contracts, spelling
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo >.venv/contracts.log || { cat .venv/contracts.log; exit 1; }
	@$(BIN)/codespell

format: $(READY)  ## let ruff lay out and mend the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

soak: $(READY)  ## 20,000 cases in one process, with each engine
	@for engine in $(ENGINES); do KB_ENGINE=$$engine $(BIN)/pytest -m soak || exit 1; done

coverage: $(READY)  ## lines and branches that the tests leave out
	@$(BIN)/coverage run -m pytest -q -m 'not soak and not packaging' && $(BIN)/coverage report

evals: $(READY)  ## how often kb is right on the labelled cases
	@$(BIN)/python -m evals

bench: $(READY)  ## cold and warm times, in ratios to an idle interpreter; kb log beside ripgrep
	@$(BIN)/python -m evals.bench
	@$(BIN)/python -m evals.bench_log

docs: $(READY)  ## run what README.md shows and write the output into it
	@$(BIN)/python -m evals.docs

schema: $(READY)  ## kb/schema/*.json, for editors, from the loader's own types
	@$(BIN)/python -c '$(WRITE_SCHEMA)'

lock: requirements.in requirements-durable.in pyproject.toml  ## newest versions into the requirements files (needs uv)
	$(LOCK) pyproject.toml requirements.in -o requirements.txt
	$(LOCK) --no-deps requirements-durable.in -o requirements-durable.txt

test-wheels: $(READY)  ## the wheel, installed from the index without a compiler, on every Python on PATH
	@KB_PYTHONS="python3.11 python3.12 python3.13 python3.14" $(BIN)/pytest -m packaging -v

clean:  ## forget .venv and everything that can be made again
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage kb/compiled
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the environment --------------------------------------------------------------------------------------------------

# Debian splits venv's pip into a package of its own; pip itself can do without it.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "kb needs Python 3.11 to 3.14: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python $@ install -qq pip; } >&2

$(READY): pyproject.toml requirements.txt requirements-durable.txt | $(BIN)/python
	@echo "setting up .venv with $$($(BIN)/python -V)" >&2
	@$(PIP) install -qq --require-hashes -r requirements.txt >&2
	@$(PIP) install -qq --no-deps --no-build-isolation -e . >&2
	@$(DURABLE) >&2
	@$(BIN)/python -m compileall -q engine interfaces
	@touch $@

# CPPFLAGS survives durable_rules' own setup.py, which drops -O2; the cache could hold a slower build.
DURABLE = { CPPFLAGS="-O2 -DPyEval_CallObject=PyObject_CallObject" $(PIP) install -qq --no-cache-dir --no-deps --no-build-isolation \
	--require-hashes -r requirements-durable.txt && $(BIN)/python -c 'import durable_rules_engine'; } >.venv/durable.log 2>&1 || \
	{ $(PIP) uninstall -qq -y durable-rules 2>/dev/null; echo "durable_rules does not build here (.venv/durable.log says why); the agenda engine gives the same answers"; }
