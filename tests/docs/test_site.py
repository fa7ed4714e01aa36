"""The documentation as a site: every link leads somewhere, and nothing is fetched to read it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What a browser loads by itself; links that a reader follows may lead outside.
LOADED = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"?(https?://[^\" >]+)")

pytestmark = pytest.mark.long


def build(root, site):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_site_is_built_without_a_dead_link(tmp_path):
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = {page.name: page for page in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "api.html", "ABOUT.html", "running.html"} <= pages.keys()
    reference = pages["api.html"].read_text("utf-8")
    assert 'id="matsmith.library.ask"' in reference
    for page in pages.values():
        assert LOADED.findall(page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "link", ["[x](nowhere.md)", "[x](../NOWHERE.md)", "[x](results.md#no-such-part)"]
)
def test_a_dead_link_fails_it(tmp_path, link):
    for name in ("docs", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml"):
        shutil.copy(path, tmp_path)
    for name in ("tests/data/quarry", "docgen/instructions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "docs/api.md").write_text(f"# API\n\n{link}\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    target = link.partition("(")[2].rstrip(")").partition("#")[2] or "NOWHERE"
    assert target.lower() in done.stderr.lower()
