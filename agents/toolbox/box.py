"""Documentation and execution as tools: typed arguments in, text of bounded size out.

A tool is an asynchronous method of :class:`Toolbox`: its signature is its schema, its docstring
its description. A mistake of the caller (an unknown tool, a wrong argument, a name that does not
exist) is a result that says what to do instead; only a failure of a part is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from agents.answer import Answer, UnreadableError, named_answer
from agents.answer_formats import CODE
from agents.base import Question
from agents.episode import mounts_of
from agents.toolbox import watch as watch_file
from agents.toolbox.arguments import Tool, arguments_of, description, faults, schema_of
from agents.toolbox.corpus import DOCS, corpus_mounts, corpus_of, library_of
from agents.toolbox.library import Documents, Entry
from agents.toolbox.texts import (
    LISTED,
    PAGE,
    Mistake,
    definition,
    describe,
    map_of,
    page_of,
    parts_of,
    shown,
)  # fmt: skip
from retrieval.base import Retriever
from sandbox.base import Execution, Mount, Outcome, Sandbox

KEPT = 16  # executions whose further pages need no second run
NAMES = 12  # that one call takes
QUERY = 1000  # characters of a query, name or term
CODE_CHARACTERS = 100_000
HITS = 50  # of one query
DEFINITIONS = 5  # of one term
#: The tools that need documents.
DOCUMENTATION = ("search", "lookup", "resolve", "tree", "source", "contents")

Run = Callable[[str, str, Sequence[Mount]], Awaitable[Execution]]
Text = Annotated[str, Field(min_length=1, max_length=QUERY)]
Names = Annotated[list[Text], Field(min_length=1, max_length=NAMES)]
Page = Annotated[
    int, Field(ge=1, le=1000, description="Page of a long result; the first says how many.")
]
Code = Annotated[
    str, Field(min_length=1, max_length=CODE_CHARACTERS, description="Python source, all imports.")
]


class Result(NamedTuple):
    """What a tool says, and whether it is about a mistake in the call."""

    text: str
    failed: bool


class Toolbox:
    """The tools for one question.

    Parameters
    ----------
    library
        The documents; ``None``: no tool for them is offered.
    retriever
        Answers ``search``.
    run
        Executes code with further mounts; ``None``: nothing is executed.
    sources
        Folders that hold the packages, as they are installed.
    corpus
        Folder of the corpus, which code can read as the module ``docs``; ``None`` for none.
    formats
        Properties that the question asks for.
    answers
        Whether ``answer`` is offered.

    Attributes
    ----------
    answered
        The answer that was accepted.
    succeeded
        The last code that ran without an exception and returned a dict with some of the
        properties.
    """

    def __init__(
        self,
        library: Documents | None, retriever: Retriever | None, run: Run | None, *,
        sources: Sequence[Path] = (), corpus: Path | None = None,
        formats: Mapping[str, str] | None = None, answers: bool = True,
    ) -> None:  # fmt: skip
        self._wanted = set(formats or ())
        self._library = library
        self._retriever = retriever
        self._run = run
        self._sources = sources
        self._corpus = corpus
        self._runs: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self.answered: Answer | None = None
        self.succeeded: Answer | None = None
        offered = [
            *(DOCUMENTATION if library is not None and retriever is not None else []),
            *(["run"] if run is not None else []),
            *(["answer"] if answers else []),
        ]
        self.tools: Mapping[str, Tool] = {name: getattr(self, name) for name in offered}

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's API describes functions, which is what LangChain binds."""
        return [schema(name, documents=self._corpus is not None) for name in self.tools]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool with arguments that a model wrote.

        Raises
        ------
        RetrievalError, SandboxError, BudgetExceeded
            When a part failed, or may not be used any more.
        """
        tool = self.tools.get(name)
        if tool is None:
            return Result(f"error: no tool {name!r}; there are: {', '.join(self.tools)}", True)
        model = arguments_of(tool)
        try:
            checked = model.model_validate(dict(arguments))
        except ValidationError as error:
            return Result(f"error: {name}: {faults(error)}", True)
        try:
            text = await tool(**{key: getattr(checked, key) for key in model.model_fields})
        except Mistake as mistake:
            return Result(f"error: {mistake}"[:PAGE], True)
        return Result(text, False)

    async def search(
        self,
        queries: Annotated[
            Names, Field(description="Queries, one per thing sought; rare words find best.")
        ],
        k: Annotated[int, Field(ge=1, le=HITS, description="Hits per query.")] = 8,
        page: Page = 1,
    ) -> str:
        """Search the documentation with several queries at once: name, kind and one line each."""
        _, retriever = self._documents()
        parts = []
        for query in queries:
            found = await retriever.search(query, k=HITS)
            lines = [shown(Entry(hit.page_content, hit.metadata).line) for hit in found[:k]]
            rest = len(found) - len(lines)
            about = "at least " if len(found) == HITS else ""
            more = [f"({about}{rest} more; a larger k shows them)"] if rest else []
            parts.append(f"## {query}\n" + ("\n".join([*lines, *more]) or "nothing found"))
        return page_of("\n\n".join(parts), page)

    async def lookup(
        self,
        names: Annotated[
            Names, Field(description="Dotted names, or their unambiguous ends (`Lattice.cubic`).")
        ],
        part: Annotated[
            str,
            Field(max_length=QUERY, description="A section (`Parameters`) or member; empty: all."),
        ] = "",
        page: Page = 1,
    ) -> str:
        """Read the whole documents of several symbols, or one part of them."""
        library, _ = self._documents()
        found = False
        parts = []
        for name in names:
            text = library.lookup(name, part)
            if text is None:
                entry = library.find(name)
                parts.append(self._missing(name) if entry is None else parts_of(entry, part))
            else:
                found = True
                parts.append(text.strip())
        if not found:
            raise Mistake("\n".join(parts))
        return page_of("\n\n======\n".join(parts), page)

    async def resolve(
        self,
        terms: Annotated[Names, Field(description="Terms of a field, or names.")],
        page: Page = 1,
    ) -> str:
        """Find what defines a term or name, with signature, parameters, units and defaults.

        Constants and tables are included; what is deprecated is marked, with what to use instead.
        """
        library, _ = self._documents()
        parts = []
        for term in terms:
            lines = await asyncio.to_thread(library.resolve, term)
            defined = [definition(library, line) for line in lines[:DEFINITIONS]]
            rest = len(lines) - len(defined)
            more = [f"({rest} more definitions; say the term in more words)"] if rest else []
            found = "\n\n".join([*defined, *more]) or f"nothing defines it; {self._similar(term)}"
            parts.append(f"## {term}\n{found}")
        return page_of("\n\n".join(parts), page)

    async def tree(
        self,
        name: Annotated[Text, Field(description="Dotted name, or its unambiguous end.")],
        depth: Annotated[int, Field(ge=1, le=8, description="How many steps are followed.")] = 3,
        page: Page = 1,
    ) -> str:
        """See at once what a symbol needs, and what that needs in turn.

        Types of its parameters, definitions of the terms that its documentation says its inputs
        are, the object that it is called on, and what its own code calls.
        """
        library, _ = self._documents()
        entry = library.find(name)
        if entry is None:
            raise Mistake(self._missing(name))
        found = await asyncio.to_thread(library.tree, name, depth)
        lines = [f"{'  ' * level}{link.name} [{link.how}]" for level, link in found]
        calls = library.calls(name)
        if calls:
            lines += ["its code calls:", *(f"  {call}" for call in calls[:LISTED])]
        return page_of("\n".join(lines), page)

    async def source(
        self,
        name: Annotated[Text, Field(description="Dotted name, or its unambiguous end.")],
        page: Page = 1,
    ) -> str:
        """Read the source code of a symbol as it is installed."""
        library, _ = self._documents()
        entry = library.find(name)
        if entry is None:
            raise Mistake(self._missing(name))
        path, lines = str(entry.metadata.get("path", "")), entry.metadata.get("lines")
        for folder in self._sources:
            if path and (folder / path).is_file():
                text = (folder / path).read_text(encoding="utf-8", errors="replace")
                first, last = lines or (1, None)
                chosen = "\n".join(text.split("\n")[first - 1 : last])
                return page_of(f"# {path}, from line {first}\n{chosen}", page)
        raise Mistake(f"the source of {entry.name} is not available; use lookup")

    async def contents(
        self,
        package: Annotated[
            str, Field(max_length=QUERY, description="Package, module or class; empty: all.")
        ] = "",
        page: Page = 1,
    ) -> str:
        """See a map of a package: its modules, classes and functions with one line each."""
        library, _ = self._documents()
        lines = library.contents(package)
        if not lines:
            raise Mistake(self._missing(package))
        return page_of(map_of(lines), page)

    async def run(
        self,
        code: Code,
        entry: Annotated[
            str,
            Field(max_length=100, description="Function without arguments whose value is returned;"
                  " empty: only execute the code."),
        ] = "",
        show: Annotated[
            list[Annotated[str, Field(max_length=100)]],
            Field(max_length=30, description="Variables of the code whose last values are shown;"
                  " needs `entry`."),
        ] = [],  # noqa: B006 -- a schema's default, never changed
        page: Annotated[int, Field(ge=1, le=1000, description="Page of long output.")] = 1,
    ) -> str:  # fmt: skip
        """Execute Python in the sandbox: result, exceptions, output. Nothing is kept between runs.

        The module `docs` is there for code that reads many documents: contents(package),
        lookup(name), search(query, k), grep(pattern), resolve(term), inputs(name), tree(name,
        depth); `help(docs)` says more. An answer must work without it.
        """
        assert self._run is not None
        key = (code, entry, tuple(show))
        text = self._runs.pop(key, None) if page > 1 else None
        if text is None:
            text = await self._execute(code, entry, show)
        self._runs[key] = text
        while len(self._runs) > KEPT:
            del self._runs[next(iter(self._runs))]
        return page_of(text, page)

    async def answer(
        self,
        code: Code,
        entry: Annotated[
            str, Field(max_length=100, description="Function without arguments that answers.")
        ],
    ) -> str:
        """Give the final answer: complete code that is run afresh. Ends the work."""
        try:
            self.answered = named_answer(code, entry)
        except UnreadableError as error:
            raise Mistake(f"not accepted: {error}") from error
        return "accepted"

    async def _execute(self, code: str, entry: str, show: Sequence[str]) -> str:
        assert self._run is not None
        mounts = corpus_mounts(self._corpus)
        program, called = code, entry
        if entry and show:
            mounts.append(Mount(Path(watch_file.__file__), "matsmith_watch.py"))
            program = f"{code}\n{_WATCHED.format(entry=entry, names=list(show))}"
            called = "_watched"
        execution = await self._run(program, called, mounts)
        result = execution.result if execution.outcome is Outcome.OK else None
        if isinstance(result, Mapping) and (not self._wanted or self._wanted & set(result)):
            with suppress(UnreadableError):
                self.succeeded = named_answer(code, entry)
        return describe(execution)

    def _documents(self) -> tuple[Documents, Retriever]:
        assert self._library is not None
        assert self._retriever is not None
        return self._library, self._retriever

    def _missing(self, name: str) -> str:
        return f"no symbol {name[:200]!r}; {self._similar(name)}"

    def _similar(self, name: str) -> str:
        assert self._library is not None
        near = self._library.near(name)
        return f"similar: {', '.join(near)}" if near else "nothing is similar; try search"


_WATCHED = """

