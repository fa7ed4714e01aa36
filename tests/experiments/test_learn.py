"""A library in one command: learnt, asked for by name, noticed when it changes, forgotten."""

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from agents.assistant.config import read_config
from experiments.command import main as run
from experiments.learn import _compiled, _what, import_names, main
from experiments.library import main as library
from experiments.record import read_rows
from foundation.errors import UsageError
from sandbox import environments, libraries
from tests.support.paths import DATA

NAME = f"grove{os.getpid()}"  # of this process: several learn at once
ORCHARD = DATA / "orchard"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the orchard with a file that is no Python, learnt with a skill."""
    folder = tmp_path_factory.mktemp("learn")
    copy = Path(shutil.copytree(ORCHARD, folder / "orchard"))
    (copy / "src" / "orchard" / "broken.py").write_text("def (:\n")
    trees = copy / "src" / "orchard" / "trees.py"
    trees.write_text(
        trees.read_text() + '\n\ndef twice(x: int) -> int:\n    """Twice as many.'
        "\n\n    >>> from orchard.trees import twice\n    >>> twice(2)\n    4\n"
        '    """\n    return 2 * x\n'
    )
    assert main([str(copy), f"name={NAME}", f"--skill={folder / 'project'}"]) == 0
    yield copy
    assert library(["forget", NAME]) == 0


@pytest.mark.long
def test_what_is_learnt_and_its_questions_run_by_name(project, tmp_path):
    found = libraries.learnt(NAME)
    assert (found.packages, found.questions) == (("orchard",), 9)
    assert found.symbols > 15
    assert [line.partition(":")[0] for line in found.unread] == ["orchard/broken.py"]
    config = read_config([f"library={NAME}"])  # of the assistant
    assert (config.packages, config.env) == (("orchard",), found.env)
    out = tmp_path / "run"
    words = [
        "benchmark=folder",
        f"benchmark.library={NAME}",
        "system=oracle",
        f"out={out}",
    ]
    assert run(words) == 0
    rows = list(read_rows(out / "results.jsonl"))
    assert [row.all_correct for row in rows] == [True] * 9


@pytest.mark.long
def test_what_is_known_of_a_library_is_listed(project, capsys):
    assert library(["show", NAME]) == 0
    shown = capsys.readouterr().out
    assert "imported as: orchard" in shown
    assert re.search(r"questions: +9 in .*tasks/questions", shown)
    assert re.search(r"(?m)^  class +orchard\.\w+", shown)
    assert library(["list", NAME]) == 2
    assert "this command takes no arguments" in capsys.readouterr().err


@pytest.mark.long
def test_the_skill(project, capsys):
    root = project.parent / "project"
    skill = root / ".agents" / "skills" / NAME
    text = (skill / "SKILL.md").read_text()
    assert len(text.encode()) <= 8192
    assert (
        "picking_days(orchard: Orchard, pickers: int, *, rate: float = 310.0) -> float"
        in text
    )
    assert (
        "Example (has run)" in (skill / "references" / "orchard.trees.md").read_text()
    )
    assert "Example" not in (skill / "references" / "orchard.picking.md").read_text()
    (root / "AGENTS.md").write_text(
        "Ours.\n" + (root / "AGENTS.md").read_text() + "Below.\n"
    )
    assert main([NAME, "--check", str(root)]) == 0
    facts = json.loads((skill / "symbols.json").read_text())
    facts["orchard.gone"] = ["gone()", ""]
    facts["orchard.trees.twice"][0] = "twice(y)"
    (skill / "symbols.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert main([NAME, "--check", str(root)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "gone: orchard.gone",
        "changed: orchard.trees.twice: twice(y) -> twice(x: int) -> int",
    ]


