"""Inputs that the model is told about, files that come back, turns that run again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agents.assistant import Answer, OutputFile, Value, store
from agents.assistant.files import attach, look, mentioned
from agents.assistant.show import sentence
from foundation.errors import UsageError
from sandbox.base import Sandbox
from tests.agents.assistant.acceptance import FILES
from tests.support.scripted import code_reply

PLOT = code_reply("""\
import matplotlib.pyplot as plt
from pymatgen.core import Lattice, Structure
plt.plot([1, 2], [3, 4])
plt.savefig("out/line.png")
open("out/page.svg", "w").write("<svg><script>alert(1)</script></svg>")
open("out/page.html", "w").write("<script>alert(1)</script>")
cell = Structure(Lattice.cubic(3.5), ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
return {"cell": cell, "volume_A3": cell.volume, "nothing": None}""")


async def test_what_is_in_a_file_is_said(live_sandbox: Sandbox, tmp_path: Path):
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "broken.cif").write_text("data_x\nnothing\x1b[2J here")
    (tmp_path / "blob.bin").write_bytes(b"\0\1\2")
    (tmp_path / "entry.json").write_text(
        json.dumps({"@module": "m", "@class": "C", "energy": 1})
    )
    names = [
        "POSCAR",
        "vasprun.xml",
        "volumes.csv",
        "oxides",
        "broken.cif",
        "blob.bin",
        "entry.json",
    ]
    looked = await look(live_sandbox, attach({}, [tmp_path / name for name in names]))
    said = {file.name: file for file in looked.files}
    assert [said[name].kind for name in names] == [
        "structure",
        "vasprun",
        "table",
        "folder",
        "text",
        "binary",
        "json",
    ]
    assert "space group Fm-3m (225" in said["POSCAR"].summary
    assert "MgO.cif: Mg4 O4, 8 sites" in said["oxides"].summary
    assert "looks like structure, but" in said["broken.cif"].summary
    assert "\x1b" not in "".join(looked.lines)
    assert "m.C as a dict with keys" in said["entry.json"].summary
    assert [figure.title for figure in looked.figures] == ["POSCAR"]
    assert str(tmp_path) not in "".join(looked.lines)
    assert said["POSCAR"].size == (tmp_path / "POSCAR").stat().st_size


async def test_files_and_figures_come_back_and_are_kept(converse, tmp_path: Path):
    session, _ = converse(PLOT)
    session.folder = tmp_path / "session"
    answer = await session.ask("Draw a line.")
    assert {file.name: file.mime for file in answer.files} == {
        "line.png": "image/png",
        # only bytes make a picture: what code wrote as text is never shown as one
        "page.svg": "application/octet-stream",
        "page.html": "application/octet-stream",
    }
    assert [(figure.title, figure.mime) for figure in answer.figures] == [
        ("cell", "image/svg+xml"),
        ("line.png", "image/png"),
    ]
    assert "<script" not in answer.figures[0].data.decode()
    scene = answer.figures[0].structure
    assert [kind["name"] for kind in scene["kinds"]] == ["Cs", "Cl"]
    assert len(scene["balls"]) == 9
    assert "Cs Cl\n1 1\n" in scene["files"]["poscar"]
    assert "no value for nothing" in answer.notes
    assert sentence(answer.values) == "Volume: 42.875 Å³; and 2 more."
    assert store.load(session.folder) == [answer]
    assert (tmp_path / "session/1/line.png").read_bytes() == answer.files[0].data
    plain = store.as_json(answer, session.folder / "1")
    assert plain["files"][0]["path"] == str(tmp_path / "session/1/line.png")
    json.dumps(plain)
    session.undo()
    assert store.load(session.folder) == []


async def test_none_for_what_is_missing_is_one_draft(converse):
    session, chat = converse(
        code_reply("return {'gap_eV': None, 'needs_input': 'a structure'}")
    )
    answer = await session.ask("What is its gap?")
    assert (answer.kind, answer.text) == ("needs_input", "a structure")
    assert len(chat.prompts) == 1
    partly, chat = converse(code_reply("return {'gap_eV': None, 'edge_A': 4.2}"))
    assert (await partly.ask("Gap and edge?")).works
    assert len(chat.prompts) == 1
    swallowed = code_reply(
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    return {'gap': None}"
    )
    again, chat = converse(swallowed, code_reply("return {'gap': 1.0}"))
    assert (await again.ask("Gap?")).works
    assert len(chat.prompts) > 1  # that None is a fault


#: A question, what it becomes, and the paths that it mentions.
MENTIONS = [
    ("What is @POSCAR?", "What is POSCAR?", ["POSCAR"]),
    ('in @"two words", @./POSCAR.', "in two words, POSCAR.", ["two words", "./POSCAR"]),
    ("a@b.c, Fe@C60 and @home", "a@b.c, Fe@C60 and @home", []),
    (f"@{'long' * 99} @~nobody", f"@{'long' * 99} @~nobody", []),
    ("@a/POSCAR, @b/POSCAR.", "a/POSCAR, b/POSCAR.", ["a/POSCAR", "b/POSCAR"]),
    (
        "@{root}/a/POSCAR or @{root}/b/POSCAR?",
        "POSCAR or b/POSCAR?",
        ["{root}/a/POSCAR", "{root}/b/POSCAR"],
    ),
    ("""@"100% 'Ti,#é.cif"?""", "100% 'Ti,#é.cif?", ["100% 'Ti,#é.cif"]),
]
#: What is handed over, and under which names code sees it.
ATTACHED = [
    (["a/POSCAR", "b/POSCAR"], ["a/POSCAR", "b/POSCAR"]),
    (["{root}/a/POSCAR", "{root}/b/POSCAR", "{root}/a/POSCAR"], ["POSCAR", "b/POSCAR"]),
    (["[ab]/POSCAR"], ["a/POSCAR", "b/POSCAR"]),
    (["out"], ["here/out"]),  # the code's own name
    (["."], ["here"]),
]


def test_paths_in_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "here"
    for name in (
        "POSCAR",
        "a/POSCAR",
        "b/POSCAR",
        "two words/x",
        "out/x",
        "100% 'Ti,#é.cif",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    monkeypatch.chdir(root)
    for question, text, paths in MENTIONS:
        found = mentioned(question.format(root=root))
        assert found == (text, [path.format(root=root) for path in paths])
    for given, names in ATTACHED:
        assert list(attach({}, [path.format(root=root) for path in given])) == names
    assert attach({}, ["a/POSCAR"]) == {"a/POSCAR": root / "a/POSCAR"}
    with pytest.raises(UsageError, match="no such file"):
        mentioned("look at @POSCR.vasp")


ANSWER = Answer(
    'What?\n"""\n# /// script',
    "answered",
    code="def f():\n    open('out/x.txt', 'w').write('y')\n    return {'edge_A': 4.25}",
    entry="f",
    values=(Value("edge_A", 4.25, "4.25", "Å"),),
    notes=("written by the model,\nimport os; os.abort()",),
    versions={"pymatgen": "2026.10.24"},
    lock="0" * 64,
)


