"""``matsmith library``: what has been learnt, by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from docgen.library import read_library
from experiments.learn import LearnOptions, learn_and_tell
from foundation.command import Command, Nothing, Word, run_one_of
from foundation.terminal import printable
from sandbox import environments, libraries


class Named(BaseModel, extra="forbid"):
    """One library that has been learnt."""

    name: Annotated[str, Word()] = Field(
        description="as `matsmith library list` shows it"
    )


def _list(_: Nothing) -> int:
    for one in libraries.all_learnt():
        note = (
            f", changed since: matsmith library refresh {one.name}"
            if one.changed
            else ""
        )
        questions = f", {one.questions} questions" if one.questions else ""
        versions = ", ".join(
            f"{name} {version}" for name, version in one.versions.items() if version
        )
        print(
            printable(
                f"{one.name}: {versions}, {one.symbols} documents{questions}, "
                f"{one.source}{note}"
            )
        )
    return 0


def _show(named: Named) -> int:
    """What one library holds: where it is kept, its documents and its questions."""
    one = libraries.learnt(named.name)
    versions = ", ".join(f"{n} {v or ''}".strip() for n, v in one.versions.items())
    print(printable(f"{one.name}: {versions}, from {one.source}"))
    print(f"imported as: {', '.join(one.packages)}")
    print(f"environment: {one.env}")
    if one.questions:
        print(f"questions:   {one.questions} in {one.tasks / 'questions'}")
    site = environments.site_packages(one.env)
    symbols = read_library(one.packages, site).public().symbols.values()
    print(f"documents:   {one.symbols}, of")
    for symbol in sorted(symbols, key=lambda symbol: symbol.import_path):
        print(printable(f"  {symbol.kind:<9} {symbol.import_path}"))
    return 0


async def _refresh(named: Named) -> int:
    one = libraries.learnt(named.name)
    if one.digest and not one.changed:
        print(f"{one.name}: nothing has changed")
        return 0
    settings = one.model_dump(include={"name", "base", "build", "tests"})
    return await learn_and_tell(
        LearnOptions.model_validate({"library": one.source, **settings})
    )


def _forget(named: Named) -> int:
    shutil.rmtree(libraries.learnt(named.name).folder)
    print(f"{named.name}: forgotten; its sources are untouched")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``matsmith library``."""
    program = "matsmith library"
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "list": Command(f"{program} list", "What has been learnt.", Nothing, _list),
        "show": Command(
            f"{program} show", "What one library holds, symbol by symbol.", Named, _show
        ),
        "refresh": Command(
            f"{program} refresh", "Learn a library again.", Named, _refresh
        ),
        "forget": Command(
            f"{program} forget", "Remove what was learnt.", Named, _forget
        ),
    }
    about = "Libraries that `matsmith learn` has learnt."
    return run_one_of(program, about, commands, arguments or ["list"])
