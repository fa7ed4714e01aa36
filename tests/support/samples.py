"""Sample packages and tables of the tests' data."""

import re
from textwrap import dedent

import yaml

from tests.support.paths import DATA

_FILE = re.compile(r"^## `([^`]+)`\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sample(name):
    """The files of a sample: ``tests/data/sources/NAME.md`` holds one below each heading."""
    return dict(
        _FILE.findall((DATA / "sources" / f"{name}.md").read_text(encoding="utf-8"))
    )


def table(name):
    """The tables of ``tests/data/NAME.yaml``."""
    return yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))


FILES = sample("brickwork")


def write_package(folder, files=FILES):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return folder
