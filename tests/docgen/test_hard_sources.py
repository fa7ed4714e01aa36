"""Sources that are hard to read: what Python accepts, and what it does not."""

import pytest

from docgen import render
from docgen.__main__ import main
from docgen.library import read_library
from docgen.sources import SourceError, read_sources
from tests.support.samples import sample, table, write_package
from tests.support.writers import rows


def library(folder, files, package="pkg"):
    return read_library([package], write_package(folder, files))


def test_modules_that_import_all_of_each_other_are_searched_once(tmp_path):
    names = [f"m{i}" for i in range(12)]
    stars = "".join(f"from .{name} import *\n" for name in names)
    files = {f"pkg/{name}.py": f"{stars}\n\ndef use(): missing()\n" for name in names}
    files["pkg/m11.py"] += "\n\ndef found(): ...\n"
    files["pkg/__init__.py"] = "from .m0 import *\n"
    files["pkg/user.py"] = "from .m0 import *\n\n\ndef go(): found()\n"
    read = library(tmp_path, files)  # exponential without a record of what was searched
    assert read.symbols["pkg.user.go"].calls == ("pkg.m11.found",)
    assert read.symbols["pkg.m0.use"].calls == ()


def test_long_chains_of_imports_end(tmp_path):
    files = {f"pkg/m{i}.py": f"from .m{i + 1} import X\n" for i in range(600)}
    deep = ".".join(["pkg", *["a"] * 3000])
    files |= {
        "pkg/__init__.py": f"from {deep} import Y\n",
        "pkg/m600.py": "class X: ...\n",
    }
    files["pkg/user.py"] = (
        "from .m0 import X\nfrom pkg import Y\n\n\nclass Z(X, Y): ...\n"
    )
    assert library(tmp_path, files).symbols["pkg.user.Z"].bases == ("X", "Y")


def test_all_decides_what_a_star_import_offers(tmp_path):
    files = {
        "pkg/__init__.py": "from .plain import *\nfrom .grown import *\n",
        "pkg/plain.py": "__all__ = ['shown']\ndef shown(): ...\ndef hidden(): ...\n",
        "pkg/grown.py": "__all__ = ['a']\n__all__ += ['b']\ndef a(): ...\ndef b(): ...\n",
    }
    read = library(tmp_path, files)
    assert read.symbols["pkg.plain.shown"].import_path == "pkg.shown"
    assert read.symbols["pkg.plain.hidden"].import_path == "pkg.plain.hidden"
    assert "pkg.hidden" not in read.aliases
    assert read.symbols["pkg.grown.b"].import_path == "pkg.b"


def test_an_import_path_is_one_that_works(tmp_path):
    read = library(tmp_path, sample("paths"))
    assert read.symbols["pkg.a.Wall"].import_path == "pkg.a.Wall"
    assert (
        read.symbols["pkg.a.Brick"].import_path == "pkg.a.Brick"
    )  # Block(...) is no Brick(...)
    assert read.aliases["pkg.Block"] == "pkg.a.Brick"
    assert read.symbols["pkg.lazy.b.Late"].import_path == "pkg.lazy.Late"


def test_the_first_of_alternatives_counts(tmp_path):
    read = library(tmp_path, sample("alternatives"))
    assert read.symbols["pkg.total"].docstring == "With numpy."
    assert read.symbols["pkg.use"].calls == ("pkg.fast.solve",)


def test_facts_of_a_class_with_every_kind_of_member(tmp_path):
    read = library(tmp_path, sample("members"))
    members = {member.name: member for member in read.symbols["pkg.Holder"].members}
    assert render.signature_text(members["one"].signature) == " -> pkg.other.Thing"
    assert render.signature_text(members["many"].signature) == " -> list[Holder]"
    assert (
        render.signature(read.symbols["pkg.Data"])
        == "Data(a: int, *, b: list[int] = ...)"
    )
    assert read.symbols["pkg.Data.size"].docstring == "How large."
    assert "pkg.Data.Inner.Deep.go" in read.symbols
    assert render.signature(read.symbols["pkg.over"]) == "over(x)"


