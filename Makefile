PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=
REPRODUCE_ARGS ?=
SPHINX_ARGS ?=
TORCH ?= torch>=2.4
# Processes that share the tests, of one thread each: matrices are small.
TEST_PROCESSES ?= 2

# Extras whose declared lowest versions `make floors` tests, next to the core dependencies.
FLOOR_EXTRAS := experiments cluster certify xarray test

empty :=
space := $(empty) $(empty)
comma := ,

# Expanded when an environment is about to be made: ends make where Python is missing or too old.
require_python = $(if $(filter ok,$(shell $(PYTHON) -c \
	'import sys; print("ok" if sys.version_info >= (3, 11) else "old")' 2>/dev/null)),,$(error \
	linrep needs Python 3.11 or newer, and "$(PYTHON)" is not))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env env-deep reproduce figures test test-all test-slow test-controls test-ledger \
	test-nojit coverage lint format floors bench docs dist release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: .venv/.installed ## make .venv with linrep and everything needed to develop it

env-deep: .venv/.installed-deep ## add torch to it, for the experiments with networks

reproduce: .venv/.made ## draw the papers' figures and check their theorems again, beside the record
	PYTHONDONTWRITEBYTECODE= .venv/bin/linrep reproduce $(REPRODUCE_ARGS)

figures: .venv/.made ## draw all figures, those beyond the papers' too, into runs/figures
	.venv/bin/linrep figures

# Neighbours in the list of tests stay together, so that they share what their module sets up; who
# has run out of tests takes half of what another has left. Bytecode is kept, as tests start
# processes.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= \
	$(1) -m pytest -n $(TEST_PROCESSES) --dist worksteal

test: .venv/.installed ## run the tests that are quick (PYTEST_ARGS="..." passes options)
	$(call PYTEST,.venv/bin/python) -m "not slow" $(PYTEST_ARGS)

test-all: env-deep test test-slow test-controls test-ledger test-nojit floors ## run all tests

test-slow: .venv/.installed-deep .venv/.installed-docs ## run the other tests: survival, surroundings, figures, browser, networks
	$(call PYTEST,.venv/bin/python) -m "slow and not negative_control" $(PYTEST_ARGS)

test-controls: .venv/.installed ## run the other claims' negative controls
	$(call PYTEST,.venv/bin/python) -m "slow and negative_control" $(PYTEST_ARGS)

test-ledger: .venv/.installed ## check that all claims have the verdicts that are recorded
	.venv/bin/linrep verify --budget quick --workers $(TEST_PROCESSES)

# What kernels are, and what calls them.
NOJIT_TESTS ?= kernels algorithms problems theory claims papers
test-nojit: .venv/.installed ## run the tests of kernels and what calls them with kernels as plain Python
	NUMBA_DISABLE_JIT=1 $(call PYTEST,.venv/bin/python) \
		-m "not slow and not compiled and not negative_control" \
		$(addprefix tests/,$(NOJIT_TESTS)) $(PYTEST_ARGS)

coverage: env-deep ## compare the lines that `make test` and all tests run
	.venv/bin/python .ci/covered.py $(TEST_PROCESSES)

lint: .venv/.installed ## check style, formatting, spelling and types
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/codespell
	.venv/bin/mypy
	.venv/bin/mypy --strict tests/typed_use.py

names: .venv/.installed ## write the lists of names that follow from the sources
	.venv/bin/python .ci/names.py

format: .venv/.installed ## format the code
	.venv/bin/ruff check --select I --fix
	.venv/bin/ruff format

# A cache of its own: another numba version would throw out what the other environment compiled.
floors: export NUMBA_CACHE_DIR := $(or $(NUMBA_CACHE_DIR),$(CURDIR)/.venv-floors)/numba-floors
floors: .venv-floors/.installed ## run the tests with the lowest declared versions
	$(call PYTEST,.venv-floors/bin/python) -m "not slow and not negative_control" $(PYTEST_ARGS)

bench: .venv-bench/.installed ## time linrep beside NumPy and JAX (BENCH_ARGS="..." passes options)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 .venv-bench/bin/python -m pytest -x \
		tests/bench/speed.py --benchmark-columns=median,iqr,rounds $(BENCH_ARGS)

docs: .venv/.installed-docs ## build the documentation into docs/_build; warnings are errors
	.venv/bin/python -m sphinx -q -W --keep-going $(SPHINX_ARGS) -b html docs docs/_build

dist: .venv/.installed ## build sdist and wheel into dist, and try them in an empty environment
	.ci/dist .venv/bin/python

release: .venv/.installed ## as dist, for publishing: refuses while project.urls are placeholders
	.ci/release .venv/bin/python

clean: ## remove environments, caches and build products (not figures)
	rm -rf .venv .venv-bench .venv-floors build dist docs/_build docs/jupyter_execute *.egg-info .coverage htmlcov \
		.benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv takes a fifth of pip's time; where it cannot be had, or finds no index, pip does it.
install = ($(1)/bin/python -m pip install --quiet uv \
	&& $(1)/bin/uv pip install --quiet --compile-bytecode --python $(1)/bin/python $(2)) \
	|| $(1)/bin/python -m pip install --quiet $(2)

# What runs linrep, and no more.
.venv/.made: pyproject.toml
	$(require_python)$(PYTHON) -m venv .venv
	$(call install,.venv,-e ".[experiments]")
	@touch $@

.venv/.installed: .venv/.made
	$(call install,.venv,-e ".[dev]")
	@touch $@

.venv/.installed-deep: .venv/.installed
	.venv/bin/python -m pip install --quiet "$(TORCH)"
	@touch $@

.venv/.installed-docs: .venv/.installed
	$(call install,.venv,-e ".[docs]")
	@touch $@

# Apart from the rest: JAX's threads do not go with processes that fork.
.venv-bench/.installed: pyproject.toml
	$(require_python)$(PYTHON) -m venv .venv-bench
	$(call install,.venv-bench,-e ".[bench]")
	@touch $@

# The pins are constraints, so pip refuses them should they not fit together.
.venv-floors/.installed: pyproject.toml .ci/floors.py
	$(require_python)$(PYTHON) -m venv --clear .venv-floors
	.venv-floors/bin/python .ci/floors.py $(FLOOR_EXTRAS) > .venv-floors/floors.txt
	$(call install,.venv-floors,--only-binary :all: --no-binary linrep -c .venv-floors/floors.txt \
		-e ".[$(subst $(space),$(comma),$(FLOOR_EXTRAS))]")
	@touch $@
