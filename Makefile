# make demo    set up and run the demonstration
# make test    set up, then ruff, pyright and pytest
# make clean   remove the virtual environment with everything in it, caches included

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Caches of every tool stay inside the virtual environment.
export XDG_CACHE_HOME := $(CURDIR)/$(VENV)/.cache
export RUFF_CACHE_DIR := $(XDG_CACHE_HOME)/ruff
export MPLCONFIGDIR   := $(XDG_CACHE_HOME)/matplotlib

.PHONY: demo test lint types unit clean

demo: $(VENV)/.demo
	$(BIN)/lanewise demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.test
	$(BIN)/pytest -p no:cacheprovider

clean:
	rm -rf $(VENV)

# One stamp for each set of dependencies: an unchanged pyproject.toml is not installed again.
$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	    { echo "lanewise needs Python 3.10 to 3.13: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "This Python cannot make virtual environments: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
