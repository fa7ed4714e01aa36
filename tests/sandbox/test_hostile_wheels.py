"""Wheels that aim at the environment itself, at its stamp, or at who reads their metadata."""

import json

import pytest

from docgen.sources import SourceError, owners_of
from sandbox import environments
from sandbox.base import SandboxError
from tests.support.wheels import make_environment, make_wheel

DATA = "evil-1.0.data/data"
SITE = f"{DATA}/lib/{{python}}/site-packages"
STAMP = {"prefix": "/root", "base": "/python", "python": "python3.11", "packages": {}}


def environment(tmp_path, files):
    files = {"evil/__init__.py": "x = 1\n", **files}
    named = {
        path.format(python=f"python{environments.CURRENT}"): text
        for path, text in files.items()
    }
    wheel = make_wheel(tmp_path / "wheels", "evil", named)
    return str(make_environment(tmp_path / "env", wheel))


@pytest.mark.parametrize(
    "path",
    [
        ".complete.json",
        ".complete.json/folder",
        ".bytecode",
        "inside.cfg",
        "inside.cfg/folder",
        "pyvenv.cfg",
        "bin/activate",
        "lib/python3.0/site-packages/x.py",
    ],
)
def test_a_package_that_replaces_a_part_of_the_environment_is_named(
    own_cache, tmp_path, path
):
    env = environment(tmp_path, {f"{DATA}/{path}": json.dumps(STAMP)})
    with pytest.raises(SandboxError, match=r"a package writes \S+, which belongs"):
        environments.build(env)
    built = environments.folder(env)
    assert not built.exists()
    assert not built.with_name(f"{built.name}.building").exists()


def test_a_stamp_of_a_package_is_never_read_after_a_crash(
    own_cache, tmp_path, monkeypatch
):
    env = environment(tmp_path, {f"{DATA}/{environments.STAMP}": json.dumps(STAMP)})

    def crash(*_):
        raise SystemExit

    monkeypatch.setattr(environments, "_refuse_overwritten", crash)
    monkeypatch.setattr(
        "shutil.rmtree", lambda *_, **__: None
    )  # killed: nothing is cleared
    with pytest.raises(SystemExit):
        environments.build(env)
    monkeypatch.undo()
    assert not (environments.folder(env) / environments.STAMP).exists()


@pytest.mark.parametrize("path", ["bin/python", "bin/python3", "../../../escaped"])
def test_an_interpreter_or_a_file_elsewhere_is_not_written(own_cache, tmp_path, path):
    marker = tmp_path / "ran"
    env = environment(tmp_path, {f"{DATA}/{path}": f"#!/bin/sh\ntouch {marker}\n"})
    try:
        built = environments.build(env)
    except SandboxError:
        pass
    else:
        assert (built.folder / "bin" / "python").is_symlink()
    assert not marker.exists()
    assert not list(tmp_path.rglob("escaped"))


@pytest.mark.parametrize(
    "metadata", ["", "no header\n", "Name: \x1b[31mred\nVersion: \x1b]0;title\x07\n"]
)
def test_metadata_of_any_form_stop_nothing(own_cache, tmp_path, metadata):
    info = f"{SITE}/other-1.dist-info"
    record = "evil/__init__.py,,\n"
    env = environment(
        tmp_path, {f"{info}/METADATA": metadata, f"{info}/RECORD": record}
    )
    versions = environments.installed_versions(env)
    assert versions == {"evil": "1.0", "other": "1"}
    owners = owners_of(environments.site_packages(env))
    assert "\x1b" not in str(owners["evil/__init__.py"])


def test_metadata_are_not_read_to_the_end(tmp_path):
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    with (info / "METADATA").open("wb") as file:
        file.write(b"Name: other\nVersion: 1\n\n")
        file.truncate(64 << 30)  # a hole: no memory would hold it
    (info / "RECORD").write_text("other.py,,\n")
    assert owners_of(tmp_path) == {"other.py": ("other", "1")}


def write_record(folder, record):
    info = folder / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: other\nVersion: 1\n")
    (info / "RECORD").write_bytes(record)


def test_bytes_that_are_no_text_in_a_record_stop_nothing(tmp_path):
    write_record(tmp_path, b"\xff.py,,\nother.py,,\n")
    assert owners_of(tmp_path)["other.py"] == ("other", "1")


def test_a_record_that_cannot_be_read_is_one_line(tmp_path):
    write_record(tmp_path, b'"' + b"x" * 200_000)
    with pytest.raises(SourceError, match=r"RECORD: cannot be read .*[^\n]\Z"):
        owners_of(tmp_path)
