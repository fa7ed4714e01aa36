"""The tools as a server of the Model Context Protocol, over standard input and output.

It offers what :class:`agents.toolbox.Toolbox` offers a model, and ``solve``. A mistake in a call
and a part that is missing are results that say what to do. Standard output belongs to the
protocol: everything else goes to standard error.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, Field, ValidationError

from agents.assistant import Answer, Assistant, AssistantConfig, Event, open_assistant
from agents.toolbox import DOCUMENTATION, Toolbox, open_toolbox, schema
from agents.toolbox.arguments import arguments_of, faults, schema_of
from agents.toolbox.texts import PAGE
from retrieval.base import RetrievalError
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.terminal import printable

INSTRUCTIONS = (
    "Tools for writing Python that runs on the installed versions of pymatgen and its add-ons: "
    "documentation that is searched, looked up and followed, execution in a sandbox without "
    "network, and a complete answer to a question."
)
LISTED = 50  # documents and attempts of an answer


class Solved(BaseModel):
    """A question with code that was executed."""

    works: bool
    kind: str = Field(description="answered, needs_input, no_code, failed, stopped or broken")
    code: str
    function: str
    outcome: str = Field(description="how its execution ended")
    values: str = Field(description="what it returned")
    notes: list[str] = Field(description="what to know before trusting the values")
    sources: list[str]
    tried: list[str]
    model: str
    message: str = Field(description="what is missing, or why there is no code that works")


async def solve(
    assistant: Assistant,
    question: Annotated[
        str, Field(min_length=1, max_length=20_000, description="What is to be computed, in words.")
    ],
) -> AsyncIterator[Event | Solved]:
    """Answer a question about materials with code that was executed on the installed versions.

    Needs a model (OPENAI_API_KEY, or model.base_url); the model without an LLM says so. Takes
    minutes; reports its steps as progress.
    """
    async for item in assistant.session().stream(question):
        yield item if isinstance(item, Event) else _solved(item)


def _solved(answer: Answer) -> Solved:
    return Solved(
        works=answer.works,
        kind=answer.kind,
        code=answer.code or "",
        function=answer.entry or "",
        outcome=answer.outcome or "",
        values=answer.returned[:PAGE],
        notes=list(answer.notes),
        sources=[source.name for source in answer.sources[:LISTED]],
        tried=list(answer.tried[:LISTED]),
        model=answer.model,
        message=(answer.text or answer.error)[:PAGE],
    )


class Lazy:
    """The runtime and its tools, built when first needed: a client waits seconds for a greeting."""

    def __init__(self, config: AssistantConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._building = asyncio.Lock()
        self._made: tuple[Assistant, Toolbox] | None = None

    async def get(self) -> tuple[Assistant, Toolbox]:
        """The assistant and its tools; the first call may build documents for a minute."""
        async with self._building:
            if self._made is None:
                opened = open_assistant(self._config, say=_say, warm=False)
                made = await self._stack.enter_async_context(opened)
                runtime = made.runtime
                box = open_toolbox(
                    runtime.retriever,
                    runtime.sandbox,
                    sources=environments.source_folders(self._config.env),
                    timeout=runtime.timeout,
                )
                self._made = made, box
            return self._made

    async def close(self) -> None:
        """Stop the sandbox."""
        await self._stack.aclose()


def build_server(config: AssistantConfig) -> Server[None]:
    """A server with the tools."""
    lazy = Lazy(config)
    documents = config.retrieval.source != "none"
    offered = {
        name: _tool(name, documents) for name in (*(DOCUMENTATION if documents else ()), "run")
    }
    offered["solve"] = Tool(
        name="solve",
        description=solve.__doc__,
        input_schema=schema_of(arguments_of(solve)),
        output_schema=schema_of(Solved),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
    )

    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=list(offered.values()))

    async def call_tool(context: Any, request: CallToolRequestParams) -> CallToolResult:
        arguments = request.arguments or {}
        if request.name not in offered:
            return _result(
                f"error: no tool {request.name!r}; there are: {', '.join(offered)}", True
            )
        try:
            made, box = await lazy.get()
            if request.name != "solve":
                return _result(*await box.call(request.name, arguments))
            checked = arguments_of(solve).model_validate(arguments)
            number = 0
            async for item in solve(made, checked.question):  # type: ignore[attr-defined]
                if isinstance(item, Event):
                    number += 1
                    await context.session.report_progress(number, None, item.text)
        except ValidationError as error:
            return _result(f"error: {request.name}: {faults(error)}", True)
        except (RetrievalError, SandboxError, ValueError, OSError) as error:
            return _result(f"error: {printable(error)}", True)
        assert isinstance(item, Solved)
        return _result(item.model_dump_json(), False, item.model_dump())

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await lazy.close()

    return Server(
        "matsmith",
        version=importlib.metadata.version("matsmith"),
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tool(name: str, documents: bool) -> Tool:
    function = schema(name, documents=documents)["function"]
    return Tool(
        name=name,
        description=function["description"],
        input_schema=function["parameters"],
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=name != "run", open_world_hint=False
        ),
    )


def _result(text: str, failed: bool, structured: dict[str, Any] | None = None) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=structured, is_error=failed)


def _say(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")


async def serve(config: AssistantConfig) -> int:
    """Serve until the client hangs up; returns the exit code."""
    server = build_server(config)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
    return 0