def test_a_script_runs_again_and_a_folder_holds_all_of_an_answer(tmp_path: Path):
    store.deliver(ANSWER, tmp_path / "a.py")
    done = subprocess.run(
        [sys.executable, "a.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert done.stdout == "{'edge_A': 4.25}\n"
    assert (tmp_path / "out/x.txt").read_text() == "y"
    text = (tmp_path / "a.py").read_text()
    assert '#   "pymatgen==2026.10.24",' in text
    assert "#   edge_A: 4.25 Å" in text
    assert "matsmith" not in text
    whole = replace(ANSWER, files=(OutputFile("a/b.png", "image/png", 1, "", b"x"),))
    written = store.deliver(whole, tmp_path / "result")
    assert written == [tmp_path / "result/answer.py", tmp_path / "result/a/b.png"]


def test_a_damaged_session_is_one_line(tmp_path: Path):
    (tmp_path / "1.json").write_text('{"answer": 5}')
    with pytest.raises(UsageError, match=r"1\.json: no turn of a conversation"):
        store.load(tmp_path)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder that somebody else made, with links to what lies outside of it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "id_ed25519").write_text("a private key")
    folder = tmp_path / "project"
    (folder / "inner").mkdir(parents=True)
    (folder / "POSCAR").write_text("a cell")
    (folder / "key.cif").symlink_to(outside / "id_ed25519")
    (folder / "chain.cif").symlink_to("key.cif")
    (folder / "data").symlink_to(outside)
    (folder / "same.cif").symlink_to("POSCAR")
    (folder / "up.cif").symlink_to("inner/../POSCAR")
    os.mkfifo(folder / "pipe.cif")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "name", ["key.cif", "chain.cif", "data", "data/id_ed25519", "*.cif", "./key.cif"]
)
def test_a_link_out_of_a_folder_is_named_and_not_followed(project: Path, name: str):
    with pytest.raises(UsageError, match=r"outside.*pass its own path") as refused:
        attach({}, [name])
    assert "a private key" not in str(refused.value)


@pytest.mark.parametrize("name", ["key.cif", "data/id_ed25519"])
def test_a_mentioned_link_out_of_a_folder_is_not_followed(project: Path, name: str):
    with pytest.raises(UsageError, match="outside"):
        mentioned(f"What is in @{name}?")


def test_an_absolute_path_to_such_a_link_is_no_way_around(project: Path):
    with pytest.raises(UsageError, match="outside"):
        attach({}, [project / "key.cif"])
    target = project.parent / "outside" / "id_ed25519"
    assert attach({}, [target]) == {"id_ed25519": target}


def test_a_link_within_its_folder_is_an_input(project: Path):
    assert list(attach({}, ["same.cif"]).values()) == [project / "POSCAR"]
    assert list(attach({}, ["up.cif"]).values()) == [project / "POSCAR"]


@pytest.mark.parametrize("name", ["\u202efic.live", "a\nb.cif", "a\x1b[2J.cif"])
def test_a_refused_name_leaves_the_inputs_as_they_were(project: Path, name: str):
    (project / name).write_text("a cell")
    known = {"POSCAR": project / "POSCAR"}
    with pytest.raises(UsageError, match="rename it") as refused:
        attach(known, [name])
    assert str(refused.value).isprintable()
    assert known == {"POSCAR": project / "POSCAR"}


def test_what_is_neither_file_nor_folder_is_refused(project: Path):
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        attach({}, ["pipe.cif"])
