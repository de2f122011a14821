# Needs python3 (3.11 or newer) and make. Another interpreter:
#   make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := .venv-peers
NEWEST := build/venv-newest

.DEFAULT_GOAL := help
.PHONY: help install constraints browser demo test bench docs pictures clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv and install Equipoise with its tools

constraints: ## Write constraints.txt anew: the newest versions that are allowed
	"$(PYTHON)" -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[dev,descriptions]'
	@{ sed -n '/^#/p' constraints.txt; \
		$(NEWEST)/bin/python -m pip freeze --exclude-editable --disable-pip-version-check; \
	} > $(NEWEST)/constraints.txt
	@mv $(NEWEST)/constraints.txt constraints.txt && rm -rf $(NEWEST)

demo: install ## Let the humanoid walk; write build/walk with its report
	@mkdir -p build
	$(BIN)/equipoise walk humanoid --out build/walk --force

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
		|| command -v google-chrome >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& echo "installing chromium for the tests of pages" \
			&& { apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1 \
				|| { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y \
					--no-install-recommends chromium >/dev/null 2>&1; }; }; } \
		|| echo "no Chromium: tests of pages will be skipped"

# One thread a worker: on two cores more would wait for each other.
test: install browser ## Lint, check types and imports, run every test, build the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

bench: install $(PEERS)/.installed ## Measure; write build/bench.json and print a table
	@mkdir -p build
	$(BIN)/python -m benchmarks

docs: install ## Build the site in build/docs
	@rm -rf docs/generated
	$(BIN)/python -m sphinx -W -q -b html -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

pictures: install browser ## Make the pictures of README and docs anew
	$(BIN)/python docs/make_pictures.py

clean: ## Remove .venv and all that was built
	rm -rf $(VENV) $(PEERS) build dist docs/generated .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune \
		-exec rm -rf {} + 2>/dev/null || true

# Peers that need another Pinocchio.
$(PEERS)/.installed:
	"$(PYTHON)" -m venv $(PEERS)
	-$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check \
		placo pin-pink daqp && touch $@

$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
		echo "$(PYTHON) not found: install Python 3.11 or newer, or name one with PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is too old: Equipoise needs Python 3.11 or newer; name one with PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian, Ubuntu: python3-venv)" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt -e '.[dev]'
	@touch $@
