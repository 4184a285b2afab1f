# Every target builds or updates .venv by itself; nothing but Python 3.11+ with pip is needed beforehand.
# To choose the interpreter: make PYTHON=/path/to/python3.12 test. To pass options to pytest: make test ARGS="-k money".

works = $(if $(shell $(1) -c 'import sys; sys.version_info >= (3, 11) and print("yes")' 2>/dev/null),$(1))
PYTHON ?= $(or $(call works,python3.11),$(call works,python3.12),$(call works,python3.13),$(call works,python3),python3)
ARGS ?=
# Tests run side by side, each file in one process so that its servers are shared. Three workers for two cores: some
# wait for servers while others compute. One thread each: more would compete. WORKERS=0: all in one process. What is
# compiled is kept even where the caller's shell says otherwise: the tests start hundreds of processes.
WORKERS ?= 3
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=10
BIN := .venv/bin
STAMP := .venv/.built
OTHER_PYTHON := Install it, or name the one to use: make PYTHON=/path/to/python3 test

# What is active in the caller's shell must not leak into this environment.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

# An environment holds absolute paths: after the folder was moved or copied it would run the code of the old place.
ifneq "$(shell test -x $(BIN)/python && head -n 1 $(STAMP) 2>/dev/null)" "$(CURDIR)"
.PHONY: $(STAMP)
endif

# What `make run` runs, and what it says at the end.
PIPELINE := run --config quick-test --approve auto
PHASES := simulation, history and pilot (on the local ad platform), each with its gate, approved by this command. Next: gaelp scale --config quick-test

.DELETE_ON_ERROR:
.PHONY: help run test test-all check format bench bench-peers planted-bugs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: $(STAMP) ## Check this machine, then run phases 1 to 3
	@$(BIN)/gaelp doctor
	@$(BIN)/gaelp $(PIPELINE)
	@echo 'What ran: $(PHASES).'

test: $(STAMP) ## Run the tests (ARGS="-k money" goes to pytest)
	@$(PYTEST) $(ARGS)

test-all: $(STAMP) ## Run the tests, with those that take minutes
	@$(PYTEST) -m '' -o timeout=3600 $(ARGS)

check: $(STAMP) ## Format, lint, types and no placeholder code, with nothing changed
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest -q -p no:cacheprovider tests/test_no_placeholder_code.py

format: $(STAMP) ## Format the code and fix what the linter can
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: $(STAMP) ## Measure market, training, ledger, pipeline, data and sandbox: one JSON object each (half an hour)
	@$(BIN)/gaelp bench market --json
	@$(BIN)/gaelp bench train --json
	@$(BIN)/gaelp bench ledger --json
	@$(BIN)/gaelp bench pipeline --json
	@$(BIN)/gaelp bench data --json
	@$(BIN)/gaelp bench sandbox --json

bench-peers: ## Build the environments of the peers that `make bench` compares with (minutes, once)
	@'$(PYTHON)' -m venv bench/.peers/rtbgym
	@bench/.peers/rtbgym/bin/python -m pip install -qq -r bench/rtbgym-requirements.txt

planted-bugs: $(STAMP) ## Plant bugs one by one and see the tests catch each (ARGS=ledger: one list of them)
	@$(BIN)/python bench/planted_bugs.py $(ARGS)

clean: ## Remove .venv and caches; runs under .gaelp/ stay
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A changed pin or setting updates .venv in place; another folder, another Python or a failed build starts afresh.
$(STAMP): pyproject.toml constraints.txt
	@command -v '$(PYTHON)' >/dev/null || { echo '$(PYTHON) was not found; GAELP needs Python 3.11 or newer. $(OTHER_PYTHON)' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.version_info >= (3, 11) or sys.exit("$(PYTHON) is Python %s; GAELP needs 3.11 or newer. $(OTHER_PYTHON)" % sys.version.split()[0])'
	@echo 'Building .venv with $(PYTHON) (about three minutes the first time) ...'
	@printf '%s\n' '$(CURDIR)' "$$('$(PYTHON)' -V)" | cmp -s - $(STAMP) || '$(PYTHON)' -m venv --clear .venv
	@rm -f $(STAMP)
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[dev]'
	@printf '%s\n' '$(CURDIR)' "$$('$(PYTHON)' -V)" > $(STAMP)
