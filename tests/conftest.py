"""Shared by all tests: no key and no endpoint of the machine; a small package on disk."""

import sys

import pytest


def pytest_configure(config):
    """Under ``coverage``, lines that run inside sandbox workers count too."""
    coverage = sys.modules.get("coverage")
    host = coverage and coverage.Coverage.current()
    if host:
        from tests.support.worker_coverage import WorkerCoverage

        workers = WorkerCoverage(host)
        workers.begin()
        config.add_cleanup(workers.save)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def package(tmp_path):
    """The folder that holds ``brickwork``, with everything that docgen must see through."""
    from tests.support.samples import write_package

    return write_package(tmp_path / "site")
