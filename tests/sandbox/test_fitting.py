"""What stands against laying a wheel in front of an installed environment."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sandbox import environments, fitting
from sandbox.base import SandboxError

PURE = "grove-1.0-py3-none-any.whl"


def unpacked(folder: Path, *headers: str, files: tuple[str, ...] = ("grove/__init__.py",)) -> Path:
    info = folder / "grove-1.0.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", "Name: grove", "Version: 1.0", *headers]
    (info / "METADATA").write_text("\n".join(lines) + "\n\nA description: numpy==0\n")
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


@pytest.fixture(scope="module")
def live() -> environments.Environment:
    return environments.build("live")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ["Requires-Dist: NumPy>=1", "Requires-Dist: pymatgen", "Requires-Python: >=3.11"],
        ["Requires-Python: >=3.11.5,<4"],
        ["Requires-Dist: no-such-thing; sys_platform == 'win32'"],
        ["Requires-Dist: no-such-thing; extra == 'dev'", "Provides-Extra: dev"],
        ["Requires-Dist: no-such-thing; python_version < '3'"],
    ],
)
def test_requirements_that_the_base_meets(
    headers: list[str], tmp_path: Path, live: environments.Environment
) -> None:
    assert fitting.obstacles(PURE, unpacked(tmp_path / "files", *headers), live) == []


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Requires-Dist: no-such-thing>=2", "needs no-such-thing>=2, which live does not have"),
        ("Requires-Dist: numpy<1", "needs numpy<1, live has "),
        ("Requires-Dist: numpy @ https://127.0.0.1/numpy.whl", "numpy from an address"),
        ("Requires-Dist: numpy(((", "cannot be read"),
        ("Requires-Dist: pymatgen[no-such-extra,optional]", None),
        ("Requires-Python: <3", "needs Python <3, live has 3."),
        ("Requires-Python: whatever", "needs Python whatever"),
    ],
)
def test_requirements_that_it_does_not_meet(
    header: str, reason: str | None, tmp_path: Path, live: environments.Environment
) -> None:
    found = fitting.obstacles(PURE, unpacked(tmp_path / "files", header), live)
    if reason is None:  # what the extra asks for stands in the metadata of the base
        assert all("which live does not have" in item or "live has" in item for item in found)
        reason = "it needs "
    assert len(found) >= 1
    assert reason in found[0]


def test_what_an_installation_would_do_otherwise(
    tmp_path: Path, live: environments.Environment
) -> None:
    files = unpacked(tmp_path / "files", files=("numpy/more.py", "hook.pth", "grove-1.0.data/x"))
    found = fitting.obstacles("grove-1.0-cp311-cp311-linux_x86_64.whl", files, live)
    for words in ("compiled parts", "live has a 'numpy' too", "'hook.pth'", "'grove-1.0.data'"):
        assert any(words in item for item in found), words
    (files / "grove-1.0.dist-info" / "METADATA").unlink()
    assert "it has no metadata" in fitting.obstacles(PURE, files, live)


def test_an_archive_cannot_leave_its_folder_or_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / PURE
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../outside.py", "x = 1\n")
        link = zipfile.ZipInfo("grove/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    fitting.unpack(wheel, tmp_path / "files")
    assert not (tmp_path / "outside.py").exists()
    assert not (tmp_path / "files/grove/link.py").is_symlink()
    monkeypatch.setattr(fitting, "MOST", 10)
    with pytest.raises(SandboxError, match="MB unpacked"):
        fitting.unpack(wheel, tmp_path / "again")
    wheel.write_text("not an archive")
    with pytest.raises(SandboxError, match="cannot be unpacked"):
        fitting.unpack(wheel, tmp_path / "again")
