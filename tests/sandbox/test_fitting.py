"""What stands against laying a wheel in front of an installed environment."""

import zipfile

import pytest

from sandbox import environments, own
from sandbox.base import SandboxError
from tests.sandbox.wheels import make_wheel

Base = environments.Environment


@pytest.fixture(scope="module")
def live():
    return environments.build("live")


def obstacles(folder, base, *headers, files=()):
    wheel = make_wheel(folder, "grove", dict.fromkeys(("grove/__init__.py", *files), ""), *headers)
    own.unpack(wheel, folder / "files")
    return own.obstacles(wheel, folder / "files", base)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([], None),
        (["Requires-Dist: NumPy>=1", "Requires-Dist: pymatgen", "Requires-Python: >=3.11.5,<4"],
         None),
        (["Requires-Dist: no-such-thing; sys_platform == 'win32'"], None),
        (["Requires-Dist: no-such-thing; extra == 'dev'", "Provides-Extra: dev"], None),
        (["Requires-Dist: no-such-thing>=2"], "grove==1.0 depends on no-such-thing>=2"),
        (["Requires-Dist: numpy<1"], "grove==1.0 depends on numpy<1"),
        (["Requires-Dist: numpy @ https://127.0.0.1/numpy.whl"], "numpy"),
        (["Requires-Dist: numpy((("], "parse"),
        (["Requires-Dist: pymatgen[optional]"], "pymatgen[optional]"),
        (["Requires-Python: >=4"], "Python"),
    ],
)  # fmt: skip
def test_requirements_that_the_base_meets_and_others(headers, reason, tmp_path, live):
    found = obstacles(tmp_path, live, *headers)
    assert len(found) == (reason is not None)
    for line in found:
        assert line.startswith("live does not have what it needs: ")
        assert reason in line
        assert "\n" not in line


def test_what_an_installation_would_do_otherwise(tmp_path, live):
    found = obstacles(tmp_path, live, files=("numpy/more.py", "hook.pth", "grove-1.0.data/x"))
    for words in ("live has a 'numpy' too", "'hook.pth'", "'grove-1.0.data'"):
        assert any(words in item for item in found), words
    wheel = (tmp_path / "grove-1.0-py3-none-any.whl").rename(
        tmp_path / "grove-1.0-cp39-cp39-any.whl"
    )
    found = own.obstacles(wheel, tmp_path / "files", live)
    assert "compiled parts" in found[0]
    assert "no wheels with a matching Python" in found[-1]


def test_an_archive_cannot_leave_its_folder_or_fill_the_disk(tmp_path, monkeypatch):
    wheel = tmp_path / "grove-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../outside.py", "x = 1\n")
        link = zipfile.ZipInfo("grove/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    own.unpack(wheel, tmp_path / "files")
    assert not (tmp_path / "outside.py").exists()
    assert not (tmp_path / "files/grove/link.py").is_symlink()
    monkeypatch.setattr(own, "MOST_UNPACKED", 10)
    with pytest.raises(SandboxError, match="MB unpacked"):
        own.unpack(wheel, tmp_path / "again")
    wheel.write_text("not an archive")
    with pytest.raises(SandboxError, match="cannot be unpacked"):
        own.unpack(wheel, tmp_path / "again")
