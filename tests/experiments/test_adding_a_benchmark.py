"""docs/adding-a-benchmark.md, followed literally."""

import re
import shutil
import sys
from pathlib import Path

from agents.composition import expand, groups, parse
from experiments.config import compose, validate
from experiments.scorers.properties import verify_here
from experiments.setup import build_benchmark, load_samples
from sandbox.command import CONF
from sandbox.runner import dumps

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-benchmark.md"


def test_the_guide_works(tmp_path, monkeypatch):
    text = GUIDE.read_text()
    source, config = (
        re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("python", "yaml")
    )
    conf = shutil.copytree(CONF, tmp_path / "conf")
    (conf / "benchmark" / "mine.yaml").write_text(
        config.replace("experiments.benchmarks.mine", "a_new_benchmark")
    )
    (tmp_path / "a_new_benchmark.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    (overrides,) = expand(parse(["benchmark=mine"], conf), multirun=False)
    configuration = validate(compose(overrides, conf))
    benchmark = build_benchmark(configuration)
    (task,) = load_samples(benchmark, configuration)
    assert benchmark.name == "mine"
    assert benchmark.scorer.parts(task) == ["volume"]
    assert verify_here(task.properties, dumps({"volume": 64.01}))["volume"] == (True, "")
    assert not verify_here(task.properties, dumps({"volume": 64.64}))["volume"][0]
    assert "mine" in groups(conf)["benchmark"]
    sys.modules.pop("a_new_benchmark")
