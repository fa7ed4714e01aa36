"""``matsmith ask --demo``: recorded conversations; what a model wrote runs now, in the sandbox."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml
from rich.console import Console

from agents.assistant.config import read_config
from agents.assistant.conversation import Terminal, exit_code
from agents.assistant.session import open_assistant
from agents.assistant.show import safe


async def play(overrides: Sequence[str], output: Console, progress: Console) -> int:
    """Ask what was recorded, or with ``model=`` another model; returns the exit code."""
    chosen = any(word.startswith("model") for word in overrides)
    config = read_config([*([] if chosen else ["model=recorded"]), *overrides])
    terminal = Terminal(output, progress)
    asked = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    codes = []
    with tempfile.TemporaryDirectory(prefix="matsmith-demo-") as name:
        (Path(name) / "POSCAR").write_text(asked["POSCAR"], encoding="utf-8")
        async with open_assistant(config, say=progress.print) as assistant:
            for conversation in asked["conversations"]:
                session = assistant.session()
                files = [str(Path(name) / file) for file in conversation["files"]]
                for question in conversation["questions"]:
                    output.rule()
                    output.print(f"[bold]ask>[/bold] {safe(question)}\n")
                    codes.append(exit_code(await terminal.ask(session, question, files)))
    return max(codes) if 1 in codes else 0
