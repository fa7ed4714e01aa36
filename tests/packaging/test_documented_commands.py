"""Every command that README and docs show, from a wheel in an empty environment."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.installation import run
from tests.support.paths import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

TABLE = yaml.safe_load(Path(__file__).with_name("documented.yaml").read_text())
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```(?:console|sh|bash|text)?\n(.*?)^```", re.DOTALL | re.MULTILINE
)
COMMAND = re.compile(r"^(?:\S.* \| |\$ )?(?:\.venv/bin/)?(matsmith(?: \S+)*)")


def commands():
    """Each command once, without remarks behind it."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text()):
            for line in re.sub(r" *\\\n\s*", " ", block).splitlines():
                typed = re.sub(r" +#.*|(?<=\S)   *(?=[a-z]).*", "", line.strip())
                if match := COMMAND.match(re.sub(r" +", " ", typed)):
                    yield match[1]


COMMANDS = list(dict.fromkeys(commands()))


def exception(command):
    """Why a command is not run; ``None`` where it is."""
    reasons = TABLE["exceptions"].items()
    return next((why for why, what in reasons if re.search(what, command)), None)


@pytest.fixture(scope="module")
def place(installed, tmp_path_factory):
    """A folder with two runs, as the docs assume them."""
    folder = tmp_path_factory.mktemp("place")
    words = ("limit=2", "retrieval=none")
    run(
        installed / "matsmith",
        "run",
        "system=single",
        *words,
        "out=runs/A",
        folder=folder,
    )
    run(
        installed / "matsmith",
        "run",
        "system=reflect",
        "limit=2",
        "out=runs/B",
        folder=folder,
    )
    return folder


@pytest.mark.parametrize("command", [c for c in COMMANDS if exception(c) is None])
def test_it_runs(command, installed, place):
    for name, value in TABLE["names"].items():
        row = json.loads((place / "runs/A/results.jsonl").read_text().splitlines()[0])
        command = re.sub(name, value.format(question=row["question_id"]), command)
    words = shlex.split(command)[1:]
    for pattern, limit in TABLE["limits"].items():
        if re.match(pattern, command) and not {"--help", limit} & {*words}:
            words = [word for word in words if not word.startswith("limit=")]
            words.append(limit)
    assert run(installed / "matsmith", *words, folder=place).strip()


def test_the_others_are_known(installed, place):
    """Names of commands, groups, choices and keys exist in the wheel."""
    excepted = [command for command in COMMANDS if exception(command) is not None]
    assert excepted
    for command in excepted:
        words = shlex.split(command)[1:]
        if words[0] == "run":
            asked = [word.replace("benchmark=NAME", "benchmark=live") for word in words]
            text = run(installed / "matsmith", *asked, "--cfg", folder=place)
            assert "\nbudget:" in text
            continue
        name = (
            words[:2]
            if words[:2] in (["docs", "check"], ["docs", "examples"])
            else words[:1]
        )
        text = run(installed / "matsmith", *name, "--help", folder=place)
        assert f"usage: matsmith {' '.join(name)}" in text
        for key in re.findall(r"(?:^| )([a-z_]+)=", " ".join(words[len(name) :])):
            assert re.search(rf"\b{key}\b", text), f"{command}: {key}"


def test_every_reason_is_needed():
    for why, pattern in TABLE["exceptions"].items():
        assert any(re.search(pattern, command) for command in COMMANDS), why
