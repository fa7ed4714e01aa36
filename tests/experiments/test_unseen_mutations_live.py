"""The real thing: changed conventions of pymatgen-analysis-defects under other names."""

from __future__ import annotations

import asyncio

import pytest

from experiments.benchmarks.live.check import Checker, Report
from experiments.benchmarks.live.loader import question_folders
from experiments.unseen.build import UnseenLibrary
from experiments.unseen.mutations import RECORD, Record, parse
from experiments.unseen.ready import ready, report_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400)]

PACKAGES = ("pymatgen.analysis.defects",)


@pytest.fixture(scope="module")
def changed() -> UnseenLibrary:
    """Proven by all gates, or this raises: the references reproduce their golds."""
    return ready(PACKAGES, seed=1, mutate=parse("order+defaults"))


@pytest.fixture(scope="module")
def renamed() -> UnseenLibrary:
    """The same names, but the conventions of the original."""
    return ready(PACKAGES, seed=1)


def test_what_was_changed_was_proven_in_the_sandbox(changed: UnseenLibrary) -> None:
    report = report_of(changed)
    record = Record.load(changed.private / RECORD)
    assert report["questions"] == len(question_folders(changed.questions)) >= 6
    assert report["permuted"] == report["permuted_proven"] == len(record.permuted) > 80
    assert report["defaults"] == report["defaults_proven"] == len(record.defaults) > 30


def test_who_trusts_the_old_conventions_is_wrong(
    changed: UnseenLibrary, renamed: UnseenLibrary
) -> None:
    """The references with the new names, but the old order of arguments."""
    assert renamed.names.identifiers == changed.names.identifiers

    async def run() -> list[Report]:
        async with Checker("auto", env=changed.environment, recorded=()) as checker:
            return [await checker.check(folder) for folder in question_folders(renamed.questions)]

    wrong = [report.question_id for report in asyncio.run(run()) if report.findings]
    assert len(wrong) >= 5
