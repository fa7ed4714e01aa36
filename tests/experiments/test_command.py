"""The command line: what a user may type, and what happens when it is wrong."""

import re
from operator import attrgetter

import pytest
import yaml

from experiments.command import main
from experiments.run.config import read_runs
from foundation.configuration import Conf, split


def compose(*arguments):
    return [config for _, config in read_runs(arguments)]


def test_the_defaults_of_the_readme():
    (config,) = compose()
    names = (
        config.system.name,
        config.retrieval.name,
        config.benchmark.name,
        config.model.name,
    )
    assert names == ("reflect", "llm_doc", "live", "frontier-2026-11 (recorded)")
    assert config.seeds == (0,)


def test_a_key_or_an_endpoint_chooses_the_model(monkeypatch):
    (config,) = compose("model.base_url=http://localhost:1/v1", "model.name=qwen")
    assert (config.model.provider, config.model.name) == ("openai", "qwen")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (config,) = compose()
    assert config.model.provider == "openai"
    assert "k" not in config.plain()["model"].values()
    (config,) = compose("model=none")
    assert config.model.provider == "none"


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["model.name=gpt-4o"], "model.provider", "openai"),
        (["seeds=3"], "seeds", (0, 1, 2)),
        (["seeds=[3,5]"], "seeds", (3, 5)),
        (["ids=[a,b]"], "ids", ("a", "b")),
        (["ids=one"], "ids", ("one",)),
        (["budget.calls=7"], "budget.calls", 7),
        (
            ["+model.price={prompt: 1.0, completion: 2.0}", "model=openai"],
            "model.price.completion",
            2.0,
        ),
        (["retrieval.k=20"], "retrieval.k", 20),  # not in the file of its group
        (["retrieval.evidence.types=0"], "retrieval.evidence.types", 0),
        (["benchmark=mattools"], "sandbox.timeout", 300),
        (["benchmark=mattools", "sandbox.timeout=7"], "sandbox.timeout", 7),
        (["benchmark=curie"], "system.name", "single"),
        (["benchmark=curie", "system=rag"], "system.name", "rag"),
        (["system=tests.support.tiny:Scripted"], "system.name", "scripted"),
    ],
)
def test_values(words, key, value):
    (config,) = compose(*words)
    assert attrgetter(key)(config) == value


def test_help_names_every_group_choice_and_key(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for group, choices in Conf().groups().items():
        assert group in shown
        for choice in choices:
            assert choice in shown
    for key in (
        "seeds",
        "limit",
        "ids",
        "concurrency",
        "budget.cost_usd",
        "run_budget.calls",
    ):
        assert f"  {key}" in shown


CHOICES = [
    f"{group}={name}" for group, names in Conf().groups().items() for name in names
]


@pytest.mark.parametrize("word", CHOICES)
def test_help_of_a_choice_explains_every_key(word, capsys):
    assert main([word, "--help"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == word
    for line in lines:
        assert re.fullmatch(r"  [\w.]*[a-z0-9] +\S.* (\[.*\]|\(required\))", line), line


def test_a_folder_of_ones_own_is_asked_before_ours(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "single.yaml").write_text(
        "_target_: agents.systems.reflect.Resample\nname: thrice\nmax_iterations: 3\n"
    )
    (config,) = compose("system=single", "--config-dir", str(tmp_path))
    assert (config.system.name, config.system.params["max_iterations"]) == ("thrice", 3)
    assert compose("system=single")[0].system.name == "single"


def test_what_would_run_holds_the_defaults_of_its_classes(capsys):
    assert main(["--cfg", "system=resample", "seeds=2"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["seeds"] == [0, 1]
    params = {"k": None, "max_iterations": 5, "check_contract": True, "select": "best"}
    assert {key: shown["system"][key] for key in params} == params
    assert main(["system=resample", "launcher=dask", "--help"]) == 0
    shown = capsys.readouterr().out
    for word in (
        "system.max_iterations",
        "[5]",
        "launcher.workers",
        "[2]",
        "launcher.address",
    ):
        assert word in shown
    assert "choices:" not in shown


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ["a", "b"]),
        ("[a,b],{c: 1,d: 2}", ["[a,b]", "{c: 1,d: 2}"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("it's,fine", ["it's", "fine"]),
        ("", [""]),
    ],
)
def test_where_several_values_part(text, values):
    assert split(text) == values
