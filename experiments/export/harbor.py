"""Questions as tasks of Harbor: a folder for each, which any agent of Harbor can be given.

Questions whose answer is code that returns properties become tasks: an instruction, the
environment with the pinned packages, tests that hold what is expected, and the reference where
there is one. The tests bring our readers and comparison along: a task needs nothing of matsmith.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from agents import prompts
from agents.answer import CodeAnswer
from experiments.baselines import written
from experiments.files import make_folder, write_json, write_text
from experiments.report.runs import Run
from experiments.run.config import RunConfig
from experiments.run.setup import build_benchmark, load_samples
from experiments.samples import Sample
from foundation.errors import UsageError
from sandbox import environments

ROOT = Path(__file__).parents[2]
#: What grades an answer in the container, and the modules that it needs.
TESTS = Path(__file__).with_name("harbor_tests")
MODULES = (
    "agents/answer.py",
    "docgen/reading.py",
    "sandbox/inside/compare.py",
    "sandbox/inside/decoding.py",
    "sandbox/inside/formats.py",
    "sandbox/inside/tagged.py",
    "sandbox/inside/values.py",
)
INSTRUCTION = """\
{question}

Write your reply, in the form asked for, to the file `/app/answer.md`. The libraries are installed
here; only that file is graded. Its code is run afresh in a folder with the input files.
"""
#: Of the environment's lock file; packages that exist as source only are built as we do.
DOCKERFILE = """\
FROM python:{python}-slim
WORKDIR /app
COPY packages/ /packages/
RUN cd /packages && python -m pip install --no-cache-dir --disable-pip-version-check --no-deps \\
    {options} --require-hashes --requirement requirements.lock
COPY inputs/ /app/
"""
TEST = """\
#!/bin/bash
python3 -I /tests/grade.py
"""
SOLVE = """\
#!/bin/bash
cp "$(dirname "$0")/answer.md" /app/answer.md
"""
_SECONDS = 300  # of an answer's code


def harbor_tasks(run: Run, out: Path) -> Sequence[Path]:
    """Write a task for each question that a run asked; returns their folders.

    A `UsageError` where no question is answered by code that returns properties.
    """
    config = RunConfig.model_validate(run.summary["config"])
    asked = set(run.summary["question_ids"])
    samples = [
        sample
        for sample in load_samples(build_benchmark(config), config)
        if sample.question.id in asked and _is_task(sample)
    ]
    if not samples:
        raise UsageError(
            f"{config.benchmark.name}: none of the run's questions is answered by code that"
            " returns properties; only such questions become tasks (to=inspect has every run)"
        )
    return [_write(sample, config.benchmark.name, out / "harbor") for sample in samples]


def _is_task(sample: Sample) -> bool:
    return (
        sample.question.wants_code
        and bool(sample.properties)
        and not sample.private
        and sample.unavailable is None
    )


def _write(sample: Sample, benchmark: str, out: Path) -> Path:
    question = sample.question
    name = _task_name(question.id)
    folder = out / name
    inputs = {target: Path(source) for target, source in question.mounts.items()}
    messages = prompts.request_answer(question)
    text = "\n\n".join(message.text for message in messages)
    _environment(folder / "environment", sample.environment, inputs)
    _tests(folder / "tests", sample, inputs)
    if isinstance(sample.reference, CodeAnswer):
        make_folder(folder / "solution")
        write_text(
            folder / "solution" / "answer.md",
            written(question.answer, sample.reference),
        )
        write_text(folder / "solution" / "solve.sh", SOLVE)
    write_text(folder / "instruction.md", INSTRUCTION.format(question=text))
    write_text(folder / "task.toml", _settings(sample, benchmark, name))
    return folder


def _task_name(question: str) -> str:
    """A name that Harbor accepts, another one for each question."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", question).strip(".-")
    if name == question:
        return name
    return f"{name}-{hashlib.sha256(question.encode()).hexdigest()[:8]}".lstrip("-")


def _settings(sample: Sample, benchmark: str, name: str) -> str:
    """``task.toml``; a JSON text is a text of TOML as well."""
    metadata = {"benchmark": benchmark, "question": sample.question.id, **sample.labels}
    lines = [
        'schema_version = "1.1"',
        "",
        "[task]",
        f"name = {json.dumps(f'matsmith/{benchmark}-{name}')}",
        "",
        "[metadata]",
        *(
            f"{json.dumps(key)} = {json.dumps(value)}"
            for key, value in metadata.items()
        ),
        "",
        "[agent]",
        "timeout_sec = 900.0",
        "",
        "[verifier]",
        f"timeout_sec = {_SECONDS + 60}.0",
        "",
        "[environment]",
        "build_timeout_sec = 1800.0",
        "",
    ]
    return "\n".join(lines)


def _environment(folder: Path, name: str, inputs: dict[str, Path]) -> None:
    if environments.own_packages(name) is not None:
        raise UsageError(
            f"the environment {name!r} holds packages of your own beside a lock file, which a"
            " task of Harbor could not install"
        )
    make_folder(folder / "packages")
    environments.copy_lock(name, folder / "packages")
    text = DOCKERFILE.format(
        python=environments.wanted_python(name) or environments.CURRENT,
        options=" ".join(environments.build_options(name)),
    )
    write_text(folder / "Dockerfile", text)
    _copy(inputs, folder / "inputs")


def _tests(folder: Path, sample: Sample, inputs: dict[str, Path]) -> None:
    make_folder(folder)
    for file in TESTS.glob("*.py"):
        shutil.copyfile(file, folder / file.name)
    for module in MODULES:
        target = folder / "packages" / module
        make_folder(target.parent)
        shutil.copyfile(ROOT / module, target)
    expected = {
        "seconds": _SECONDS,
        "properties": [vars(prop) for prop in sample.properties],
    }
    write_json(folder / "expected.json", expected)
    write_text(folder / "test.sh", TEST)
    _copy(inputs, folder / "inputs")


def _copy(inputs: dict[str, Path], folder: Path) -> None:
    """Input files by the path that a question names them by."""
    make_folder(folder)
    for name, source in inputs.items():
        target = folder / name
        if not target.resolve().is_relative_to(folder.resolve()):
            raise UsageError(
                f"the input file {name!r} lies outside of the working directory"
            )
        make_folder(target.parent)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
