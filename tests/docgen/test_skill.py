"""Skills: their size in bytes, and what they leave alone in ``AGENTS.md``."""

from __future__ import annotations

from pathlib import Path

from docgen.library import read_library
from docgen.skill import MOST, write_skill


def skill(tmp_path: Path, source: str) -> Path:
    (tmp_path / "kilns.py").write_text(source)
    library = read_library(["kilns"], tmp_path).public()
    return write_skill(library, "kilns", ["kilns"], tmp_path)


def test_the_limit_counts_bytes(tmp_path: Path) -> None:
    one = 'def fire{0}(heat):\n    """{1}.\n\n    Args:\n        heat: {1} in eV.\n    """\n'
    text = (
        skill(tmp_path, "".join(one.format(n, "Å" * 80) for n in range(50)))
        / "SKILL.md"
    )
    assert len(text.read_bytes()) <= MOST
    assert "## Traps" in text.read_text()


def test_a_lost_end_marker_deletes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("Ours.\n<!-- matsmith kilns -->\nold line\nTheirs.\n")
    for _ in range(2):
        skill(tmp_path, '"""Kilns."""\n')
        text = file.read_text()
        assert text.startswith("Ours.\n<!-- matsmith kilns -->\nold line\nTheirs.\n")
        assert text.count("SKILL.md") == 1


def test_of_many_modules_the_used_ones_stay_and_none_is_cut_in_two(
    tmp_path: Path,
) -> None:
    (tmp_path / "pots").mkdir()
    (tmp_path / "pots" / "__init__.py").write_text("from pots.zinc import glaze\n")
    (tmp_path / "pots" / "zinc.py").write_text(
        '"""Zinc\n====\n"""\ndef glaze(x): ...\n'
    )
    for n in range(300):
        text = f"from pots.zinc import glaze\ndef shape{n}_of_a_vessel(x):\n    return glaze(x)\n"
        (tmp_path / "pots" / f"module_number_{n}.py").write_text(text)
    library = read_library(["pots"], tmp_path).public()
    text = (write_skill(library, "pots", ["pots"], tmp_path) / "SKILL.md").read_text()
    assert len(text.encode()) <= MOST
    _, first, second, *lines = text.partition("## What there is\n")[2].splitlines()
    assert (first, second) == ("- `pots.zinc`: Zinc", "  glaze")
    assert all(
        a.removeprefix("- `pots.module_number_").rstrip("`") in b
        for a, b in zip(lines[:-1:2], lines[1:-1:2], strict=True)
    )
    assert (
        lines[-1]
        == f"- and {300 - len(lines) // 2} more modules, a file each in `references/`"
    )
