# Two commands for a newcomer: `make run` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install run test test-all check docs-check lock clean
.DEFAULT_GOAL := run

# uv installs the pinned packages in seconds where pip backtracks for minutes.
$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements.lock
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

install: $(STAMP)
	@$(BIN)/python -m sandbox install
	@$(BIN)/python -m sandbox build env=live

run: install
	$(BIN)/python -m experiments.run system=reflect retrieval=llm_doc

test: install
	$(BIN)/python -m pytest -m "not long"

test-all: install
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs-check: $(STAMP)
	$(BIN)/python -m pytest -q tests/docs

lock:
	$(BIN)/python -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache *.egg-info
