"""``--help`` answers at once: it imports none of the libraries that take seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("langchain_openai", "langsmith", "sklearn", "chromadb", "lightrag", "pymatgen", "networkx")
CODE = """
import runpy, sys
sys.argv = [{module!r}, "--help"]
try:
    runpy.run_module({module!r}, run_name="__main__")
except SystemExit as end:
    assert end.code in (0, None), end.code
print("imported:", *sorted(set({heavy!r}) & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "module",
    [
        "experiments.run",
        "experiments.curves",
        "docgen",
        "indexes.build",
        "agents.assistant",
        "agents.conformance",
        "sandbox",
    ],
)
def test_help_imports_nothing_slow(module):
    code = CODE.format(module=module, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "imported:"
