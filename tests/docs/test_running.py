"""docs/running.md says what ``--help`` says."""

from pathlib import Path

from experiments.run.help import update_help

DOCUMENT = Path(__file__).parents[2] / "docs" / "running.md"


def test_the_help_in_the_document_is_the_help():
    text = DOCUMENT.read_text()
    assert update_help(text) == text, "run: python -m experiments.run.help docs/running.md"
