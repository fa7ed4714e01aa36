"""What a rebuilt house must still do: ``python -m tests.frozen write``; the long tests compare it.

Systems that ask no model answer a few questions of every benchmark and arm (``measured.yaml``);
documents are searched for. All of it goes through commands; only rows of run folders are read.
Data beside the checkout (``../shared/data``, or ``MATSMITH_SHARED``) are used if they are there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.support.paths import ROOT

GOLDEN = ROOT / "tests" / "data" / "frozen.json"
SHARED = Path(
    os.environ.get("MATSMITH_SHARED", ROOT.parent / "shared" / "data")
).resolve()
PLAN = yaml.safe_load(
    Path(__file__).with_name("measured.yaml").read_text(encoding="utf-8")
)
SYSTEMS = ("oracle", "echo", "empty")
LABELS = {
    "curie": "task",
    "qmbench": "type",
}  # by which rows of a benchmark are told apart

Found = dict[str, Any]


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """A module, or a command of ``matsmith``."""
    command = words[0].split(".") if words[0].startswith("matsmith.") else words[:1]
    words = (*command, *words[1:])
    variables = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env=variables,
        text=True,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def placed(keys: str, folder: Path) -> list[str] | None:
    """Arguments for a benchmark; ``None`` where data are needed that are not here."""
    words = keys.replace("TMP", str(folder)).replace("SHARED", str(SHARED)).split()
    missing = any(
        str(SHARED) in w and not Path(w.partition("=")[2]).exists() for w in words
    )
    return (
        None
        if missing
        else [w if w[:6] == "limit=" else f"benchmark.{w}" for w in words]
    )


def prepare(name: str, folder: Path) -> None:
    """Benchmarks of somebody's own: from unit tests, by hand, multiple choice."""
    if name == "folder/unit_tests":
        env, orchard = (
            folder / "env",
            folder / "orchard",
        )  # others build it where it lies
        shutil.copytree(ROOT / "tests" / "data" / "orchard", orchard)
        python("matsmith.environment", f"project={orchard}", f"out={env}")
        words = [
            f"tests={orchard / 'tests'}",
            "package=orchard",
            f"out={folder / 'tasks'}",
        ]
        python("matsmith.questions", *words, f"env={env}")
    elif name == "folder/by_hand":
        for question in PLAN["own"]:
            source = next((ROOT / "experiments").rglob(f"{question}/task.yaml")).parent
            shutil.copytree(source, folder / "own" / "questions" / question)
        (folder / "own" / "benchmark.yaml").write_text(
            "package: pymatgen\nenvironment: live\n"
        )
    elif name == "mattools_qa/file":
        with (folder / "choices.jsonl").open("w") as file:
            for question, texts, right in PLAN["choices"]:
                choices = dict(zip("ABCD", map(str, texts), strict=True))
                line = {
                    "question": question,
                    "choices": choices,
                    "correct_answer": right,
                }
                file.write(json.dumps(line) + "\n")


def runs(name: str, keys: str, folder: Path) -> Found:
    """One benchmark and arm, by every system."""
    words = placed(keys, folder)
    if words is None:
        return {}
    prepare(name, folder)
    benchmark, out = name.partition("/")[0], folder / "out"
    chosen = [f"system={','.join(SYSTEMS)}", f"benchmark={benchmark}", *words]
    done = python("experiments.run", "-m", *chosen, "sandbox.workers=1", f"out={out}")
    if done.returncode not in {0, 1}:
        sys.stderr.write(f"{name}: {done.stderr[-2000:]}\n")
    groups: dict[str, list[Any]] = defaultdict(list)
    for system, row in rows(out):
        label = row["labels"].get(LABELS.get(benchmark, ""))
        groups[" ".join(filter(None, (name, system, label)))].append(row)
    return {
        f"{name} exit": done.returncode,
        **{k: scores(groups[k]) for k in sorted(groups)},
    }


def rows(out: Path) -> Iterator[tuple[str, Any]]:
    """System and row, of whatever lines of JSON in a run folder are rows."""
    for file in sorted(out.rglob("*.jsonl")):
        system = next(
            name for name in SYSTEMS if f"/{name}" in f"/{file.relative_to(out)}"
        )
        for line in file.read_text(encoding="utf-8").splitlines():
            if "passed" in (row := json.loads(line)):
                yield system, row


def scores(rows: Sequence[Mapping[str, Any]]) -> Found:
    """What rows of one kind say together; a value is its mean where it is known."""
    judged, values = (
        [row for row in rows if row["passed"] is not None],
        defaultdict(list),
    )
    for row in rows:
        for key, value in row["values"].items():
            values[key] += [] if value is None else [value]
    right = sum(sum(row["passed"].values()) for row in judged)
    return {
        "n": len(rows),
        "right": f"{right} of {sum(row['criteria'] for row in judged)}",
        "outcomes": dict(sorted(Counter(row["outcome"] for row in rows).items())),
        "read": dict(
            sorted(Counter(str(row["format_status"]) for row in rows).items())
        ),
        "values": {
            k: round(sum(v) / len(v), 3) + 0.0 for k, v in sorted(values.items()) if v
        },
    }


def recall(name: str, keys: str, folder: Path) -> Found:
    """What the documents for a benchmark's questions are found by."""
    words, out = placed(keys, folder), folder / "out.json"
    if words is None:
        return {}
    chosen = [f"benchmark={name}", *words, "retrieval=llm_doc", f"out={out}"]
    found: Found = {
        f"recall {name} exit": python("matsmith.evaluate", *chosen).returncode
    }
    for one in json.loads(out.read_text()) if out.is_file() else ():
        found[f"recall {one['questions']}, {one['retriever']}"] = {
            "n": one["queries"],
            **{
                f"hidden@{k}": f"{h['found']} of {h['of']}"
                for k, h in one["hidden"].items()
            },
            **{f"R@{k}": round(r["mean"], 3) for k, r in one["recall"].items()},
            "MRR": round(one["mrr"]["mean"], 3),
        }
    return found


JOBS: dict[str, Callable[[Path], Found]] = {
    **{name: partial(runs, name, keys) for name, keys in PLAN["runs"].items()},
    **{
        f"recall {name}": partial(recall, name, keys)
        for name, keys in PLAN["recall"].items()
    },
}


def measured(job: str) -> Found:
    """What one job finds; nothing where it needs data that are not here."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = JOBS[job](Path(folder))
    how = (
        f"{time.monotonic() - began:.0f} s"
        if found
        else f"not measured: needs {SHARED}"
    )
    sys.stderr.write(f"{job}: {how}\n")
    return found


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit(__doc__)
    with ThreadPoolExecutor(2) as pool:
        found = [pair for part in pool.map(measured, JOBS) for pair in part.items()]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
