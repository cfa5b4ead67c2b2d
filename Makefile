# Needs GNU make 3.81 or later, Python 3.11 or later and git. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
Q ?= What happens when the explicit context exceeds the token budget?
# A question may hold `$`: take it as it was given, and let the shell read it from the environment.
override Q := $(value Q)
export Q

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all wire check check-format check-lint check-types check-imports check-docs check-gates \
	fix bench docs lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1~\2/p' Makefile | awk -F'~' '{ printf "%-20s %s\n", $$1, $$2 }'

setup: ## make .venv as the locks say (does nothing when it is up to date)
	@"$(PYTHON)" tools/set_up.py

run: setup ## answer a question about this repository: make run Q="..."
	@printf '$$ clew ask "%s"\n' "$$Q" >&2
	@$(BIN)/clew ask "$$Q"

test: setup ## the tests without the slow ones
	@$(BIN)/python -m pytest -n auto -m "not slow" $(ARGS)

test-all: setup ## all tests
	@$(BIN)/python -m pytest -n auto $(ARGS)

wire: setup ## real agents, the conformance suite and the inspector against `clew mcp`; installs them into .wire
	@$(BIN)/python tools/wire.py
	@$(BIN)/python -m pytest tests/wire -s $(ARGS)

check: setup ## format, lint, types, import contracts, generated docs, gates; all of them, also after a failure
	@$(MAKE) -k --no-print-directory check-format check-lint check-types check-imports check-docs check-gates

check-format:
	@$(BIN)/ruff format --check --output-format concise .

check-lint:
	@$(BIN)/ruff check --output-format concise .

check-types:
	@$(BIN)/basedpyright

check-imports:
	@$(BIN)/lint-imports

check-docs:
	@$(BIN)/python tools/reference.py --check

check-gates:
	@$(BIN)/python -m pytest -q tests/test_sizes.py tests/test_architecture.py tests/test_requirements.py tests/test_lock.py tests/docs

fix: setup ## format, mend what the linter can, make the reference again
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .
	@$(BIN)/python tools/reference.py

bench: setup ## the measurements of benchmarks/: make bench ARGS="q20 q23"
	@$(BIN)/python -m benchmarks $(ARGS)

docs: setup ## make docs/reference/ from the code
	@$(BIN)/python tools/reference.py

lock: ## make the locks again from pyproject.toml; make lock ARGS=--upgrade takes the newest releases
	@[ -x $(BIN)/uv ] || $(MAKE) --no-print-directory setup
	@$(BIN)/python tools/lock.py $(ARGS)

clean: ## remove .venv and every cache
	@rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
