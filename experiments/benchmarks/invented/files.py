"""A world as files."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from experiments.benchmarks.invented.world import World
from experiments.benchmarks.question_format import MANIFEST

#: What of a world a caller may see, and what no sandbox of an answer ever does.
PACKAGE, PRIVATE = "package", "private"


def write(world: World, out: Path) -> None:
    """Write ``package/`` and ``private/questions/``, without golds: a checker writes those."""
    texts = {f"{PACKAGE}/{name}": text for name, text in world.files.items()}
    for question in world.questions:
        spec = {
            "area": "invented",
            "depth": question.depth,
            "breadth": question.breadth,
            "properties": [
                {"name": one.name, "description": one.description, "format": one.format}
                for one in question.asked
            ],
            "goal": question.goal,
        }
        folder = f"{PRIVATE}/questions/{question.id}"
        texts[f"{folder}/task.yaml"] = _json(spec)  # JSON is YAML
        texts[f"{folder}/reference.py"] = question.reference
    facts = {"package": world.package, "symbols": len(world.symbols), "knobs": asdict(world.knobs)}
    texts[f"{PRIVATE}/world.json"] = _json(facts)
    # With it, benchmark=folder can ask these questions too.
    texts[f"{PRIVATE}/{MANIFEST}"] = _json({"package": world.package, "overlay": f"../{PACKAGE}"})
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
