# make demo    set up and run the demonstration
# make test    set up, then ruff, pyright and pytest
# make test-gpu, make bench-gpu    the same tests, and the benchmarks, on an NVIDIA GPU
# make clean   remove the virtual environment with everything in it, caches included

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Caches of every tool stay inside the virtual environment.
export XDG_CACHE_HOME := $(CURDIR)/$(VENV)/.cache
export RUFF_CACHE_DIR := $(XDG_CACHE_HOME)/ruff
export MPLCONFIGDIR   := $(XDG_CACHE_HOME)/matplotlib

.PHONY: demo test lint types unit test-gpu bench-gpu clean

demo: $(VENV)/.demo
	$(BIN)/lanewise demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.test
	$(BIN)/pytest -p no:cacheprovider -n auto --dist worksteal

# What must hold on every device runs on the GPU alone; then its own tests, and the fuzz tests beside the interpreter.
test-gpu: $(VENV)/.gpu
	LANEWISE_TEST_ARCHES=cuda $(BIN)/pytest -p no:cacheprovider tests/ops tests/test_control_flow.py \
	    tests/test_language.py tests/test_debug.py tests/test_fast_float.py tests/gpu
	LANEWISE_TEST_ARCHES=cuda LANEWISE_FUZZ_EXAMPLES=$(or $(EXAMPLES),300) $(BIN)/pytest -p no:cacheprovider tests/fuzz

bench-gpu: $(VENV)/.gpu
	$(BIN)/python benchmarks/gpu.py

clean:
	rm -rf $(VENV)

# One stamp for each set of dependencies: an unchanged pyproject.toml is not installed again.
$(VENV)/.demo $(VENV)/.test $(VENV)/.gpu: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	    { echo "lanewise needs Python 3.10 to 3.13: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "This Python cannot make virtual environments: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
