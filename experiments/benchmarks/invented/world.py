"""A world: an invented package, and questions about it. Pure: the same knobs, the same bytes."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from experiments.benchmarks.invented.crystals import RAWS
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Symbol
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.lexicon import UNIT, template
from experiments.benchmarks.invented.prose import TYPES, Prose
from experiments.benchmarks.invented.questions import InventedQuestion, draw_questions
from experiments.benchmarks.invented.symbols import Draft, grow

_ABOUT = "Quantities of crystals, as our group defines them."


@dataclass(frozen=True)
class World(Draft):
    """A package with questions."""

    files: Mapping[str, str]  # file name -> text of the package, documentation included
    #: The same without a docstring or comment. Code of answers imports it: who could read the
    #: documents there would need nothing else, and a program could read them in place of a model.
    bare: Mapping[str, str]
    prose: Prose
    questions: tuple[InventedQuestion, ...]


def generate(knobs: Knobs) -> World:
    """The world of these knobs."""
    draft = grow(knobs)
    prose = Prose(draft)
    full, bare = (_files(draft, prose, documented=documented) for documented in (True, False))
    # What an installer would write. Packages of one seed differ by their version only.
    digest = hashlib.sha256("".join(full[name] for name in sorted(full)).encode())
    version = f"3.0.{int(digest.hexdigest()[:12], 16)}"
    folder = f"{draft.package}-{version}.dist-info"
    record = [*sorted(full), f"{folder}/METADATA", f"{folder}/RECORD"]
    about = {
        record[-2]: f"Metadata-Version: 2.1\nName: {draft.package}\nVersion: {version}\n",
        record[-1]: "".join(f"{name},,\n" for name in record),
    }
    questions = tuple(draw_questions(draft))
    return World(
        **vars(draft), files=full | about, bare=bare | about, prose=prose, questions=questions
    )


def _files(draft: Draft, prose: Prose, *, documented: bool) -> dict[str, str]:
    files, listed = {}, []
    for name in draft.modules:
        module = f"{draft.package}.{name}"
        own = [one for path, one in draft.symbols.items() if path.startswith(f"{module}.")]
        if own:
            listed.append(f"- `{name}`")
            files[f"{draft.package}/{name}.py"] = template("module.py.j2").render(
                about=documented and textwrap.fill(" ".join(prose.modules[module]), 88),
                symbols=own, by_term=draft.by_term, prose=prose, types=TYPES, units=UNIT, raws=RAWS,
                zip=zip, parameters=partial(_parameters, draft), parts=_parts,
            )  # fmt: skip
    helpers = template("_helpers.py.j2").render(documented=documented)
    about = "\n\n".join([f'"""{_ABOUT}', "Modules:", "\n".join(listed) + '\n"""\n'])
    files[f"{draft.package}/_helpers.py"] = helpers
    files[f"{draft.package}/__init__.py"] = about if documented else ""
    return files


def _parameters(draft: Draft, entry: Entry) -> str:
    """What stands between the brackets of a definition."""
    found = [f"{entry.subject}: {entry.subject.capitalize()}"] if entry.subject else []
    for need in entry.needs:
        kind = "float" if need.pick else draft.by_term[need.term].result
        found += [f"{need.param}: {TYPES[kind]}"] if need.param != "structure" else []
    found = ["self"] if entry.owner else found
    for choice in entry.choices:
        default = "" if choice.default is None else f" = {choice.default!r}"
        found += ["*"] if choice is entry.choices[0] else []
        found.append(f"{choice.param}: {TYPES[choice.kind]}{default}")
    return ", ".join(found)


def _parts(symbol: Symbol) -> list[str]:
    """Parts of the structure that a function uses by name."""
    entry, ratios = symbol.entry, symbol.formula.ratios
    used = {RAWS[ratio.name][0] for ratio in ratios if ratio.kind == "raw"}
    used |= {"composition"} if entry.result in {"list", "dict"} else set()
    return sorted(used - {"structure"}) if entry.subject == "structure" else []
