"""Documentation and execution as tools: typed arguments in, text of bounded size out.

A tool is an asynchronous method of :class:`Toolbox`: its signature is its schema, its docstring
its description. A mistake of the caller (an unknown tool, a wrong argument, a name that does not
exist) is a result that says what to do instead; only a failure of a part is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from agents.answer import CodeAnswer, UnreadableError, named_answer
from agents.toolbox import texts
from agents.toolbox import watch as watch_file
from agents.toolbox.texts import PAGE, Mistake, Tool
from indexes import pages
from indexes.corpus import Corpus, entry_page, written_pages
from indexes.references import Documentation
from retrieval import name_search
from retrieval.base import MAP, Hit, Retriever
from retrieval.config import SMALL_PACKAGE
from sandbox.base import Execution, Mount, Outcome

KEPT = 16  # executions whose further pages need no second run
NAMES = 12  # that one call takes
QUERY = 1000  # characters of a query, name or term
CODE_CHARACTERS = 100_000
HITS = 50  # of one query
TOLD = 40  # symbols of a map with a line on each
OUTPUT = 4000  # characters of a page of what a run says
SMALL = 24_000  # characters of a page about a small package
LIKELY = 12  # definitions that an input may mean
DEFINITIONS = 3  # of one term
DOCS = "docs"  # the module in the sandbox
#: The tools that need documents.
DOCUMENTATION = ("search", "lookup", "resolve", "contents")

Run = Callable[[str, str, Sequence[Mount]], Awaitable[Execution]]
Text = Annotated[str, Field(min_length=1, max_length=QUERY)]
Names = Annotated[list[Text], Field(min_length=1, max_length=NAMES)]
Number = Annotated[
    int,
    Field(ge=1, le=1000, description="Page of a long result; the first says how many."),
]
Code = Annotated[
    str,
    Field(
        min_length=1,
        max_length=CODE_CHARACTERS,
        description="Python source, all imports.",
    ),
]


class Toolbox:
    """The tools for one question.

    Parameters
    ----------
    retriever
        Answers ``search``, and has the documents; ``None``: no tool for them is offered.
    run
        Executes code with further mounts; ``None``: nothing is executed.
    formats
        Properties that the question asks for.
    answers
        Whether ``answer`` is offered.
    inputs
        Names of the input files.
    by_name
        Whether ``search`` ranks names first, for queries of a few words that a person or
        another program types; see :mod:`retrieval.name_search`.
    """

    def __init__(
        self,
        retriever: Retriever | None,
        run: Run | None,
        *,
        formats: Iterable[str] = (),
        answers: bool = True,
        inputs: Sequence[str] = (),
        by_name: bool = False,
    ) -> None:
        self._by_name = by_name
        self._wanted = list(formats)
        self._returned: Mapping[Any, Any] = {}  # by the last run
        self._retriever = retriever
        self._run = run
        taken = any(
            target.partition("/")[0] in {DOCS, f"{DOCS}.py"} for target in inputs
        )
        searches = retriever is not None and (
            retriever.late or retriever.corpus is not None
        )
        self._readable = searches and not taken
        self._said: set[str] = set()  # symbols that `resolve` has shown
        self.executed = 0  # number of executions
        self._runs: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self.answered: CodeAnswer | None = None  # what was accepted
        self.succeeded: CodeAnswer | None = (
            None  # the last code that returned some of the properties
        )
        offered = list(DOCUMENTATION) if searches else []
        if run is not None:
            offered.append("run")
        if answers:
            offered.append("answer")
        self.tools: Mapping[str, Tool] = {name: getattr(self, name) for name in offered}

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's API describes functions."""
        schemas = []
        for name in self.tools:
            about, parameters = texts.described(getattr(Toolbox, name))
            if not self._readable:
                about = "\n\n".join(
                    p for p in about.split("\n\n") if f"`{DOCS}`" not in p
                )
            if name == "run" and "answer" not in self.tools:
                del parameters["properties"]["answer"]
            function = {"name": name, "description": about, "parameters": parameters}
            schemas.append({"type": "function", "function": function})
        return schemas

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool with arguments that a model wrote; raises what a part raises that failed.

        What is said of a mistake in the call begins with ``error:``.
        """
        tool = self.tools.get(name)
        if tool is None:
            return f"error: no tool {name!r}; there are: {', '.join(self.tools)}"
        try:
            model = texts.arguments_of(getattr(Toolbox, name))
            checked = model.model_validate(dict(arguments))
        except ValidationError as error:
            return f"error: {name}: {texts.faults(error)}"
        try:
            return await tool(**dict(checked))
        except Mistake as mistake:
            return f"error: {mistake}"[:PAGE]

    async def search(
        self,
        queries: Annotated[
            Names,
            Field(description="Queries, one per thing sought; rare words find best."),
        ],
        k: Annotated[int, Field(ge=1, le=HITS, description="Hits per query.")] = 8,
        page: Number = 1,
    ) -> str:
        """Search the documentation with several queries at once: name, kind and one line each."""
        retriever = await self._documents()
        parts = []
        for query in queries:
            hits = await self._hits(retriever, query)
            entries = [hit.entry for hit in hits if hit.entry.kind != MAP]
            lines = [texts.brief(entry_page(entry).line) for entry in entries[:k]]
            rest = len(entries) - len(lines)
            about = "at least " if len(entries) == HITS else ""
            more = [f"({about}{rest} more; a larger k shows them)"] if rest else []
            listed = "\n".join([*lines, *more]) or "nothing found"
            parts.append(f"## {query}\n{listed}")
        return texts.page_of("\n\n".join(parts), page)

    async def _hits(self, retriever: Retriever, query: str) -> Sequence[Hit]:
        if self._by_name:
            return await name_search.find(retriever, query, k=HITS)
        return await retriever.search(query, k=HITS)

    async def lookup(
        self,
        names: Annotated[
            Names,
            Field(
                description="Dotted names, or their unambiguous ends (`Lattice.cubic`)."
            ),
        ],
        part: Annotated[
            str,
            Field(
                max_length=QUERY,
                description="A section (`Parameters`) or member; empty: all.",
            ),
        ] = "",
        page: Number = 1,
    ) -> str:
        """Read the whole documents of several symbols, or one part of them."""
        documents = (await self._corpus()).pages
        read = {name: documents.lookup(name, part) for name in names}
        parts = [
            self._absent(name, part) if text is None else text.strip()
            for name, text in read.items()
        ]
        if not any(text is not None for text in read.values()):
            raise Mistake("\n".join(parts))
        return texts.page_of("\n\n======\n".join(parts), page)

    def _absent(self, name: str, part: str) -> str:
        """What to do instead where a symbol, or a part of one, does not exist."""
        assert self._retriever is not None
        assert self._retriever.corpus is not None
        symbol = self._retriever.corpus.pages.find(name)
        return self._missing(name) if symbol is None else texts.parts_of(symbol, part)

    async def resolve(
        self,
        terms: Annotated[Names, Field(description="Terms of a field, or names.")],
        page: Number = 1,
    ) -> str:
        """Find what defines terms or names, all of a question at once: signatures, documents.

        Of a small package also everything that they need: units, options, where each input comes
        from. For an input that no document names, likely definitions are listed: resolve, all at
        once, those that are meant. What is deprecated is marked.
        """
        corpus = await self._corpus()
        packages = corpus.table.small(SMALL_PACKAGE)
        if packages:
            read = await asyncio.to_thread(corpus.table.documentation, packages)
            roots = [read.meant(term) for term in terms]
            if any(roots):
                return texts.page_of(self._needed(read, terms, roots), page, SMALL)
        parts = [await self._defined(corpus, term) for term in terms]
        return texts.page_of("\n\n".join(parts), page)

    async def _defined(self, corpus: Corpus, term: str) -> str:
        """The first definitions of a term."""
        lines = await asyncio.to_thread(corpus.pages.resolve, term)
        if not lines:
            return f"## {term}\nnothing defines it; {self._similar(term)}"
        parts = [texts.definition(corpus.pages, line) for line in lines[:DEFINITIONS]]
        rest = len(lines) - len(parts)
        if rest:
            parts.append(f"({rest} more definitions; say the term in more words)")
        return f"## {term}\n" + "\n\n".join(parts)

    def _needed(
        self, read: Documentation, terms: Sequence[str], roots: Sequence[str]
    ) -> str:
        """What symbols need, without what was said before; what is known of open inputs."""
        resolved = self._said - set(roots)
        closure = read.closure(filter(None, roots), {}, resolved)
        parts = [
            f"{term}: {root or 'nothing defines it; ' + self._similar(term)}"
            for term, root in zip(terms, roots, strict=True)
            if root != term
        ]
        if earlier := [name for name in closure.names if name in resolved]:
            parts.append(f"as resolved before: {', '.join(earlier)}")
        parts.append(closure.text)
        for open_input in closure.open:
            if open_input.symbol not in resolved:
                near = read.candidates(open_input)[:LIKELY]
                head = f"{open_input.what} is named nowhere; it may be one of:"
                listed = [f"- {name}: {text}" for name, text in near]
                parts.append("\n".join([head, *listed]))
        self._said |= set(closure.names)
        return "\n\n".join(parts)

    async def contents(
        self,
        package: Annotated[
            str,
            Field(
                max_length=QUERY, description="Package, module or class; empty: all."
            ),
        ] = "",
        page: Number = 1,
    ) -> str:
        """See what is in a package: names by module; of a few symbols also a line on each."""
        lines = (await self._corpus()).pages.contents(package)
        if not lines:
            raise Mistake(self._missing(package))
        return texts.page_of(
            texts.map_of(lines) if len(lines) <= TOLD else texts.names_of(lines), page
        )

    async def run(
        self,
        code: Code,
        entry: Annotated[
            str,
            Field(
                max_length=100,
                description="Function without arguments whose value is returned;"
                " empty: only execute the code.",
            ),
        ] = "",
        show: Annotated[
            list[Annotated[str, Field(max_length=100)]],
            Field(
                max_length=30,
                description="Variables of the code whose last values are shown;"
                " needs `entry`.",
            ),
        ] = [],  # noqa: B006 -- a schema's default, never changed
        answer: Annotated[
            bool,
            Field(
                description="Take the code as the answer if every property has a value;"
                " ends the work."
            ),
        ] = False,
        page: Annotated[
            int, Field(ge=1, le=1000, description="Page of long output.")
        ] = 1,
    ) -> str:
        """Execute Python in the sandbox: result, exceptions, output. Nothing is kept between runs.

        The module `docs` is there for code that reads many documents: contents(package="") gives
        [(name, kind, summary, deprecated)]; lookup(name, part="") a text or None; search(query,
        k=10) and resolve(term) the same as contents; grep(pattern, package="") [(name, line)];
        near(name) similar names. An answer must work without it.
        """
        assert self._run is not None
        key = (code, entry, tuple(show))
        # What is to be the answer runs now: `_end` judges what the last run returned.
        text = self._runs.pop(key, None) if page > 1 and not answer else None
        if text is None:
            text = await self._execute(code, entry, show)
        self._runs[key] = text
        while len(self._runs) > KEPT:
            del self._runs[next(iter(self._runs))]
        if answer:
            text = f"{self._end(code, entry)}\n{text}"
        return texts.page_of(text, page, OUTPUT)

    def _end(self, code: str, entry: str) -> str:
        """Take code that has just run as the answer; says why not."""
        if "answer" not in self.tools:
            return "not accepted: this question is not answered with code"
        missing = [name for name in self._wanted if self._returned.get(name) is None]
        if missing or not self._returned:
            listed = ", ".join(f"`{name}`" for name in missing) or "everything"
            return f"not accepted: {listed} is missing or None; `answer` takes it all the same"
        try:
            self.answered = named_answer(code, entry)
        except UnreadableError as error:
            return f"not accepted: {error}"
        return "accepted"

    async def answer(
        self,
        code: Annotated[
            str,
            Field(
                max_length=CODE_CHARACTERS,
                description="Python source, all imports; empty: the"
                " code that last ran and returned some of the properties.",
            ),
        ] = "",
        entry: Annotated[
            str,
            Field(
                max_length=100, description="Function without arguments that answers."
            ),
        ] = "",
    ) -> str:
        """Give the final answer: complete code that is run afresh. Ends the work."""
        if not code and self.succeeded is None:
            raise Mistake(
                "not accepted: no code has run and returned a property; give the code"
            )
        try:
            self.answered = named_answer(code, entry) if code else self.succeeded
        except UnreadableError as error:
            raise Mistake(f"not accepted: {error}") from error
        return "accepted"

    async def _execute(self, code: str, entry: str, show: Sequence[str]) -> str:
        assert self._run is not None
        mounts = await self._mounts()
        program, called = code, entry
        if entry and show:
            mounts.append(Mount(Path(watch_file.__file__), "matsmith_watch.py"))
            program = f"{code}\n{_WATCHED.format(entry=entry, names=list(show))}"
            called = "_watched"
        execution = await self._run(program, called, mounts)
        self.executed += 1
        result = execution.result if execution.outcome is Outcome.OK else None
        self._returned = result if isinstance(result, Mapping) else {}
        if isinstance(result, Mapping) and (
            not self._wanted or set(self._wanted) & set(result)
        ):
            with suppress(UnreadableError):
                self.succeeded = named_answer(code, entry)
        return texts.describe(execution)

    async def _documents(self) -> Retriever:
        """What searches the documents; made by now, or waited for."""
        assert self._retriever is not None
        self._retriever = await self._retriever.ready()
        return self._retriever

    async def _corpus(self) -> Corpus:
        corpus = (await self._documents()).corpus
        assert corpus is not None
        return corpus

    async def _mounts(self) -> list[Mount]:
        """The documents for code to read, unless an input file has the module's name."""
        if not self._readable:
            return []
        folder = await written_pages(await self._corpus())
        modules = sorted(Path(pages.__file__).parent.glob("*.py"))
        files = [folder / pages.PAGES, folder / pages.ALIASES]
        return [Mount(path, f"{DOCS}/{path.name}") for path in (*modules, *files)]

    def _missing(self, name: str) -> str:
        return f"no symbol {name[:200]!r}; {self._similar(name)}"

    def _similar(self, name: str) -> str:
        corpus = self._retriever.corpus if self._retriever is not None else None
        near = [] if corpus is None else corpus.pages.near(name)
        if not near:
            return "nothing is similar; try search"
        return f"similar: {', '.join(near)}"


_WATCHED = """

def _watched():
    import matsmith_watch
    return matsmith_watch.watch({entry}, {names!r})
"""
