"""docs/running.md says what ``--help`` says."""

from pathlib import Path

from experiments.command import help_text

DOCUMENT = Path(__file__).parents[2] / "docs" / "running.md"


def test_the_help_in_the_document_is_the_help():
    assert (
        f"```text\n{help_text(model='recorded')}\n```\n<!-- /help -->"
        in DOCUMENT.read_text()
    )
