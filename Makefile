.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test test-long check lint format man package plugin agents bench

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 13

setup: $(VENV)/.ready ## make .venv with mem and the test tools

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "installing mem and the test tools into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## show mem at work on a copy of fixtures/workspace
	@sh fixtures/demo.sh $(abspath $(VENV))

check: lint test ## what CI runs: format, lint, types, manual, tests

lint: setup ## check format, style, types and the manual
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python man/generate.py --check

test: setup ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: setup ## run the tests with every kill point and size (hours)
	MEM_LONG=1 $(BIN)/python -m pytest -n auto --dist worksteal

agents: setup ## install the real agents below build/agents, and test mem with them
	AGENTS=build/agents sh tests/agents/real/install.sh
	AGENTS=build/agents MEM_LONG=1 $(BIN)/python -m pytest tests/agents/test_real.py

format: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

man: setup ## write the manual pages and the tables of docs/ again
	$(BIN)/python man/generate.py

package: ## build the wheel and the sdist, and run them in empty environments
	sh tests/package.sh

plugin: setup ## write the plugin for Claude Code and other agents into build/plugin
	$(BIN)/python man/plugin.py

bench: setup ## run the benches that need no data, into bench/results (hours)
	$(BIN)/python -m bench.results all
