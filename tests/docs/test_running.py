"""docs/running.md says what ``--help`` says."""

from experiments.command import help_text
from tests.support.paths import ROOT

DOCUMENT = ROOT / "docs" / "running.md"


def test_the_help_in_the_document_is_the_help():
    assert (
        f"```text\n{help_text(model='recorded')}\n```\n<!-- /help -->"
        in DOCUMENT.read_text()
    )
