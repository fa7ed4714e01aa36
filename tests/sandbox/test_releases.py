"""An older release than the newest one is chosen: said with its reason; an index on loopback."""

import pytest

from sandbox import own, releases
from tests.support.wheels import make_sdist, make_wheel


@pytest.fixture
def index(tmp_path, httpserver, monkeypatch):
    """Serves files as an index does; a function that adds some of a project."""
    served = {}

    def add(project, *files):
        served.setdefault(project, []).extend(files)
        links = "".join(
            f'<a href="/files/{f.name}">{f.name}</a>' for f in served[project]
        )
        httpserver.expect_request(f"/simple/{project}/").respond_with_data(
            links, content_type="text/html"
        )
        for file in files:
            httpserver.expect_request(f"/files/{file.name}").respond_with_data(
                file.read_bytes()
            )

    url = httpserver.url_for("/simple")
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, url)
    for name in (
        "PIP_EXTRA_INDEX_URL",
        "UV_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    return add


def older(tmp_path, name):
    own.require(name, tmp_path / "env", base="none")
    return releases.older_than_newest(tmp_path / "env", name)


def test_the_newest_is_chosen_without_a_word(index, tmp_path):
    index("gravel", make_wheel(tmp_path, "gravel", {"gravel.py": ""}))
    assert older(tmp_path, "gravel") is None


def test_a_release_without_a_wheel_is_named(index, tmp_path):
    wheel = make_wheel(tmp_path, "gravel", {"gravel.py": ""})
    source = make_sdist(tmp_path, "gravel", "").rename(tmp_path / "gravel-9.0.tar.gz")
    index("gravel", wheel, source)
    line = older(tmp_path, "gravel")
    assert line == ("gravel 1.0: 9.0 has no wheel; version=9.0 insists on that release")


def test_an_index_that_cannot_be_asked_says_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert releases.newest("gravel") is None