def _watched():
    import matsmith_watch
    return matsmith_watch.watch({entry}, {names!r})
"""


def schema(name: str, *, documents: bool) -> dict[str, Any]:
    """A tool as OpenAI's API describes functions; ``documents``: whether code can read them."""
    tool = getattr(Toolbox, name)
    paragraphs = description(tool).split("\n\n")
    about = "\n\n".join(p for p in paragraphs if documents or f"`{DOCS}`" not in p)
    parameters = schema_of(arguments_of(tool))
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": parameters},
    }


def open_toolbox(
    retriever: Retriever | None,
    sandbox: Sandbox | None,
    mounts: Sequence[Mount] = (),
    *,
    sources: Sequence[Path] = (),
    timeout: float = 60.0,
    answers: bool = True,
) -> Toolbox:
    """The tools over a retriever, a sandbox and the input files of a question.

    Parameters
    ----------
    sources
        Folders that hold the installed packages, for ``source``.
    timeout
        Seconds of processor time of one execution.
    answers
        Whether ``answer`` is among them.
    """

    async def run(code: str, entry: str, more: Sequence[Mount]) -> Execution:
        assert sandbox is not None
        return await sandbox.run(code, entry, timeout=timeout, mounts=[*mounts, *more])

    return Toolbox(
        library_of(retriever), retriever, run if sandbox is not None else None, sources=sources,
        corpus=corpus_of(retriever, [mount.target for mount in mounts]), answers=answers,
    )  # fmt: skip


def question_toolbox(
    question: Question, library: Documents | None, retriever: Retriever | None, run: Run | None,
    sources: Sequence[Path],
) -> Toolbox:  # fmt: skip
    """The tools for a question of an episode, which counts what they run."""
    return Toolbox(
        library, retriever, run, sources=sources,
        corpus=corpus_of(retriever, [mount.target for mount in mounts_of(question)]),
        formats=question.formats, answers=question.answer == CODE,
    )  # fmt: skip
