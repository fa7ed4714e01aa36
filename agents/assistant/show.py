"""An answer on a terminal."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from agents.assistant.answers import Answer, Origin, Value
from agents.base import Usage
from sandbox.colours import coloured
from sandbox.terminal import printable

SOURCES = 12  # that are listed
CALLS, LITERALS = 3, 6  # that stand beside a value
_DISTRIBUTIONS = ("pymatgen", "pymatgen-core", "pymatgen-analysis-defects")
_RULES = (
    "model=rules is not an LLM: it only answers questions that list properties (`- `name`: "
    "what it is. Format: float.`). Set OPENAI_API_KEY, or give model.base_url= and "
    "model.name=."
)
_HEADS = {
    "no_code": "No code:",
    "failed": "The code does not work:",
    "stopped": "Stopped:",
    "broken": "Not the model's doing:",
}


def safe(text: str) -> str:
    """Text that neither drives the terminal nor is read as markup."""
    return escape(printable(text))


def print_answer(answer: Answer, console: Console, folder: Path | None = None) -> None:
    """Values with their origin, notes, code, sources, files, what was tried, what it cost.

    Parameters
    ----------
    folder
        Where the files of the answer lie.
    """
    if answer.kind == "needs_input":
        console.print("[bold yellow]Needs input:[/bold yellow]", safe(answer.text))
    elif answer.works:
        console.print("[bold]Result[/bold]")
        for value in answer.values:
            _print_value(value, console)
        if answer.text:  # some values, and what the others lack
            console.print("[bold yellow]Needs input:[/bold yellow]", safe(answer.text))
    else:
        said = answer.text or f"{answer.outcome}\n{answer.error}"
        console.print(f"[bold]{_HEADS[answer.kind]}[/bold]", safe(said))
    for note in answer.notes:
        console.print(f"[bold yellow]![/bold yellow] {safe(note)}")
    if answer.code is not None and answer.outcome is not None:
        versions = [f"{n} {answer.versions[n]}" for n in _DISTRIBUTIONS if n in answer.versions]
        ran = f"executed in the {answer.tier} sandbox on {', '.join(versions)}: {answer.outcome}"
        console.print(f"\n[bold]Code[/bold] ({ran})")
        console.print(coloured(answer.code))
    _print_lists(answer, console, folder)
    console.print(f"\n[dim]{safe(f'{answer.model}: ')}{spent(answer.usage)}, "
                  f"{answer.seconds:.1f} s[/dim]")  # fmt: skip
    if answer.model.endswith("(no LLM)") and not answer.works:
        console.print(_RULES)


def _print_value(value: Value, console: Console) -> None:
    unit = f" {value.unit}" if value.unit else ""
    console.print(safe(f"{value.name!r}: {value.text}{unit}"))
    console.print(f"    [dim]{safe(in_words(value.origin))}[/dim]")


def in_words(origin: Origin) -> str:
    """Where a value comes from, in one line."""
    parts = []
    if origin.calls:
        names = [".".join(name.rsplit(".", 2)[-2:]) for name in reversed(origin.calls)]
        more = f" and {len(names) - CALLS} more" if len(names) > CALLS else ""
        parts.append(f"computed by {', '.join(names[:CALLS])}{more}")
    if origin.files:
        parts.append(f"from {', '.join(origin.files)}")
    for word, literals in (("given", origin.given), ("assumed by the model", origin.assumed)):
        if literals:
            listed = ", ".join(f"{literal.text}" for literal in literals[:LITERALS])
            more = f" and {len(literals) - LITERALS} more" if len(literals) > LITERALS else ""
            parts.append(f"{word}: {listed}{more}")
    if origin.unknown:
        parts.append(f"not certain: {'; '.join(origin.unknown)}")
    if origin.kind == "assumed" and not origin.assumed:
        parts.append("written by the model")
    return "; ".join(parts)


def _print_lists(answer: Answer, console: Console, folder: Path | None) -> None:
    if answer.sources:
        console.print("\n[bold]Sources[/bold] (what the code uses)")
        for source in answer.sources[:SOURCES]:
            where = f"{source.path}:{source.line}" if source.line else source.path
            line = safe(f"{source.name}  {source.distribution} {source.version}  {where}")
            console.print(f"[link={source.link}]{line}[/link]" if source.link else line)
        if len(answer.sources) > SOURCES:
            console.print(f"... {len(answer.sources) - SOURCES} more")
    if answer.files:
        console.print("\n[bold]Files[/bold]")
        for file in answer.files:
            at = file.name if folder is None else folder / file.name
            console.print(safe(f"{at}  {file.size} bytes  sha256 {file.sha256[:16]}"))
            if file.mime == "image/png" and console.is_terminal:
                console.file.write(picture(file.data, os.environ))
    if answer.tried:
        listed = [f"{number}. {text}" for number, text in enumerate(answer.tried, 1)]
        console.print("\n[bold]Tried[/bold]\n" + safe("\n".join(listed)))


def spent(usage: Usage) -> str:
    """Calls, tokens and cost in words."""
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    about = " (estimated)" if usage.estimated else ""
    return f"{usage.calls} calls, {usage.tokens} tokens{about}, {cost}"


def picture(data: bytes, environment: Mapping[str, str]) -> str:
    """A PNG as the terminal shows it; empty where it cannot."""
    text = base64.b64encode(data).decode()
    program = environment.get("TERM_PROGRAM", "")
    if program in {"iTerm.app", "WezTerm"} or environment.get("LC_TERMINAL") == "iTerm2":
        return f"\x1b]1337;File=inline=1;size={len(data)}:{text}\x07\n"
    if "kitty" in environment.get("TERM", "") or program == "ghostty":
        parts = [text[start : start + 4096] for start in range(0, len(text), 4096)]
        written = []
        for number, part in enumerate(parts):
            first = "a=T,f=100," if number == 0 else ""
            written.append(f"\x1b_G{first}m={int(number < len(parts) - 1)};{part}\x1b\\")
        return "".join(written) + "\n"
    return ""
