"""An answer on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from agents.assistant.answers import Answer
from sandbox.colours import coloured
from sandbox.terminal import printable

SOURCES = 12  # that are listed
_DISTRIBUTIONS = ("pymatgen", "pymatgen-core", "pymatgen-analysis-defects")
_RULES = (
    "model=rules is not an LLM: it only answers questions that list properties (`- `name`: "
    "what it is. Format: float.`). Set OPENAI_API_KEY, or give model.base_url= and "
    "model.name=."
)


def safe(text: str) -> str:
    """Text that neither drives the terminal nor is read as markup."""
    return escape(printable(text))


def print_answer(answer: Answer, console: Console) -> None:
    """Result, code, sources, what was tried, what it cost."""
    if answer.code is None or answer.outcome is None:
        console.print("[bold]No code:[/bold]", safe(answer.text))
    else:
        if answer.works:
            console.print("[bold]Result[/bold]")
            console.print(safe(answer.returned))
        else:
            console.print(f"[bold]The code does not work:[/bold] {answer.outcome}")
            console.print(safe(answer.error))
        versions = [f"{n} {answer.versions[n]}" for n in _DISTRIBUTIONS if n in answer.versions]
        ran = f"executed in the {answer.tier} sandbox on {', '.join(versions)}: {answer.outcome}"
        console.print(f"\n[bold]Code[/bold] ({ran})")
        console.print(coloured(answer.code))
    if answer.sources:
        listed = [source.name for source in answer.sources[:SOURCES]]
        console.print("\n[bold]Sources[/bold]\n" + safe("\n".join(listed)))
    if answer.tried:
        listed = [f"{number}. {text}" for number, text in enumerate(answer.tried, 1)]
        console.print("\n[bold]Tried[/bold]\n" + safe("\n".join(listed)))
    usage = answer.usage
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    about = " (estimated)" if usage.estimated else ""
    spent = f"{answer.model}: {usage.calls} calls, {usage.tokens} tokens{about}, {cost}"
    console.print(f"\n[dim]{safe(spent)}, {answer.seconds:.1f} s[/dim]")
    if answer.model.endswith("(no LLM)") and not answer.works:
        console.print(_RULES)
