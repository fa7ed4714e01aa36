"""The assistant as a server of the Model Context Protocol, over standard input and output.

Standard output belongs to the protocol: everything else goes to standard error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server import MCPServer
from pydantic import BaseModel, Field

from agents.assistant import AssistantConfig, open_assistant
from agents.assistant import solve as solve_question
from agents.episode import show
from agents.revision import MAX_QUERY
from agents.runtime import Runtime
from retrieval.base import Retriever
from sandbox.base import Execution
from sandbox.terminal import printable

INSTRUCTIONS = (
    "Tools for writing pymatgen code that runs on the installed version: exact documentation of a "
    "symbol, search, execution in a sandbox without network, and a complete answer to a question."
)


class Symbol(BaseModel):
    """Documentation of one class, function, method or module."""

    name: str
    found: bool
    path: str = ""
    version: str = ""
    text: str = ""
    near: list[str] = Field(default_factory=list, description="similar names, when it is not found")


class Hit(BaseModel):
    """One search result."""

    name: str
    score: float | None
    text: str


class Run(BaseModel):
    """One execution."""

    outcome: str = Field(description="ok, exception, timeout, memory, ...")
    returned: str
    stdout: str
    stderr: str
    error: str
    seconds: float
    sandbox: str


class Solved(BaseModel):
    """A question with code that was executed."""

    works: bool
    code: str
    function: str
    run: Run | None
    sources: list[str]
    tried: list[str]
    model: str
    stop_reason: str
    message: str = ""


class Lazy:
    """The runtime, built when a tool first needs it: a client waits seconds for a greeting."""

    def __init__(self, config: AssistantConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._building = asyncio.Lock()
        self._made: Runtime | None = None

    async def get(self) -> Runtime:
        """The runtime; the first call may build documents for a minute."""
        async with self._building:
            if self._made is None:
                opened = open_assistant(self._config, say=_say)
                self._made = await self._stack.enter_async_context(opened)
            return self._made

    async def retriever(self) -> Retriever:
        """The documents, or a reason why there are none."""
        made = await self.get()
        if made.retriever is None:
            raise ValueError("this server was started with retrieval=none: it has no documents")
        return made.retriever

    async def close(self) -> None:
        """Stop the sandbox."""
        await self._stack.aclose()


def build_server(config: AssistantConfig) -> MCPServer[None]:
    """A server with its four tools."""
    lazy = Lazy(config)

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await lazy.close()

    server: MCPServer[None] = MCPServer(
        "matsmith", instructions=INSTRUCTIONS, lifespan=lifespan, log_level="WARNING"
    )

    @server.tool()
    async def lookup_api(symbol: str) -> Symbol:
        """Documentation of one pymatgen symbol as installed: signature, members, what it does.

        ``symbol`` is a dotted name (pymatgen.core.Structure.from_spacegroup) or an unambiguous
        short one (SpacegroupAnalyzer).
        """
        retriever = await lazy.retriever()
        document = await retriever.lookup(symbol)
        if document is None:
            like = await retriever.search(symbol, k=5)
            near = [str(found.metadata["qualname"]) for found in like]
            return Symbol(name=symbol, found=False, near=near)
        metadata = document.metadata
        return Symbol(
            name=str(metadata["qualname"]),
            found=True,
            path=str(metadata["path"]),
            version=f"{metadata['package']} {metadata['version']}",
            text=document.page_content,
        )

    @server.tool()
    async def search_docs(query: str, k: int = 5) -> list[Hit]:
        """Search the documentation of the installed pymatgen and its add-on packages."""
        retriever = await lazy.retriever()
        return [
            Hit(
                name=str(document.metadata["qualname"]),
                score=document.metadata.get("score"),
                text=document.page_content,
            )
            for document in await retriever.search(query[:MAX_QUERY], k=min(max(k, 1), 20))
        ]

    @server.tool()
    async def run_code(code: str, function: str = "") -> Run:
        """Execute Python with pymatgen in a sandbox: no network, no files, 120 seconds.

        ``function`` names a function without arguments whose value is returned; without it the
        code is only executed, and what it prints is the result.
        """
        made = await lazy.get()
        if made.sandbox is None:
            raise ValueError("this server has no sandbox")
        return _run(await made.sandbox.run(code, function, timeout=made.timeout))

    @server.tool()
    async def solve(question: str) -> Solved:
        """Answer a question about materials with code that was executed on the installed version.

        Needs a model (OPENAI_API_KEY or model.base_url=); the model without an LLM says so.
        """
        made = await lazy.get()
        solution = await solve_question(made, question)
        trajectory, execution = solution.trajectory, solution.execution
        return Solved(
            works=solution.works,
            code=trajectory.code or "",
            function=trajectory.entry or "",
            run=None if execution is None else _run(execution),
            sources=solution.sources,
            tried=solution.tried,
            model=made.model.name if made.model.llm else f"{made.model.name} (no LLM)",
            stop_reason=trajectory.stop_reason,
            message="" if solution.works else solution.instead,
        )

    return server


def _run(execution: Execution) -> Run:
    return Run(
        outcome=str(execution.outcome),
        returned=show(execution.result),
        stdout=execution.stdout,
        stderr=execution.stderr,
        error=execution.error or "",
        seconds=execution.seconds,
        sandbox=execution.tier,
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")


def serve(config: AssistantConfig) -> int:
    """Serve until the client hangs up; returns the exit code."""
    build_server(config).run("stdio")
    return 0
