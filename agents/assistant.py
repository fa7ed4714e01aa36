"""The coding assistant: a free question in, executed code out.

``matsmith ask "question"`` (or ``python -m agents.assistant ask ...``), without a question an
interactive conversation; ``matsmith mcp`` serves the same over the Model Context Protocol.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, field_validator
from rich.console import Console
from rich.markup import escape

from agents import prompts
from agents.base import Question, Step, Trajectory
from agents.budget import Meter
from agents.composition import compose_plain, expand, help_text, parse
from agents.config import RuntimeConfig, validate
from agents.episode import mounts_of, show
from agents.models import FAULTS
from retrieval.base import RetrievalError
from sandbox import environments
from sandbox.base import Execution, Outcome
from sandbox.colours import coloured
from sandbox.command import HELP, UsageError, guarded, run_one_of
from sandbox.terminal import printable

if TYPE_CHECKING:  # LangChain is slow to import
    from agents.runtime import Runtime

TURNS = 5  # earlier questions that a prompt of a conversation shows
#: Import names that are documented where an environment has them.
LIBRARIES = ("pymatgen", "matminer", "robocrys", "phonopy")
_DISTRIBUTIONS = ("pymatgen", "pymatgen-core", "pymatgen-analysis-defects")


class AssistantConfig(RuntimeConfig):
    """What a user of the assistant can choose."""

    env: str = Field("live", description="installed versions: a name or ./FOLDER")
    packages: tuple[str, ...] | None = Field(
        None, description=f"import names to look up; none: {', '.join(LIBRARIES)}, if installed"
    )

    @field_validator("packages", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


def read_config(overrides: Sequence[str]) -> AssistantConfig:
    """The configuration of ``conf/assistant.yaml`` with overrides.

    Raises
    ------
    UsageError
        In one line.
    """
    (chosen,) = expand(parse(overrides), multirun=False)
    plain = compose_plain(chosen, kind=AssistantConfig, root="assistant")
    if not any(override.partition("=")[0] == "system" for override in chosen):
        system = f"system={default_system(plain['model'])}"
        plain = compose_plain([system, *chosen], kind=AssistantConfig, root="assistant")
    return validate(plain, AssistantConfig, ("system",))


def default_system(model: Mapping[str, object]) -> str:
    """The architecture for a model, as its configuration says what it can do.

    A model that calls tools decides for itself what it looks up; one that cannot drafts first,
    and sees only the documents of what a draft got wrong. The model without an LLM knows nothing
    by itself: it gets documents at once.
    """
    if model["provider"] == "rules":
        return "reflect"
    return "adaptive" if model.get("tools") == "text" else "tools"


@asynccontextmanager
async def open_assistant(
    config: AssistantConfig,
    *,
    say: Callable[[str], None],
    on_step: Callable[[Question, Step], None] | None = None,
    warm: bool = True,
) -> AsyncIterator[Runtime]:
    """Everything that works on a user's question; see :func:`agents.runtime.open_runtime`.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When something is not available; the message says what to do.
    """
    from agents.runtime import open_client, open_runtime, open_writer  # noqa: PLC0415 - slow

    client = open_client(config.model)
    try:
        await asyncio.to_thread(environments.build, config.env, say=say)
        installed = environments.source_folders(config.env)
        wanted = config.packages or LIBRARIES
        there = [name for name in wanted if any((site / name).is_dir() for site in installed)]
        if missing := sorted(set(config.packages or ()) - set(there)):
            raise UsageError(f"packages={','.join(missing)}: is not installed in {config.env!r}")
        writer = open_writer(config, client, Meter())
        opened = open_runtime(
            config, config.env, there, client=client, writer=writer, say=say, executes=True,
            on_step=on_step, warm=warm,
        )  # fmt: skip
        async with opened as runtime:
            yield runtime
    finally:
        await client.close()


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
        """Names of the documents that were retrieved or looked up, in order."""
        names: list[str] = []
        for step in self.trajectory.steps:
            if step.kind == "retrieve":
                names += [str(hit["name"]) for hit in step.detail["hits"]]
            elif step.kind == "tool" and step.detail["name"] in {"lookup", "tree", "source"}:
                given = step.detail["arguments"]
                asked = given.get("names", given.get("name", []))
                names += [asked] if isinstance(asked, str) else [str(name) for name in asked]
        return list(dict.fromkeys(names))

    @property
    def tried(self) -> list[str]:
        """How each executed draft ended."""
        runs = [s for s in self.trajectory.steps if s.kind == "tool" and s.detail["name"] == "run"]
        said = [str(s.detail["result"]).partition("\n")[0] for s in runs]
        return said + [ending(s) for s in self.trajectory.steps if s.kind == "execute"]


async def solve(
    runtime: Runtime,
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
    sandbox = runtime.sandbox
    if sandbox is None:
        raise ValueError("the assistant executes its answers: it needs a sandbox")
    prompt = prompts.free_question(text, sorted(files), turns[-TURNS:])
    question = Question("ask", prompt, mounts=files, search=text)
    trajectory = await runtime.agent.solve(question)
    execution = None
    if trajectory.code is not None and trajectory.entry is not None:
        execution = await sandbox.run(
            trajectory.code,
            trajectory.entry,
            timeout=runtime.timeout,
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
            raise UsageError(f"files={text}: no such file or folder")
        if path.resolve().name in found:
            raise UsageError(f"files={text}: two inputs are called {path.resolve().name}")
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
    if step.kind == "tool":
        return f"called {detail['name']}: {str(detail['result']).partition(chr(10))[0][:100]}"
    return f"read the reply: {detail['status']}"


def _safe(text: str) -> str:
    """Text that neither drives the terminal nor is read as markup."""
    return escape(printable(text))


def print_solution(solution: Solution, runtime: Runtime, console: Console) -> None:
    """Result, code, sources, what was tried, what it cost."""
    trajectory, execution = solution.trajectory, solution.execution
    if execution is None or trajectory.code is None:
        console.print("[bold]No code:[/bold]", _safe(solution.instead))
    else:
        versions = [f"{n} {runtime.versions[n]}" for n in _DISTRIBUTIONS if n in runtime.versions]
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
    name = runtime.model.name if runtime.model.llm else f"{runtime.model.name} (no LLM)"
    spent = f"{name}: {usage.calls} calls, {usage.tokens} tokens{about}, {cost}"
    console.print(f"\n[dim]{_safe(spent)}; {trajectory.stop_reason}[/dim]")
    if not runtime.model.llm and not solution.works:
        console.print(
            "model=rules is not an LLM: it only answers questions that list properties (`- `name`: "
            "what it is. Format: float.`). Set OPENAI_API_KEY, or give model.base_url= and "
            "model.name=."
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


async def ask(
    config: AssistantConfig, question: str, *, files: Mapping[str, str], out: Path | None
) -> int:
    """Answer one question, or hold a conversation; returns the exit code."""
    progress = Console(stderr=True, soft_wrap=True)
    output = Console(soft_wrap=True)

    def on_step(_: Question, step: Step) -> None:
        progress.print(f"[dim]{_safe(describe_step(step))}[/dim]", highlight=False)

    async with open_assistant(config, say=progress.print, on_step=on_step) as runtime:
        if question:
            solution = await solve(runtime, question, files=files)
            return _deliver(solution, runtime, out, output)
        return await _converse(runtime, files, out, output)


async def _converse(
    runtime: Runtime, files: Mapping[str, str], out: Path | None, output: Console
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
        solution = await solve(runtime, text, files=files, turns=turns)
        code = _deliver(solution, runtime, out, output)
        if solution.works and solution.execution is not None:
            returned = show(solution.execution.result)
            turns.append((text, str(solution.trajectory.code), returned))


def _deliver(solution: Solution, runtime: Runtime, out: Path | None, output: Console) -> int:
    print_solution(solution, runtime, output)
    if out is not None and solution.works:
        write_script(solution, out)
        output.print(f"written to {out}")
    return 0 if solution.works else 1


_ASK = """\
usage: matsmith ask [QUESTION] [files=PATH,PATH] [out=SCRIPT.py] [GROUP=CHOICE ...] [KEY=VALUE ...]