def test_lines_end_where_python_ends_them(tmp_path):
    text = 'A = 1\n\x0c\ndef one():\n    return "ONE"\n\x0c\nB = 1\n'
    read = library(
        tmp_path, {"pkg/__init__.py": text + 'def two():\n    return "\u2028TWO"\n'}
    )
    assert read.symbols["pkg.one"].source == 'def one():\n    return "ONE"'
    assert read.symbols["pkg.two"].source == 'def two():\n    return "\u2028TWO"'
    assert read.symbols["pkg"].last_line == 8


def test_encodings(tmp_path):
    folder = write_package(tmp_path, {"pkg/__init__.py": ""})
    latin = '# -*- coding: latin-1 -*-\ndef size():\n    """Größe in Ångström."""\n'
    (folder / "pkg/latin.py").write_text(latin, encoding="latin-1")
    (folder / "pkg/undeclared.py").write_bytes(b'def size():\n    """Gr\xf6\xdfe."""\n')
    (folder / "pkg/unknown.py").write_bytes(b"# coding: klingon\ndef size(): ...\n")
    (folder / "pkg/half.py").write_text('def size():\n    """\\ud83d"""\n')
    read = read_library(["pkg"], folder)
    assert read.symbols["pkg.latin.size"].docstring == "Größe in Ångström."
    assert read.symbols["pkg.undeclared.size"].docstring == "Gr\ufffd\ufffde."
    assert "pkg.unknown.size" in read.symbols
    out = tmp_path / "docs.jsonl"
    assert main(["package=pkg", f"folder={folder}", f"out={out}"]) == 0
    assert "pkg.half.size" in rows(out)


def test_generated_code_too_deep_for_the_parser_is_left_out_with_the_reason(
    tmp_path, capsys
):
    branches = "".join(f"elif x == {i}:\n    a = {i}\n" for i in range(2500))
    files = {
        "pkg/__init__.py": "def fine(): ...\n",
        "pkg/sum.py": "A = " + " + ".join(["1"] * 20_000) + "\n",
        "pkg/chain.py": "def chain(x):\n    return x" + ".a()" * 280 + "\n",
        "pkg/branches.py": "x = 1\nif x == 0:\n    a = 0\n" + branches,
        "pkg/broken.py": "def (:\n",
    }
    out = tmp_path / "docs.jsonl"
    assert (
        main(["package=pkg", f"folder={write_package(tmp_path, files)}", f"out={out}"])
        == 0
    )
    printed = capsys.readouterr().out
    assert "pkg/sum.py (nested too deeply)" in printed
    assert "pkg/branches.py (nested too deeply)" in printed
    assert "pkg/broken.py (" in printed
    assert {"pkg", "pkg.fine", "pkg.chain", "pkg.chain.chain"} == set(rows(out))


def test_what_cannot_be_imported_or_is_a_test_is_no_source(tmp_path):
    files = dict.fromkeys(table("documentation")["paths"], "A = 1\n")
    read = read_sources(["pkg"], write_package(tmp_path, files))
    assert {source.module for source in read} == {
        "pkg",
        "pkg.code",
        "pkg.contest",
        "pkg.latest",
        "pkg.protest.a",
    }
    assert {(source.package, source.version) for source in read} == {("pkg", None)}


def test_a_project_with_a_src_folder_says_its_version(tmp_path):
    files = {
        "pyproject.toml": '[project]\nname = "pkg-dist"\nversion = "3.1"\n',
        "src/pkg/__init__.py": "",
        "src/single.py": "def alone(): ...\n",
        "src/space/addon/mod.py": "def far(): ...\n",
    }
    read = read_sources(["pkg", "single", "space"], write_package(tmp_path, files))
    assert [source.module for source in read] == ["pkg", "single", "space.addon.mod"]
    assert {(source.package, source.version) for source in read} == {
        ("pkg-dist", "3.1")
    }
    assert read_sources(["pkg"], tmp_path / "src")[0].version == "3.1"
    with pytest.raises(SourceError, match="not an import name"):
        read_sources(["src/pkg"], tmp_path)


@pytest.mark.parametrize("codec", ["rot13", "zlib", "undefined", "idna", "punycode"])
def test_an_encoding_that_is_not_of_text_stops_nothing(tmp_path, codec):
    text = f"# coding: {codec}\ndef f(): ...\nx = 'é'\n"
    read = library(tmp_path, {"pkg/__init__.py": "", "pkg/odd.py": text})
    assert "pkg" in read.symbols
