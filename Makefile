# make demo    set up and run the demonstration
# make test    set up, then ruff, pyright and pytest, on the CPU and on the Vulkan devices that .ci/vulkan made
# make docs    set up, then the documentation as HTML, in docs/_build
# make bench    benchmarks on the CPU, beside NumPy and Numba
# make test-gpu, make bench-gpu    the same tests, and the benchmarks, on an NVIDIA GPU
# make test-amd    the same tests on an AMD GPU
# make test-isa    the same tests on the assembly of every AMD architecture, interpreted; `make test` runs some of them
# make clean   remove the virtual environment with everything in it, caches included

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Caches of every tool stay inside the virtual environment.
export XDG_CACHE_HOME := $(CURDIR)/$(VENV)/.cache
export RUFF_CACHE_DIR := $(XDG_CACHE_HOME)/ruff
export MPLCONFIGDIR   := $(XDG_CACHE_HOME)/matplotlib

.PHONY: demo docs test lint types unit isa vulkan test-gpu test-amd test-isa bench bench-gpu clean

demo: $(VENV)/.demo
	$(BIN)/lanewise demo

test: lint types unit isa vulkan

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	@echo docs/_build/index.html

lint: $(VENV)/.test
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.test
	LANEWISE_REQUIRE= $(BIN)/pytest -p no:cacheprovider -n auto --dist worksteal --ignore tests/vulkan

# Assembly for AMD GPUs as tests/amdgpu/isa interprets it: some types of each family of operations, or everything.
ISA       := gfx90a:64 gfx1100:64
ISA_TOO   := gfx908:64 gfx942:64 gfx950:64 gfx1030:64 gfx1030:32 gfx1100:32 gfx1200:64 gfx1200:32
ISA_TYPES := (i32 or f32 or (movement and f64) or synchronization or bundles or control_flow or language)

isa: $(VENV)/.test
	LANEWISE_TEST_ARCHES="$(addprefix isa:,$(ISA))" $(BIN)/pytest -q -p no:cacheprovider -n auto --dist worksteal \
	    $(OPS) tests/test_control_flow.py tests/test_language.py -k '$(ISA_TYPES) and not (debug or cast or sorting)'

test-isa: $(VENV)/.test
	LANEWISE_TEST_ARCHES="$(addprefix isa:,$(ISA) $(ISA_TOO))" $(BIN)/pytest -p no:cacheprovider -n auto --dist worksteal \
	    $(OPS) tests/test_control_flow.py tests/test_language.py -k 'not debug'
	for target in $(ISA) $(ISA_TOO); do $(BIN)/python -m tests.amdgpu.every_operation $${target%:*} $${target#*:} all || exit; done

# Vulkan on the CPU, each driver and subgroup size in a process of its own, as the environment chooses them: what the
# devices are is told in .ci/vulkan.  With LANEWISE_REQUIRE=vulkan one that is missing is a failure.  Debian's validation
# layer knows Mesa 22, but not what Mesa 25 has learnt since.
VULKAN  := $(VENV)/vulkan
DEVICES := mesa25-8 mesa25-4 mesa25-16 mesa22 swiftshader descriptors
# What of tests/ops runs on a device.
OPS     := $(filter-out %_coverage.py %_declarations.py %_expansions.py,$(wildcard tests/ops/test_*.py))
MORE    := tests/test_control_flow.py tests/test_language.py tests/vulkan

vulkan: $(DEVICES:%=vulkan-%)
vulkan-mesa25-%:     TESTS = $(OPS) -k 'not f64 and not i64'
vulkan-mesa25-8:     TESTS = $(OPS) $(addprefix tests/test_,launch.py debug.py fast_float.py regressions.py) tests/fuzz $(MORE)
vulkan-mesa22:       TESTS = $(addprefix tests/ops/test_,votes.py movement.py quad.py synchronization.py block.py) $(MORE)
vulkan-mesa22:       LAYER = $(VULKAN)/validation.env
vulkan-swiftshader:  TESTS = $(OPS) tests/vulkan
# Mesa 25 as a device without addresses, whose arrays are bound by descriptors.
vulkan-descriptors:  DEVICE = mesa25-8
vulkan-descriptors:  WITHOUT = bufferDeviceAddress
vulkan-descriptors:  TESTS = $(addprefix tests/ops/test_,movement.py block.py bundles.py votes.py folds.py) \
    tests/test_debug.py tests/vulkan -k 'i32 or not (votes or folds)'

vulkan-%: $(VENV)/.test
	@if [ ! -f $(VULKAN)/$(or $(DEVICE),$*).env ]; then \
	    echo "skipped: the tests on Vulkan ($*).  To run them: .ci/vulkan $(VULKAN)"; \
	    case " $(LANEWISE_REQUIRE) " in *" vulkan "*) exit 1;; esac; exit 0; \
	fi; \
	echo "Vulkan ($*)"; \
	set -a; . $(VULKAN)/$(or $(DEVICE),$*).env; [ -z "$(LAYER)" ] || . $(LAYER); LANEWISE_TEST_ARCHES=vulkan LANEWISE_REQUIRE=vulkan; \
	LANEWISE_VULKAN_WITHOUT=$(WITHOUT); set +a; \
	$(BIN)/python -m pytest -q -p no:cacheprovider -p tests.vulkan.checks -r fEs -n auto --dist worksteal $(TESTS)

# What must hold on every device runs on the GPU alone; then its own tests, and the fuzz tests beside the interpreter.
test-gpu: $(VENV)/.gpu
	LANEWISE_TEST_ARCHES=cuda $(BIN)/pytest -p no:cacheprovider tests/ops tests/test_control_flow.py \
	    tests/test_language.py tests/test_debug.py tests/test_fast_float.py tests/gpu
	LANEWISE_TEST_ARCHES=cuda LANEWISE_FUZZ_EXAMPLES=$(or $(EXAMPLES),300) $(BIN)/pytest -p no:cacheprovider tests/fuzz

test-amd: $(VENV)/.test
	LANEWISE_TEST_ARCHES=amdgpu $(BIN)/pytest -p no:cacheprovider tests/ops tests/test_control_flow.py \
	    tests/test_language.py tests/test_debug.py tests/test_fast_float.py tests/gpu tests/amdgpu
	LANEWISE_TEST_ARCHES=amdgpu LANEWISE_FUZZ_EXAMPLES=$(or $(EXAMPLES),300) $(BIN)/pytest -p no:cacheprovider tests/fuzz

bench: $(VENV)/.bench
	env -u NPY_DISABLE_CPU_FEATURES -u OPENBLAS_CORETYPE $(BIN)/python benchmarks/cpu.py

bench-gpu: $(VENV)/.gpu
	$(BIN)/python benchmarks/gpu.py

clean:
	rm -rf $(VENV)

# One stamp for each set of dependencies: an unchanged pyproject.toml is not installed again.
$(VENV)/.demo $(VENV)/.docs $(VENV)/.test $(VENV)/.gpu $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	    { echo "lanewise needs Python 3.10 to 3.13: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "This Python cannot make virtual environments: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
