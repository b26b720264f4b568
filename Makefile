# Two commands: `make run` shows what polhode does, `make test` shows that it does it right.
# Both need only Python >= 3.11 and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Coverage doubles the time of tests that compute truth in high precision, so it watches only where it is needed:
# the user layer compiled, the kernels as plain Python (where compiled and uncompiled must agree anyway).
TESTS = $(wildcard tests/test_*.py)
USER_TESTS = $(patsubst %,tests/test_%.py,adaptive aem bad_input body choice cli cluster composition conserving ensemble ensemble_cli events examples flow force forces geometry import integrate interactions methods motion plot problems processed rotation sampling scenario schemes state store streaming study system)
KERNEL_TESTS = $(patsubst %,tests/test_%.py,golden adaptive batch chain conserving declared dense dormand_prince eft elliptic flow force forces frb gauss integrate interactions jacobian landen long_times magnus midpoint modes moser_veselov motion principal problems processed sampling series system three_rotations trig)

# All cores; a file stays in one process, which then loads or compiles its kernels once.
PARALLEL = -n auto --dist loadfile

.PHONY: help run test test-long lint format bench series clean

help:
	@echo "make run     install into .venv and run the main example (table, files and picture in out/dzhanibekov)"
	@echo "make test    install the test extra into .venv and run all tests, compiled and uncompiled"
	@echo "make test-long  the few tests that take minutes: 50 killed runs"
	@echo "make lint    ruff, mypy and import-linter"
	@echo "make bench   speed ratios against the published algorithm and SciPy, costs of all flows, start-up times, drift"

# One stamp per set of extras: made again when pyproject.toml changes, as after a git pull.
$(VENV)/installed-%: pyproject.toml
	@echo "== installing polhode[$*] into $(VENV) (first time: a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "polhode needs Python 3.11 or newer; type: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

run: $(VENV)/installed-all
	@echo "== polhode run dzhanibekov (the first run compiles, later ones start from the cache)"
	@$(BIN)/polhode run dzhanibekov

test: $(VENV)/installed-test
	$(BIN)/coverage erase
	@echo "== tests, compiled: reference solutions"
	$(BIN)/python -m pytest tests/test_golden.py
	@echo "== tests, compiled: kernels"
	$(BIN)/python -m pytest $(PARALLEL) $(filter-out $(USER_TESTS) tests/test_golden.py,$(TESTS))
	@echo "== tests, compiled: user layer, and the examples in its docstrings"
	$(BIN)/python -m pytest $(PARALLEL) -m "not long" --cov --cov-report= --doctest-modules $(USER_TESTS) src
	@echo "== tests, uncompiled: kernels as plain Python"
	POLHODE_JIT=0 $(BIN)/python -m pytest $(PARALLEL) -m "not dense and not long" --cov --cov-append --cov-report= $(KERNEL_TESTS)
	@echo "== lines covered"
	$(BIN)/coverage report --fail-under=95

test-long: $(VENV)/installed-test
	$(BIN)/python -m pytest -m long tests

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_series.py --check

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-test
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/batch.py
	$(BIN)/python benchmarks/dense.py
	$(BIN)/python benchmarks/flows.py
	$(BIN)/python benchmarks/lost_digits.py
	$(BIN)/python benchmarks/torqued.py
	$(BIN)/python benchmarks/flat.py
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/conserving.py
	$(BIN)/python benchmarks/ensemble.py
	$(BIN)/python benchmarks/dipoles.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/drift.py

series: $(VENV)/installed-dev
	$(BIN)/python scripts/generate_series.py

clean:
	rm -rf $(VENV) out build dist .coverage
