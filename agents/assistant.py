"""The coding assistant: a free question in, executed code out.

``matsmith ask "question"`` (or ``python -m agents.assistant ask ...``), without a question an
interactive conversation; ``matsmith mcp`` serves the same over the Model Context Protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape

from agents import prompts
from agents.base import Question, Step, Trajectory
from agents.episode import mounts_of, show
from agents.models import FAULTS
from agents.workbench import (
    EXECUTION_SECONDS,
    LIBRARIES,
    SYSTEMS,
    Settings,
    Workbench,
    open_workbench,
)
from retrieval.base import RetrievalError
from sandbox import environments
from sandbox.base import Execution, Outcome, SandboxError
from sandbox.colours import coloured
from sandbox.terminal import printable

TURNS = 5  # earlier questions that a prompt of a conversation shows
INTERRUPTED = 130
_LIBRARIES = ("pymatgen", "pymatgen-core", "pymatgen-analysis-defects")


class UsageError(Exception):
    """The user has to change something; the message says what."""


@dataclass(frozen=True)
class Solution:
    """An answer with what shows that it works.

    Attributes
    ----------
    execution
        The final run of the code, ``None`` when there is no code.
    """

    question: str
    trajectory: Trajectory
    execution: Execution | None

    @property
    def works(self) -> bool:
        """Whether the code ran and returned something."""
        return self.execution is not None and self.execution.outcome == Outcome.OK

    @property
    def instead(self) -> str:
        """What there is in place of code that works."""
        trajectory = self.trajectory
        happened = trajectory.error or FAULTS.get(trajectory.fault or "")
        said = [part for part in (happened, trajectory.answer.strip()) if part]
        return "\n".join(said) or "the model wrote none"

    @property
    def sources(self) -> list[str]:
        """Names of the documents that were retrieved, in order."""
        hits = [s.detail["hits"] for s in self.trajectory.steps if s.kind == "retrieve"]
        return list(dict.fromkeys(str(hit["name"]) for found in hits for hit in found))

    @property
    def tried(self) -> list[str]:
        """How each executed draft ended."""
        return [ending(step) for step in self.trajectory.steps if step.kind == "execute"]


async def solve(
    bench: Workbench,
    text: str,
    *,
    files: Mapping[str, str] | None = None,
    turns: Sequence[tuple[str, str, str]] = (),
) -> Solution:
    """Answer a free question; the final code is executed whatever the architecture does.

    Parameters
    ----------
    files
        Path inside the sandbox to path on the host; read-only.
    turns
        Earlier questions, each with its code and what that returned.

    Raises
    ------
    SandboxError
        When the sandbox failed on the final run.
    """
    files = dict(files or {})
    prompt = prompts.free_question(text, sorted(files), turns[-TURNS:])
    question = Question("ask", prompt, mounts=files, search=text)
    trajectory = await bench.agent.solve(question)
    execution = None
    if trajectory.code is not None and trajectory.entry is not None:
        execution = await bench.sandbox.run(
            trajectory.code,
            trajectory.entry,
            timeout=EXECUTION_SECONDS,
            mounts=mounts_of(question),
        )
    return Solution(text, trajectory, execution)


def ending(step: Step) -> str:
    """The outcome of an execution in one line."""
    lines = str(step.detail["error"]).strip().splitlines()
    return f"{step.detail['outcome']}{': ' + lines[-1] if lines else ''}"


def mounted(paths: Sequence[str]) -> dict[str, str]:
    """Input files by the name under which the code sees them.

    Raises
    ------
    UsageError
        When one does not exist, or two would have the same name.
    """
    found: dict[str, str] = {}
    for text in paths:
        path = Path(text).expanduser()
        if not path.exists():
            raise UsageError(f"--files {text}: no such file or folder")
        if path.resolve().name in found:
            raise UsageError(f"--files {text}: two inputs are called {path.resolve().name}")
        found[path.resolve().name] = str(path.resolve())
    return found


def describe_step(step: Step) -> str:
    """One line of progress about a step."""
    detail = step.detail
    if step.kind == "retrieve":
        names = [str(hit["name"]).rpartition(".")[2] for hit in detail["hits"]]
        return f"found {len(names)} documents: {', '.join(names[:6])}"
    if step.kind == "model":
        return f"asked the model ({detail['purpose']})" + (
            f": {detail['error']}" if "error" in detail else ""
        )
    if step.kind == "execute":
        return f"executed a draft: {ending(step)}"
    if step.kind == "check":
        return "checked: " + ("; ".join(detail["findings"][:3]) or "nothing to object to")
    return f"read the reply: {detail['status']}"


def _safe(text: str) -> str:
    """Text that neither drives the terminal nor is read as markup."""
    return escape(printable(text))


def print_solution(solution: Solution, bench: Workbench, console: Console) -> None:
    """Result, code, sources, what was tried, what it cost."""
    trajectory, execution = solution.trajectory, solution.execution
    if execution is None or trajectory.code is None:
        console.print("[bold]No code:[/bold]", _safe(solution.instead))
    else:
        versions = [f"{n} {bench.versions[n]}" for n in _LIBRARIES if n in bench.versions]
        ran = f"executed in the {execution.tier} sandbox on {', '.join(versions)}"
        if solution.works:
            console.print("[bold]Result[/bold]")
            console.print(_safe(show(execution.result)))
        else:
            console.print(f"[bold]The code does not work:[/bold] {execution.outcome}")
            console.print(_safe((execution.error or "")[-2000:]))
        console.print(
            f"\n[bold]Code[/bold] ({ran}: {execution.outcome}, {execution.seconds:.1f} s)"
        )
        console.print(coloured(trajectory.code))
    if solution.sources:
        console.print("\n[bold]Sources[/bold]\n" + _safe("\n".join(solution.sources[:12])))
    if solution.tried:
        listed = [f"{number}. {text}" for number, text in enumerate(solution.tried, 1)]
        console.print("\n[bold]Tried[/bold]\n" + _safe("\n".join(listed)))
    usage = trajectory.usage
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    about = "" if usage.estimated is False else " (estimated)"
    name = bench.model.name if bench.model.llm else f"{bench.model.name} (no LLM)"
    spent = f"{name}: {usage.calls} calls, {usage.tokens} tokens{about}, {cost}"
    console.print(f"\n[dim]{_safe(spent)}; {trajectory.stop_reason}[/dim]")
    if not bench.model.llm and not solution.works:
        console.print(
            "model=rules is not an LLM: it only answers questions that list properties (`- `name`: "
            "what it is. Format: float.`). Set OPENAI_API_KEY, or give --base-url and --model."
        )


def write_script(solution: Solution, path: Path) -> None:
    """The code as a script that prints what its function returns."""
    trajectory = solution.trajectory
    path.write_text(
        f"{str(trajectory.code).rstrip()}\n\n\n"
        f'if __name__ == "__main__":\n    print({trajectory.entry}())\n',
        encoding="utf-8",
        errors="backslashreplace",
    )


async def ask(arguments: argparse.Namespace) -> int:
    """Answer one question, or hold a conversation; returns the exit code."""
    files = mounted(arguments.files)
    if arguments.out is not None and not arguments.out.absolute().parent.is_dir():
        raise UsageError(f"--out {arguments.out}: its folder does not exist")
    progress = Console(stderr=True, soft_wrap=True)
    output = Console(soft_wrap=True)

    def on_step(_: Question, step: Step) -> None:
        progress.print(f"[dim]{_safe(describe_step(step))}[/dim]", highlight=False)

    async with open_workbench(settings_of(arguments), say=progress.print, on_step=on_step) as bench:
        if arguments.question:
            solution = await solve(bench, " ".join(arguments.question), files=files)
            return _deliver(solution, bench, arguments.out, output)
        return await _converse(bench, files, arguments.out, output)


async def _converse(
    bench: Workbench, files: Mapping[str, str], out: Path | None, output: Console
) -> int:
    """Questions line by line until the input ends; each sees the ones before it."""
    turns: list[tuple[str, str, str]] = []
    code = 0
    prompting = "ask> " if sys.stdin.isatty() else ""
    while True:
        try:
            text = (await asyncio.to_thread(input, prompting)).strip()
        except EOFError:
            return code
        if text in {"quit", "exit"}:
            return code
        if not text:
            continue
        solution = await solve(bench, text, files=files, turns=turns)
        code = _deliver(solution, bench, out, output)
        if solution.works and solution.execution is not None:
            returned = show(solution.execution.result)
            turns.append((text, str(solution.trajectory.code), returned))


def _deliver(solution: Solution, bench: Workbench, out: Path | None, output: Console) -> int:
    print_solution(solution, bench, output)
    if out is not None and solution.works:
        write_script(solution, out)
        output.print(f"written to {out}")
    return 0 if solution.works else 1


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that a command line asks for."""
    return Settings(
        system=arguments.system,
        model=arguments.model,
        base_url=arguments.base_url,
        provider=arguments.provider,
        settings=dict(arguments.set),
        environment=arguments.env,
        packages=arguments.packages,
        retrieval=arguments.retrieval,
        backend=arguments.sandbox,
        calls=arguments.calls,
    )


