# Two commands for a newcomer: `make run` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install run demo test quick test-all check coverage size docs docs-check lock clean
.DEFAULT_GOAL := run

UV     := $(BIN)/python -m uv pip install --quiet --python $(BIN)/python
# What `python -m sandbox` itself needs.
FIRST  := docker filelock numpy omegaconf platformdirs pydantic rich

# What Python compiles is kept, or every command compiles half of its packages again.
export PYTHONDONTWRITEBYTECODE :=

# uv installs the pinned packages in seconds where pip backtracks for minutes.
$(BIN)/uv: requirements-dev.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"
	@touch $@

$(STAMP): requirements-dev.lock pyproject.toml setup.py | $(BIN)/uv
	$(UV) --require-hashes --requirement requirements-dev.lock
	$(UV) --no-deps --editable .
	@touch $@

# The environment of the sandbox is built while the packages of matsmith are installed.
install: $(BIN)/uv
	@$(UV) --constraint requirements-dev.lock $(FIRST)
	@began=$$(date +%s); $(BIN)/python -m sandbox build env=live & building=$$!; \
	$(MAKE) --no-print-directory $(STAMP); installed=$$?; \
	wait $$building && test $$installed -eq 0 && echo "packages and environment: $$(( $$(date +%s) - began )) s"
	@$(BIN)/python -m sandbox install

run: install
	$(BIN)/python -m experiments.run system=reflect retrieval=llm_doc
	@echo "The same model on a library that it does not know: make demo"

# Recorded replies about an invented library, where the system around the model decides.
demo: install
	$(BIN)/python -m experiments.run -m system=single,rag,agentic,graphrag,reflect,adaptive,tools benchmark=invented benchmark.seed=101 limit=20

# Many tests wait for processes: three fill two cores. They share environments and corpora, made by whoever comes first.
test: install
	$(BIN)/python -m pytest -m "not long" -n 3

# Tests in the folders of the packages that differ from the last commit on main.
quick: install
	@changed=$$(git diff --name-only main -- '*.py' | cut -d/ -f1 | sort -u); folders=""; \
	for package in $$changed; do test -d tests/$$package && folders="$$folders tests/$$package"; done; \
	for file in $$(git diff --name-only main -- 'tests/*test_*.py'); do test -f $$file && folders="$$folders $$file"; done; \
	if test -n "$$folders"; then $(BIN)/python -m pytest -q -m "not long" -n 2 $$folders; \
	else echo "no changed package has tests"; fi

test-all: install
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Lines that the default tests run: here, in the commands that they start, and inside sandbox workers.
coverage: install
	rm -rf .cache/coverage && mkdir -p .cache/coverage
	$(BIN)/coverage run -m pytest -q -m "not long"  # one process: xdist kills those that take long to write
	$(BIN)/coverage combine --quiet
	$(BIN)/python .ci/coverage

# How dense the code is; informs, and gates nothing.
size:
	@$(PYTHON) .ci/size

# The documentation as a site in site/; a dead link ends it.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

docs-check: $(STAMP)
	$(BIN)/python -m pytest -q tests/docs

# What developers install, and of it, in the same versions, what users need.
COMPILE := $(BIN)/python -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

lock:
	$(COMPILE) --extra dev -o requirements-dev.lock
	cp requirements-dev.lock requirements.lock  # uv keeps the versions of the file that it writes
	$(COMPILE) -o requirements.lock

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache *.egg-info
