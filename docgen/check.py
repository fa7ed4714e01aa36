"""Run the examples of written documentation in the sandbox.

``python -m docgen check package=pymatgen.analysis.defects`` checks the texts that were shipped or
imported (or those of ``file=``) and keeps the verdicts where the next corpus finds them. An example
whose inputs only a user has is not run: its imports, names and arguments are looked up instead.
With ``model=`` one that fails is repaired once; what still fails says so in its document.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from docgen.chat import open_model
from docgen.library import read_library
from docgen.prompts import Prompter
from docgen.reading import fences, spoken
from docgen.replies import section_of
from docgen.sources import SourceError
from docgen.symbols import Library
from docgen.texts import (
    SHIPPED,
    Text,
    TextsError,
    Verdict,
    file_name,
    prewritten,
    text_files,
    write_texts,
)
from sandbox.base import Mount, Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.command import Commas, Group, UsageError, run
from sandbox.environments import cache_folder, site_packages
from sandbox.factory import get_sandbox
from sandbox.progress import meter

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

PROBE = Path(__file__).parent / "example_probe.py"
_VERDICTS: dict[object, Verdict] = {"runs": "runs", "inputs": "inputs", "fails": "fails"}
_REPAIR = """\
The example in the documentation of a Python symbol fails. Write it again so that it runs: with its
imports, and with names and arguments as below. Answer with one fence ```python and nothing else.
"""


class Options(BaseModel):
    """Arguments of ``python -m docgen check``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[tuple[str, ...], Commas] = Field(description="import names, comma-separated")
    file: Path | None = Field(None, description="texts to check, instead of shipped and imported")
    out: Path | None = Field(None, description="file to write, instead of where imports are kept")
    env: str = Field("live", description="sandbox environment that holds the packages")
    backend: str = Field("auto", description="sandbox: auto, bubblewrap, docker, podman")
    model: Group = Field(Group(""), description="who repairs; its keys by model.KEY=VALUE")
    concurrency: PositiveInt = Field(2, description="examples at once")
    timeout: PositiveFloat = Field(60.0, description="processor seconds of one example")


@dataclass(frozen=True)
class Checked:
    """What became of one example.

    Attributes
    ----------
    verdict
        See :class:`docgen.texts.Text`.
    borrowed
        Names that the example uses without importing them; its module has them.
    error
        Why it fails, empty otherwise.
    repaired
        Whether a model wrote it again.
    """

    verdict: Verdict
    borrowed: tuple[str, ...] = ()
    error: str = ""
    repaired: bool = False


def example_of(text: str) -> str:
    """The code of the section ``## Example``, empty when it has none."""
    return "\n".join(code for _, code in fences(f"{section_of(text, 'Example')}\n"))


async def check_example(sandbox: Sandbox, library: Library, text: Text, timeout: float) -> Checked:
    """Run one example.

    Raises
    ------
    sandbox.base.SandboxError
        When the sandbox itself failed.
    """
    code = example_of(text.text)
    if not code.strip():
        return Checked("none")
    path = library.symbols[text.qualname].path.removesuffix(".py").replace("/", ".")
    call = f"check({code!r}, {path.removesuffix('.__init__')!r}, {text.qualname!r})"
    script = (
        "import sys\nsys.path.insert(0, '.')\nfrom example_probe import check\n"
        f"def look():\n    return {call}\n"
    )
    mounts = [Mount(PROBE, PROBE.name)]
    execution = await sandbox.run(script, "look", timeout=timeout, mounts=mounts)
    if execution.outcome is Outcome.INFRA:
        raise SandboxError(execution.error or "the sandbox failed")
    found = execution.result
    if execution.outcome is not Outcome.OK or not isinstance(found, dict):
        lines = (execution.error or "").strip().splitlines()
        return Checked("fails", error=f"{execution.outcome}: {lines[-1] if lines else ''}")
    borrowed = found.get("borrowed")
    return Checked(
        _VERDICTS.get(found.get("verdict"), "fails"),
        tuple(map(str, borrowed)) if isinstance(borrowed, list) else (),
        str(found.get("error", "")),
    )


async def check_texts(
    texts: Sequence[Text],
    library: Library,
    sandbox: Sandbox,
    *,
    model: BaseChatModel | None = None,
    concurrency: int = 2,
    timeout: float = 60.0,
) -> dict[str, tuple[Text, Checked]]:
    """Check every example; with a model, repair once what fails."""
    slots = asyncio.Semaphore(concurrency)
    known = {text.qualname: text.text for text in texts}
    prompter = Prompter(library)

    async def one(text: Text) -> tuple[Text, Checked]:
        async with slots:
            checked = await check_example(sandbox, library, text, timeout)
            if checked.verdict == "fails" and model is not None:
                prompt = prompter.build([text.qualname], known)
                fixed = await _repaired(text, prompt, checked.error, model)
                if fixed is not None:
                    again = await check_example(sandbox, library, fixed, timeout)
                    if again.verdict in {"runs", "inputs"}:
                        text, checked = fixed, replace(again, repaired=True)
        progress.advance()
        return replace(text, example=checked.verdict), checked

    with meter("Running examples", len(texts), show=True) as progress:
        done = await asyncio.gather(*(one(text) for text in texts))
    return {text.qualname: (text, checked) for text, checked in done}


async def _repaired(text: Text, prompt: str, error: str, model: BaseChatModel) -> Text | None:
    code = example_of(text.text)
    asked = f"{prompt}\n\nThe example:\n```python\n{code}```\nfails with: {error}"
    reply = await model.ainvoke([("system", _REPAIR), ("human", asked)], {"tags": ["repair"]})
    found = [block for _, block in fences(f"{spoken(str(reply.text))}\n")]
    section = section_of(text.text, "Example")
    if not found or not section:
        return None
    return replace(text, text=text.text.replace(section, f"```python\n{found[-1].strip()}\n```"))


def table(results: dict[str, tuple[Text, Checked]]) -> str:
    """How many examples run, and which fail why."""
    checked = [c for _, c in results.values()]
    counts = Counter(c.verdict for c in checked)
    can = counts["runs"] + sum(c.verdict == "fails" and not _static(c) for c in checked)
    whole = sum(c.verdict == "runs" and not c.borrowed and not c.repaired for c in checked)
    asis = sum(c.verdict == "runs" and not c.repaired for c in checked)
    head = (
        f"{len(checked)} documents: {counts['none']} without code, {counts['inputs']} need inputs "
        "that only a user has (imports, names and arguments are right), "
        f"{counts['runs']} run, {counts['fails']} fail\n"
        f"of {can} examples that can run, {asis} do as they are "
        f"({whole} of them import all they use) and {counts['runs'] - asis} after a repair"
    )
    lines = [head]
    lines += [
        f"fails: {name}: {c.error}" for name, (_, c) in results.items() if c.verdict == "fails"
    ]
    return "\n".join(lines)


def _static(checked: Checked) -> bool:
    """Whether an example was not run: its inputs are not there, and a name or argument is wrong."""
    return checked.error.startswith("looked up: ")


async def _action(options: Options) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    folders = [SHIPPED, cache_folder() / "written"]
    files = [options.file] if options.file else text_files(library.versions, folders)
    given = prewritten(library, files)
    if not given.texts:
        raise UsageError(
            f"package={','.join(options.package)}: no text fits it; write some with "
            "`python -m docgen package=... out=...`, then `export` and `import` them"
        )
    results = await _check(options, library, list(given.texts.values()))
    print(table(results))
    for distribution, version in library.versions.items():
        texts = [
            text for name, (text, _) in results.items()
            if library.symbols[name].package == distribution
        ]  # fmt: skip
        if texts:
            out = options.out or folders[-1] / file_name(distribution, version)
            write_texts(out, texts)
            print(f"written: {out}")
    return 0


async def _check(
    options: Options, library: Library, texts: Sequence[Text]
) -> dict[str, tuple[Text, Checked]]:
    config = SandboxConfig(backend=options.backend, env=options.env)
    async with AsyncExitStack() as stack:
        model = None
        if options.model.name:
            model = await stack.enter_async_context(open_model(options.model))
        sandbox = await stack.enter_async_context(get_sandbox(config))
        return await check_texts(
            texts,
            library,
            sandbox,
            model=model,
            concurrency=options.concurrency,
            timeout=options.timeout,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m docgen check``."""
    return run(
        "docgen check", str(__doc__), Options, _action, arguments, errors=(SourceError, TextsError)
    )