@pytest.mark.long
def test_a_changed_source(project, capsys):
    assert library(["refresh", NAME]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    picking = project / "src" / "orchard" / "picking.py"
    picking.write_text(
        picking.read_text() + '\n\nLADDERS = 3\n"""How many there are."""\n'
    )
    assert library([]) == 0
    assert f"{NAME}: " in (said := capsys.readouterr().out)
    assert f"changed since: matsmith library refresh {NAME}" in said
    before = libraries.learnt(NAME).symbols
    shutil.rmtree(project / "tests")
    assert library(["refresh", NAME]) == 0
    found = libraries.learnt(NAME)
    assert (found.symbols, found.questions) == (before + 1, 0)
    assert not found.changed
    assert not found.tasks.exists()


@pytest.mark.long
def test_tests_of_ones_own_are_found_from_anywhere(project):
    shutil.copytree(ORCHARD / "tests", project / "checks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert main([".", f"name={NAME}", "tests=checks"]) == 0
    assert libraries.learnt(NAME).tests == str(project / "checks")


def contents(folder: Path) -> dict[Path, bytes]:
    """What lies in a folder, but for bytecode."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.suffix != ".pyc"}


@pytest.mark.long
@pytest.mark.parametrize("error", [UsageError("no registry"), OSError(28, "disk full")])
@pytest.mark.parametrize(
    "step", ["own.build_wheel", "own.install", "build_retriever", "build_questions"]
)
def test_what_fails_in_the_middle_leaves_the_library_as_it_was(
    project, monkeypatch, step, error
):
    before = libraries.learnt(NAME)
    content = contents(before.folder)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(f"experiments.learn.{step}", fail)
    with contextlib.suppress(OSError):
        main([str(project), f"name={NAME}"])
    if step != "build_questions" or isinstance(error, OSError):
        assert libraries.learnt(NAME) == before
        assert contents(before.folder) == content
    leftovers = before.folder.parent.glob(f".{NAME}.*")
    assert [path.suffix for path in leftovers] in ([], [".lock"])


@pytest.mark.long
def test_what_is_learnt_is_read_from_where_it_lies(project):
    site = environments.site_packages(libraries.learnt(NAME).env)
    links = [path for path in site.iterdir() if path.is_symlink()]
    assert links
    assert all(path.exists() for path in links)
    assert (site / "orchard").resolve().is_relative_to(libraries.learnt(NAME).folder)


@pytest.mark.long
def test_a_crash_between_two_renames_is_mended(project):
    before = libraries.learnt(NAME)
    before.folder.rename(before.folder.with_name(f".{NAME}.old"))
    assert libraries.learnt(NAME) == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import a_package_that_nobody_has\n", "No module named"),
        ("while True:\n    pass\n", "did not end within"),
    ],
)
def test_what_cannot_be_imported_is_said(tmp_path, capsys, monkeypatch, source, reason):
    monkeypatch.setattr("experiments.learn.IMPORT_SECONDS", 3.0)
    (tmp_path / "brittle").mkdir()
    (tmp_path / "brittle" / "__init__.py").write_text(f'"""Brittle."""\n{source}')
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "brittle"\nversion = "1"\n'
        '[build-system]\nrequires = ["setuptools"]\n'
        '[tool.setuptools]\npackages = ["brittle"]\n'
    )
    assert main([str(tmp_path), f"name=brittle-{NAME}"]) == 0
    try:
        assert f"cannot be imported: {reason}" in "".join(capsys.readouterr()) or (
            reason in libraries.learnt(f"brittle-{NAME}").import_error
        )
    finally:
        assert library(["forget", f"brittle-{NAME}"]) == 0


@pytest.mark.long
def test_a_library_of_which_nothing_can_be_read_is_one_line(tmp_path, capsys):
    (tmp_path / "brittle").mkdir()
    (tmp_path / "brittle" / "__init__.py").write_text(f"x = {'-' * 100_000}1\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "brittle"\nversion = "1"\n'
        '[build-system]\nrequires = ["setuptools"]\n'
        '[tool.setuptools]\npackages = ["brittle"]\n'
    )
    assert main([str(tmp_path), f"name=unread-{NAME}"]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("error: brittle: nothing public that can be read")
    assert not libraries.folder_of(f"unread-{NAME}").exists()


@pytest.mark.parametrize(
    "name", ["../../elsewhere", "..", "", "a/b", "a\nb", ".a", "é"]
)
def test_a_project_named_like_a_path_is_refused(name, tmp_path, capsys):
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = {json.dumps(name)}\n")
    assert main([str(tmp_path)]) == 2
    assert "not the name of a distribution" in capsys.readouterr().err
    for use in (libraries.folder_of, libraries.learnt):
        with pytest.raises(UsageError, match="not the name"):
            use(name)


@pytest.mark.parametrize("words", [["ase==0.0.1"], ["ase", "version=0.0.1"]])
def test_a_version_belongs_to_the_name_and_what_fails_leaves_nothing(
    words, monkeypatch, capsys
):
    def refused(requirement, out, **_):
        out.mkdir(parents=True)
        raise UsageError(f"{requirement} is not to be had")

    monkeypatch.setattr("experiments.learn.own.require", refused)
    assert main([*words, f"name=un{NAME}"]) == 2
    assert capsys.readouterr().err.endswith("error: ase==0.0.1 is not to be had\n")
    assert not libraries.folder_of(f"un{NAME}").exists()


@pytest.mark.parametrize(
    ("given", "version"), [(".", "1"), ("ase==2", "1"), ("ase", "1\n--pre")]
)
def test_a_version_is_that_of_a_bare_name(given, version, capsys):
    assert main([given, f"version={version}"]) == 2
    assert "error: version=" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["ase==1\n--index-url=x", "ase>\r1", "ase==1 --pre"])
def test_a_requirement_is_one_line(given):
    with pytest.raises(UsageError):
        _what(given)


def test_the_digest_is_of_the_sources_alone_and_compiled_modules_are_named(tmp_path):
    (tmp_path / "a.py").write_text("")
    before = libraries.digest_of(tmp_path)
    for name in (".venv", "x.egg-info", "src/build"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "b.py").write_text("")
    assert libraries.digest_of(tmp_path) == before
    (tmp_path / "src" / "b.py").write_text("")
    assert libraries.digest_of(tmp_path) != before
    assert _compiled(["src"], tmp_path) == []
    for n in range(7):
        (tmp_path / "src" / f"_f{n}.so").touch()
    (line,) = _compiled(["src"], tmp_path)
    assert line.startswith("compiled modules: src/_f0.so, ")
    assert line.endswith("src/_f4.so, 2 more")
    (tmp_path / "src" / "_f0.pyi").touch()
    assert "_f0" not in _compiled(["src"], tmp_path)[0]


def installed(folder, distribution, *files):
    """Files of a distribution as an installer leaves them."""
    info = folder / f"{distribution.replace('-', '_')}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 1\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


def test_an_add_on_is_what_it_installs_itself(tmp_path):
    installed(tmp_path, "rock", "rock/io.py", "rock/tools/__init__.py")
    installed(
        tmp_path,
        "rock-erosion",
        "rock/erosion/__init__.py",
        "rock/erosion/rain.py",
        "rock/tools/sieve.py",
    )
    assert import_names("rock", tmp_path) == ("rock",)  # the namespace is its own
    assert import_names("rock-erosion", tmp_path) == (
        "rock.erosion",
        "rock.tools.sieve",
    )
    installed(tmp_path, "sand", "_grain.pyi", "sand/__init__.py")
    assert import_names("Sand", tmp_path) == ("sand", "_grain")
