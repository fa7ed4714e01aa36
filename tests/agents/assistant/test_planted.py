"""How many planted errors an answer's own checks tell, and how many right answers they accuse."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.base import Sandbox
from tests.agents.assistant.acceptance import FILES
from tests.agents.assistant.test_provenance import answered

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

CASES = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_text(encoding="utf-8"))
#: Cases with a planted error, how many there are, how many are told at least.
PLANTED = [("planted", 40, 36), ("later_planted", 11, 8)]
#: Right answers, how many there are, how many are accused at most.
RIGHT = [("right", 40, 4), ("later_right", 10, 2)]


def _poscar(title: str, a: float, c: float, counts: Mapping[str, int], sites: str) -> str:
    cell = f"{a} 0 0\n0 {a} 0\n0 0 {c}"
    kinds = " ".join(counts), " ".join(map(str, counts.values()))
    return f"{title}\n1.0\n{cell}\n{kinds[0]}\n{kinds[1]}\ndirect\n{sites}\n"


def _files() -> dict[str, str]:
    """Besides those of the acceptance questions."""
    u, v = 0.305, 0.805
    rutile = f"0 0 0\n.5 .5 .5\n{u} {u} 0\n{1 - u} {1 - u} 0\n{v} {1 - v} .5\n{1 - v} {v} .5"
    perovskite = "0 .5 .5\n.5 0 .5\n.5 .5 0\n.5 .5 .5\n0 0 0"
    counts = {"O": 3, "Ti": 1, "Sr": 1}
    lines = "\n".join(f"{t},{4.2117 * (1 + 1.2e-5 * (t - 300)):.5f}" for t in range(300, 1501, 100))
    strong = 2 * math.degrees(math.asin(1.54184 / 4.21))  # the (200) reflection
    return {
        "MgO.cif": (FILES / "oxides/MgO.cif").read_text(encoding="utf-8"),
        "rutile.vasp": _poscar("TiO2", 4.594, 2.959, {"Ti": 2, "O": 4}, rutile),
        "SrTiO3.vasp": _poscar("SrTiO3", 3.905, 3.905, counts, perovskite),
        "relaxed.vasp": _poscar("SrTiO3", 3.938, 3.938, counts, perovskite),
        "thermal.csv": f"T_K,a_A\n{lines}\n",
        "peaks.csv": f"two_theta,intensity\n36.95,104\n{strong:.3f},1210\n62.31,560\n74.70,61\n",
        "energies.json": '{"Li": -1.897, "O2": -9.832, "Li2O": -14.270}',
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made_at = tmp_path_factory.mktemp("planted")
    shutil.copytree(FILES, made_at, dirs_exist_ok=True)
    for name, text in _files().items():
        (made_at / name).write_text(text, encoding="utf-8")
    return made_at


async def notes_of(sandbox: Sandbox, case: Mapping[str, Any], folder: Path) -> list[str]:
    """What the assistant says of an answer before its values are trusted."""
    inputs = {name: folder / name for name in case.get("files", ())}
    found = await answered(sandbox, case["code"], "answer", case["question"], inputs)
    assert found.works, f"{case['name']}: {found.text}"
    return list(found.notes)


@pytest.mark.parametrize(("kind", "count", "least"), PLANTED)
async def test_planted_errors_are_told(
    live_sandbox: Sandbox, folder: Path, kind: str, count: int, least: int
):
    told = [(case, await notes_of(live_sandbox, case, folder)) for case in CASES[kind]]
    missed = [(case["name"], notes) for case, notes in told
              if not any(re.search(case["told"], note) for note in notes)]  # fmt: skip
    assert len(told) == count
    assert len(missed) <= count - least, missed


@pytest.mark.parametrize(("kind", "count", "most"), RIGHT)
async def test_right_answers_are_not_accused(
    live_sandbox: Sandbox, folder: Path, kind: str, count: int, most: int
):
    told = [(case, await notes_of(live_sandbox, case, folder)) for case in CASES[kind]]
    accused = [(case["name"], notes) for case, notes in told if notes]
    assert len(told) == count
    assert len(accused) <= most, accused
