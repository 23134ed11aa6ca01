# Every target makes the virtual environment that it needs. `make PYTHON=python3.12 test` picks an interpreter.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Tests wait for other programs more than they compute.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 3 ] && echo $$n || echo 3)
VENV := .venv
BIN := $(VENV)/bin
USER_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: demo picture pictures test test-agents lint bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    see what trueup does, on a sample repository; ARGS=--serve for the pages too"
	@echo "make test    run the suite"
	@echo "make test-agents  run real agent programs, installed from PyPI and npm into a cache"
	@echo "make lint    style, types and the direction of imports"
	@echo "make bench   measure, as ratios against a reference in the same run"
	@echo "make docs    write the references of docs/ from the program"
	@echo "make pictures  photograph the pages for docs/pages; needs chromium"
	@echo "make picture record the demo anew, for the README"

demo: $(USER_STAMP)
	@$(BIN)/python demo/demo.py $(ARGS)

test: $(DEV_STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not agents"

test-agents: $(DEV_STAMP)
	$(BIN)/python -m pytest -n auto -m agents

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(DEV_STAMP)
	$(BIN)/python -m bench $(ARGS)

picture: $(DEV_STAMP)
	$(BIN)/python docs/picture.py

docs: $(DEV_STAMP)
	$(BIN)/python docs/generate.py

pictures: $(DEV_STAMP)
	$(BIN)/python docs/page_pictures.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(USER_STAMP): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/python -m pip install --quiet --editable . --constraint constraints.txt
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@ $(USER_STAMP)

$(VENV):
	@test -n "$(PYTHON)" || { echo "trueup needs Python 3.11 or newer; none was found on PATH"; exit 1; }
	$(PYTHON) -m venv $(VENV)