Executed materials-science code for your question; without one, a conversation.

  files                  input files or folders, shown read-only
  out                    also write the code here"""
_MCP = """\
usage: matsmith mcp [GROUP=CHOICE ...] [KEY=VALUE ...]

Serves the assistant over the Model Context Protocol, on standard input and output."""


def _ask(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_ASK], root="assistant"))
        return 0
    own: dict[str, str] = {}
    words, overrides = [], []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals and key in {"files", "out"}:
            own[key] = value
        elif argument.startswith("-") or (equals and not set(key) & set(" \t\n")):
            overrides.append(argument)
        else:
            words.append(argument)

    async def answer() -> int:
        files = mounted(own["files"].split(",") if "files" in own else [])
        out = Path(own["out"]) if "out" in own else None
        if out is not None and not out.absolute().parent.is_dir():
            raise UsageError(f"out={out}: its folder does not exist")
        return await ask(read_config(overrides), " ".join(words), files=files, out=out)

    return guarded(answer, (RetrievalError,))


def _mcp(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_MCP], root="assistant"))
        return 0
    from agents.mcp_server import serve  # noqa: PLC0415 -- the SDK is slow to import

    return guarded(lambda: serve(read_config(arguments)), (RetrievalError,))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0: the code ran, 1: there is no working code (see `sandbox.command`)."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    return run_one_of("matsmith", str(__doc__), {"ask": _ask, "mcp": _mcp}, arguments)


if __name__ == "__main__":
    sys.exit(main())