def setting(text: str) -> tuple[str, Any]:
    """A key and its value, written as in the configuration.

    Raises
    ------
    argparse.ArgumentTypeError
        When it is something else.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: the value is not YAML") from error


def parser() -> argparse.ArgumentParser:
    """The command line."""
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("--system", choices=sorted(SYSTEMS), default="reflect", help="architecture [reflect]")
    add("--model", help="name of a model, or rules (no LLM) [gpt-4o with a key, else rules]")
    add("--base-url", help="OpenAI-compatible endpoint [OPENAI_BASE_URL, else OpenAI's]")
    add("--provider", default="openai", help="openai, anthropic, google_genai, ... [openai]")
    add(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a further setting of the model, such as temperature=null; may be repeated",
    )
    listed = ", ".join(environments.names())
    add("--env", default="live", help=f"installed versions: {listed} or ./FOLDER [live]")
    add(
        "--packages",
        type=lambda text: tuple(text.split(",")),
        metavar="NAME,NAME",
        default=LIBRARIES,
        help=f"import names to look up [{','.join(LIBRARIES)}]",
    )
    add("--retrieval", choices=["llm_doc", "none"], default="llm_doc", help="documents [llm_doc]")
    add("--sandbox", default="auto", help="auto, docker, podman or bubblewrap [auto]")
    add("--calls", type=int, default=20, help="model calls per question at most [20]")
    top = argparse.ArgumentParser(
        prog="matsmith", description="Executed pymatgen code for your question."
    )
    commands = top.add_subparsers(dest="command", required=True)
    asking = commands.add_parser(
        "ask", parents=[shared], help="answer a question; without one, a conversation"
    )
    asking.add_argument("question", nargs="*", help="in words")
    asking.add_argument(
        "--files",
        action="append",
        default=[],
        metavar="PATH",
        help="an input file or folder, shown read-only; may be repeated",
    )
    asking.add_argument("--out", type=Path, metavar="SCRIPT.py", help="also write the code here")
    commands.add_parser("mcp", parents=[shared], help="serve over the Model Context Protocol")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``.

    Returns
    -------
    int
        0: the code ran; 1: there is no working code; 2: the user has to change something.
    """
    given = parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    try:
        if given.command == "mcp":
            from agents.mcp_server import serve  # noqa: PLC0415 -- the SDK is slow to import

            serve(settings_of(given))
            return 0
        return asyncio.run(ask(given))
    except (UsageError, ValueError, SandboxError, RetrievalError) as error:
        sys.stderr.write(f"error: {printable(error)}\n")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
