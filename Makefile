# Two commands: `make run` shows what polhode does, `make test` shows that it does it right.
# Both need only Python >= 3.11 and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# Tests that run a second time with kernels as plain Python, because they compare kernels with reference solutions. In
# plain Python, orders above 8 are verified in 60 digits and line coverage of kernels is measured; tests marked `dense`
# are excluded.
PLAIN_TESTS = $(addprefix tests/,kernels free flows forces methods integration systems problems)
# Tests that are also run as on an older processor, whatever this one is.
REFERENCE_TESTS = $(addprefix tests/,free/test_golden.py integration/test_torqued_golden.py methods/test_declared.py frozen)
# Use all cores; each process runs neighboring tests as long as possible, because these share compiled kernels.
PARALLEL = -n auto --dist worksteal

# The parts of test-release, in their order; each fits an evening.
RELEASE = draws lowest older newer threads order
EVERYTHING = -m "not release" tests

.PHONY: help run papers test test-long test-release $(addprefix test-release-,$(RELEASE)) docs linkcheck claims lint format bench series clean

help:
	@echo "make run        install into .venv and run the main example (table, files, plot and 3-D page in out/dzhanibekov)"
	@echo "make test       install the test extra into .venv and run the tests (about five minutes on two cores)"
	@echo "make test-long  run the longer tests: papers, gallery, 50 killed runs, kernels as plain Python"
	@echo "make test-release  run tests that take hours, in parts that can also be run alone:"
	@echo "                   $(addprefix test-release-,$(RELEASE))"
	@echo "make docs       build the documentation in docs/_build/html (make linkcheck checks its external links)"
	@echo "make lint       run ruff, mypy and import-linter, and count the lines of code"
	@echo "make papers     reproduce the figures and tables of five papers in out/papers (one: ONLY=betsch2009_fig1)"
	@echo "make bench      measure speed ratios to the published algorithm and SciPy, flow costs, start-up times, drift"
	@echo "make claims     measure the numbers of the documentation and write them there (about ten minutes; needs heyoka)"

# One stamp file per set of extras; it is out of date when pyproject.toml changes, for example after a git pull.
$(VENV)/installed-%: pyproject.toml
	@echo "== installing polhode[$*] into $(VENV) (first time: a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "polhode needs Python 3.11 or newer; type: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(LOWEST)/installed: pyproject.toml
	@test -x $(LOWEST)/bin/uv || ($(PYTHON) -m venv $(LOWEST) && $(LOWEST)/bin/python -m pip install --quiet uv)
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	@touch $@

# Command line, plots and 3-D page; without a netCDF package, states are written to a .csv file.
RUN_EXTRAS = cli,plot

run: $(VENV)/installed-$(RUN_EXTRAS)
	@echo "== polhode run dzhanibekov (the first run compiles, some ten seconds; later ones start from the cache)"
	@$(BIN)/polhode run dzhanibekov --view

# Each test runs in exactly one of `test`, `test-long` and `test-release`.
test: $(VENV)/installed-test
	@echo "== compiling kernels, once for these sources"
	$(BIN)/polhode compile
	@echo "== tests: reference solutions"
	$(BIN)/python -m pytest tests/free/test_golden.py
	@echo "== tests: all others, and the examples in docstrings"
	$(BIN)/python -m pytest $(PARALLEL) -m "not long and not release" --doctest-modules --ignore=tests/free/test_golden.py tests src papers

# The longer tests use three processes, because many of them wait.
test-long: $(VENV)/installed-test
	@echo "== tests that take longer"
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "long and not release" tests
	@echo "== kernels as plain Python: in 60 digits, and line by line"
	POLHODE_JIT=0 $(BIN)/python -m pytest $(PARALLEL) -m "not dense and not long and not release" $(PLAIN_TESTS)
	@echo "== reference solutions as on a processor without fused products"
	$(BIN)/python scripts/imitate.py x86-64-v2 $(BIN)/python -m pytest $(PARALLEL) $(REFERENCE_TESTS)

test-release: $(addprefix test-release-,$(RELEASE))

test-release-draws: $(VENV)/installed-test
	@echo "== many random draws"
	$(BIN)/python -m pytest $(PARALLEL) -m "release or hypothesis" --hypothesis-profile=many tests

test-release-lowest: $(LOWEST)/installed
	@echo "== the lowest versions of all dependencies"
	$(LOWEST)/bin/python -m pytest $(PARALLEL) -m "not long and not release" -W ignore::DeprecationWarning tests

test-release-older test-release-newer: $(VENV)/installed-test
	@echo "== all tests as on another processor, compiled and as plain Python"
	$(IMITATED) $(BIN)/python -m pytest $(PARALLEL) $(EVERYTHING)
	POLHODE_JIT=0 $(IMITATED) $(BIN)/python -m pytest $(PARALLEL) -m "not dense and not long and not release" $(PLAIN_TESTS)

test-release-older: IMITATED = $(BIN)/python scripts/imitate.py x86-64-v2
test-release-newer: IMITATED = $(BIN)/python scripts/imitate.py x86-64-v3

test-release-threads: $(VENV)/installed-test
	@echo "== all tests with one thread, and with four"
	POLHODE_NUM_THREADS=1 $(BIN)/python -m pytest $(PARALLEL) $(EVERYTHING)
	POLHODE_NUM_THREADS=4 $(BIN)/python -m pytest $(PARALLEL) $(EVERYTHING)

test-release-order: $(VENV)/installed-release
	@echo "== all tests in a random order, which the first lines name"
	$(BIN)/python -m pytest $(PARALLEL) -p randomly $(EVERYTHING)

# FULL=1 uses the sizes of the papers, which may take minutes or longer.
papers: $(VENV)/installed-test
	$(BIN)/python -m papers run $(or $(ONLY),all) $(if $(FULL),--full)

docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build -W --keep-going -b html $(if $(GALLERY),-D plot_gallery=$(GALLERY)) docs docs/_build/html
	$(BIN)/python docs/make_pages.py docs/_build/html/pages
	@echo "the site: docs/_build/html/index.html"

linkcheck: $(VENV)/installed-docs
	$(BIN)/sphinx-build -b linkcheck docs docs/_build/linkcheck

# Numbers are stored in benchmarks/claims.json; `make claims ONLY="step dense"` measures some of them again.
claims: $(VENV)/installed-test
	$(BIN)/python scripts/claims.py $(ONLY)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typed_use.py
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_series.py --check
	$(BIN)/python scripts/size.py

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
	$(BIN)/python benchmarks/own_steps.py
	$(BIN)/python benchmarks/flat.py
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/conserving.py
	$(BIN)/python benchmarks/ensemble.py
	$(BIN)/python benchmarks/dipoles.py
	$(BIN)/python benchmarks/many_bodies.py
	$(BIN)/python benchmarks/water.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/calls.py
	$(BIN)/python benchmarks/drift.py
	$(BIN)/python benchmarks/elliptic.py

series: $(VENV)/installed-dev
	$(BIN)/python scripts/generate_series.py

clean:
	rm -rf $(VENV) $(LOWEST) out build dist .coverage docs/_build docs/gallery
