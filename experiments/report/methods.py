"""Text about how runs were made, for the methods section of a paper."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agents.templates import TEXTS
from experiments.report.runs import Run
from experiments.report.show import TEMPLATES
from experiments.report.tables import number

#: Distributions whose versions are named, of those that are installed.
NAMED = ("pymatgen", "pymatgen-analysis-defects", "ase", "numpy", "scipy")


def methods_text(runs: Sequence[Run]) -> str:
    """Two paragraphs for each run: what answered under which conditions, and what was counted."""
    environment = TEMPLATES.overlay(autoescape=False, trim_blocks=True)
    template = environment.get_template("methods.txt.j2")
    return "\n\n".join(template.render(_facts(run)).strip() for run in runs) + "\n"


def _facts(run: Run) -> Mapping[str, Any]:
    summary = run.summary
    config = summary["config"]
    tier = ", ".join(summary["sandbox_tier"])
    return {
        "run": run,
        "summary": summary,
        "model": run.model,
        "settings": _settings(config["model"]),
        "day": _last_day(run),
        "prompts": _prompts_digest(config.get("prompts") or {}),
        "versions": _versions(summary["packages"]),
        "budget": _settings(config["budget"]) or "no limits",
        "timeout": config["sandbox"].get("timeout"),
        "tier": tier,
        "seeds": ", ".join(map(str, summary["seeds"])),
        "calls": number(summary["calls"]),
        "tokens": number(summary["tokens"]),
        "clusters": len({row.cluster or row.question_id for row in run.scored}),
        "answers": summary["answers"],
        "wanted": summary["questions"] * len(summary["seeds"]),
    }


def _settings(values: Mapping[str, Any]) -> str:
    """Numbers that were set, with their names."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )


def _last_day(run: Run) -> str:
    changed = (run.folder / "results.jsonl").stat().st_mtime
    return datetime.fromtimestamp(changed, tz=UTC).strftime("%Y-%m-%d")


def _prompts_digest(chosen: Mapping[str, Any]) -> str:
    """Of all templates, those that the run replaced as it had them."""
    texts = {**TEXTS, **chosen.get("texts", {})}
    text = "\n".join(f"{name}: {text}" for name, text in sorted(texts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _versions(packages: Mapping[str, Mapping[str, str]]) -> str:
    return "; ".join(
        f"{environment}: "
        + ", ".join(f"{name} {versions[name]}" for name in NAMED if name in versions)
        for environment, versions in packages.items()
    )
