"""Every command: ``--help`` answers, at once where it can, and a mistake is one line."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("agents", "docgen", "experiments", "indexes", "matsmith", "retrieval", "sandbox")
HEAVY = ("langchain_openai", "langsmith", "sklearn", "chromadb", "lightrag", "pymatgen", "networkx")
FAST = ("experiments.run", "docgen", "indexes.build", "agents.assistant", "agents.conformance",
        "sandbox")  # fmt: skip
#: Run inside of a sandbox, or by a maintainer on files of the repository.
NO_COMMANDS = {"sandbox.runner", "sandbox.launcher", "experiments.command",
               "experiments.benchmarks.unseen.owners"}  # fmt: skip
CODE = """
import runpy, sys
def call(*arguments):
    sys.argv = [{module!r}, *arguments]
    try:
        runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code or 0
helped = call("--help")
print("imported:", *sorted(set({heavy!r}) & set(sys.modules)))
print("ended with", helped, call("no_such_key=1"))
"""


def entry_points() -> list[str]:
    """Modules with a line ``if __name__ == "__main__"``, as ``python -m`` names them."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "questions" in path.parts or '__name__ == "__main__"' not in (
                text := path.read_text()
            ):
                continue
            if any(isinstance(node, ast.If) for node in ast.parse(text).body[-1:]):
                parts = path.relative_to(ROOT).with_suffix("").parts
                found.append(".".join(part for part in parts if part != "__main__"))
    return sorted(set(found) - NO_COMMANDS)


def test_all_commands_are_found():
    assert {"sandbox", "docgen", "experiments.run", "experiments.benchmarks.live"} < set(
        entry_points()
    )


@pytest.mark.parametrize("module", entry_points())
def test_help_and_a_mistake(module: str):
    code = CODE.format(module=module, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    *shown, imported, ended = done.stdout.splitlines()
    assert any(line.startswith("usage: ") for line in shown)
    assert imported == "imported:" or module not in FAST
    assert ended == "ended with 0 2", done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
