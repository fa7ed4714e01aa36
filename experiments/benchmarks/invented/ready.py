"""Makes a world into a folder or the cache, and proves its references.

What holds by construction (each mistake of a caller shows, no two things are called alike, the
documents hold every fact and no program reads them) is tested in ``tests/experiments/invented``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from pydantic import ConfigDict

from experiments.benchmarks.invented.graph import differs
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.scorer import LINKS, links_of
from experiments.benchmarks.invented.world import World, generate
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import MANIFEST, TaskSpec
from indexes.corpus import building, replaced_folder
from matsmith.core.progress import saying
from sandbox import environments

BASE = "live"
#: What documents are read of, what answers import, and what no sandbox of an answer ever sees.
DOCUMENTED, PACKAGE, QUESTIONS = "documented", "package", "questions"
_SOURCES = {".py", ".yaml", ".j2"}
_SAME = 1e-8  # two evaluations of a value differ by less: rounding


class InventedSpec(TaskSpec):
    """A ``task.yaml`` of a world: it has no code; how much a question needs are its labels."""

    model_config = ConfigDict(extra="allow")

    scaffold: str = ""


@dataclass(frozen=True)
class Ready:
    """A world in a folder."""

    folder: Path
    package: str  # import name
    environment: str  # of the sandbox: an overlay on `BASE`


def ready(knobs: Knobs) -> Ready:
    """The world of these knobs, made into the cache if need be; see `make`."""
    # What decides a world besides its knobs: this program, and the library beneath.
    digest = hashlib.sha256(environments.lock_file(BASE).read_bytes())
    for path in sorted(p for p in Path(__file__).parent.rglob("*.*") if p.suffix in _SOURCES):
        digest.update(path.name.encode() + path.read_bytes())
    name = "-".join(map(str, (*astuple(knobs), digest.hexdigest()[:12])))
    kept = environments.cache_folder() / "invented" / name
    with building(kept):  # a second process waits, then finds it done
        if not kept.is_dir():
            with replaced_folder(kept) as fresh, saying("invented package") as say:
                make(knobs, fresh, say)  # an interrupted one leaves nothing
    return _load(kept)


def make(knobs: Knobs, out: Path, say: Callable[[str], None] = lambda _: None) -> World:
    """Write a world with its golds; `WorldError` when it cannot be made or a reference fails."""
    say("drawing symbols and questions")
    world = generate(knobs)
    _write(world, out)
    say("environment")
    environment = _load(out).environment
    environments.build(environment, say=say)
    say("running the references")
    with ThreadPoolExecutor(1) as pool:  # the caller may be inside of an event loop
        findings = pool.submit(asyncio.run, _prove(world, out / QUESTIONS, environment)).result()
    if findings:
        shown = "\n  ".join(findings[:20])
        raise WorldError(f"{out}: the world failed {len(findings)} of its gates:\n  {shown}")
    return world


def _write(world: World, out: Path) -> None:
    texts = {f"{DOCUMENTED}/{name}": text for name, text in world.files.items()}
    texts |= {f"{PACKAGE}/{name}": text for name, text in world.bare.items()}
    for question in world.questions:
        folder = f"{QUESTIONS}/{question.id}"
        asked = [{"name": one.name, "description": one.description, "format": one.format}
                 for one in question.asked]  # fmt: skip
        counted = {"area": "invented", "depth": question.depth, "breadth": question.breadth}
        specification = {**counted, "properties": asked, "goal": question.goal}
        texts[f"{folder}/task.yaml"] = _json(specification)  # JSON is YAML
        texts[f"{folder}/reference.py"] = question.reference
        texts[f"{folder}/{LINKS}"] = _json(links_of(world, question))
    facts = {"package": world.package, "symbols": len(world.symbols), "knobs": asdict(world.knobs)}
    # With the manifest, benchmark=folder can ask these questions too.
    manifest = {"package": world.package, "overlay": PACKAGE, "documented": DOCUMENTED}
    texts |= {"world.json": _json(facts), MANIFEST: _json(manifest)}
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _load(folder: Path) -> Ready:
    package = json.loads((folder / "world.json").read_text(encoding="utf-8"))["package"]
    environment = environments.overlay(
        package, base=BASE, folder=folder / PACKAGE, documented=folder / DOCUMENTED
    )
    return Ready(folder, package, environment)


async def _prove(world: World, questions: Path, environment: str) -> list[str]:
    """References pass the gates of all questions, which writes golds, and agree with the graph."""
    findings = []
    recorded = ["pymatgen-core"]
    async with Checker(env=environment, form=InventedSpec, recorded=recorded) as checker:
        for question in world.questions:
            folder = questions / question.id
            found = list((await checker.check(folder, write=True)).findings)
            if not found:
                gold = json.loads((folder / "gold.json").read_text(encoding="utf-8"))["properties"]
                found = [
                    f"{one.name}: {gold[one.name]!r}, but the graph gives {one.gold!r}"
                    for one in question.asked
                    if differs(one.gold, gold[one.name], _SAME)
                ]
            findings += [f"{question.id}: {finding}" for finding in found]
    return findings
