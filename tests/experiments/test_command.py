"""The command line: what a user may type, and what happens when it is wrong."""

import pytest
import yaml

from agents import composition
from experiments import config
from experiments.config import validate
from experiments.run import main
from sandbox.command import UsageError


def compose(*arguments, multirun=False):
    runs = composition.expand(composition.parse(arguments), multirun=multirun)
    return [validate(config.compose(run)) for run in runs]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_the_defaults_of_the_readme():
    (config,) = compose()
    names = (config.system.name, config.retrieval.name, config.benchmark.name, config.model.name)
    assert names == ("reflect", "llm_doc", "live", "rules")
    assert config.seeds == (0,)


def test_a_key_or_an_endpoint_chooses_the_model(monkeypatch):
    (config,) = compose("model.base_url=http://localhost:1/v1", "model.name=qwen")
    assert (config.model.provider, config.model.name) == ("openai", "qwen")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (config,) = compose()
    assert config.model.provider == "openai"
    assert "k" not in config.plain()["model"].values()
    (config,) = compose("model=rules")
    assert config.model.provider == "rules"


def test_a_name_alone_never_names_the_model_without_an_llm():
    (config,) = compose("model.name=gpt-4o")
    assert config.model.provider == "openai"


def test_values():
    (config,) = compose("seeds=3", "ids=[a,b]", "limit=2", "budget.calls=7", "retrieval.k=9")
    assert config.seeds == (0, 1, 2)
    assert config.ids == ("a", "b")
    assert config.budget.calls == 7
    assert config.retrieval.k == config.system.params["k"] == 9
    (config,) = compose("seeds=[3,5]", "ids=one")
    assert (config.seeds, config.ids) == ((3, 5), ("one",))
    (config,) = compose("+model.price={prompt: 1.0, completion: 2.0}", "model=openai")
    assert config.model.price.completion == 2.0


def test_every_combination_of_a_sweep():
    configs = compose("system=single,rag,reflect", "benchmark.level=scaffold,goal", multirun=True)
    found = {(config.system.name, config.benchmark.params["level"]) for config in configs}
    assert len(found) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["system=foo"], ["system=foo", "choose from", "reflect"]),
        (["-m", "system=rag,foo"], ["system=foo", "choose from"]),
        (["sytem=rag"], ["sytem", "did you mean system?", "benchmark"]),
        (["+sead=1"], ["sead", "seeds"]),
        (["-m", "hydra/launcher=joblib"], ["hydra/launcher=joblib", "launcher=dask"]),
        (["hydra.job.name=x"], ["hydra.job.name=x", "not used"]),
        (["seeds=0"], ["seeds=0", "at least 1"]),
        (["seeds=true"], ["seeds", "count"]),
        (["seeds=[1,1]"], ["seeds", "distinct"]),
        (["limit=-1"], ["limit=-1", "greater than 0"]),
        (["limit=many"], ["limit=many", "integer"]),
        (["system.max_iteration=2"], ["did you mean system.max_iterations?"]),
        (["system.max_iterations=many"], ["system.max_iterations=many", "integer"]),
        (["system.retrieve_next=maybe"], ["system.retrieve_next=maybe", "'critic'", "'off'"]),
        (["benchmark.level=expert"], ["benchmark.level=expert", "'scaffold' or 'goal'"]),
        (["benchmark._target_=no.Such"], ["benchmark._target_=no.Such", "imported"]),
        (["system._target_=agents.single.prompts"], ["is not a class"]),
        (["model=openai", "model.temperature=9"], ["model.temperature=9", "2"]),
        (["retrieval.mode=magic"], ["retrieval.mode=magic", "lexical"]),
        (["sandbox.workers=0"], ["sandbox.workers=0"]),
        (["budget.dollars=1"], ["budget.dollars", "budget.cost_usd"]),
        (["seeds.x=1"], ["seeds is a value"]),
        (["system=single,rag"], ["add -m"]),
        (["--foo"], ["--foo", "--help"]),
        (["nonsense"], ["nonsense", "KEY=VALUE"]),
        (["name=a/b"], ["name", "file name"]),
        (["out=${nowhere}"], ["nowhere"]),
        (
            ["benchmark._target_=tests.experiments.tiny.TinyBenchmark", "ids=[sphere]"],
            ["ids=sphere", "such as cubic"],
        ),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(arguments, words, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert shown.count("\n") == 1
    assert "Traceback" not in shown
    for word in words:
        assert word in shown


def test_a_key_that_the_file_of_its_group_does_not_list():
    (config,) = compose("retrieval.tokens=2000", "retrieval.evidence.types=0")
    assert (config.retrieval.tokens, config.retrieval.evidence.types) == (2000, 0)


def test_help_names_every_group_choice_and_key(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for group, choices in composition.groups().items():
        assert group in shown
        for choice in choices:
            assert choice in shown
    for key in ("seeds", "limit", "ids", "concurrency", "budget.cost_usd", "run_budget.calls"):
        assert f"  {key}" in shown


def test_cfg_prints_what_would_run(capsys):
    assert main(["--cfg", "system=rag", "seeds=2"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["system"]["name"] == "rag"
    assert shown["seeds"] == [0, 1]


def test_unknown_parameters_of_a_class_cannot_be_smuggled_in():
    with pytest.raises(UsageError, match="no such key"):
        compose("+system.parts=1")
