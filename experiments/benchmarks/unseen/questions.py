"""Translates questions of ``live``: prompts, masks, scaffolds and references, by one map."""

from __future__ import annotations

import ast
import dataclasses
import re
import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from experiments.benchmarks.question_format import TaskSpec, question_folders, read_spec
from experiments.benchmarks.unseen.mapping import NameMap
from experiments.benchmarks.unseen.owners import Owners
from experiments.benchmarks.unseen.prose import translate
from experiments.benchmarks.unseen.rewrite import placeholder, rewrite
from experiments.benchmarks.unseen.source import Vocabulary, imported_modules, inside

_FENCE = re.compile(
    r"^(?P<open>[ \t]*```python[ \t]*\n)(?P<code>.*?)(?P<close>^[ \t]*```[ \t]*$)",
    re.MULTILINE | re.DOTALL,
)
_MASK = re.compile(r"\[(MASK(?:_\d+)?)\]")
_BETWEEN = "# ---- next block ----"
#: How prompts speak of a package when they do not name it.
_ADD_ON = re.compile(
    r"(?:pymatgen['’]s|\b[Tt]he)\s+(?:[\w-]+\s+){1,2}add-on(?:\s+package)?"  # noqa: RUF001
    r"(?:\s+of\s+pymatgen)?"
)


@dataclass(frozen=True)
class Script:
    """Code of one question: the reference, or all code of its scaffold.

    Attributes
    ----------
    text
        Python source.
    masks
        Where (line from 1, column) a mask stands for a name, and which mask.
    """

    text: str
    masks: Mapping[tuple[int, int], str]


@dataclass(frozen=True)
class Source:
    """A question before translation."""

    folder: Path
    spec: TaskSpec
    reference: Script
    scaffold: Script

    @property
    def scripts(self) -> dict[str, Script]:
        """The code by module name, as :func:`.owners.analyse` takes it."""
        name = self.folder.name
        return {f"reference_{name}": self.reference, f"scaffold_{name}": self.scaffold}


def read_questions(root: Path, packages: Collection[str]) -> tuple[list[Source], list[str]]:
    """Questions whose reference imports one of ``packages``, and the ids of all others."""
    found, others = [], []
    for folder in question_folders(root):
        reference = (folder / "reference.py").read_text(encoding="utf-8")
        if any(inside(name, packages) for name in imported_modules(ast.parse(reference))):
            spec = read_spec(folder)
            found.append(Source(folder, spec, Script(reference, {}), scaffold_script(spec)))
        else:
            others.append(folder.name)
    return found, others


def scaffold_script(spec: TaskSpec) -> Script:
    """All code of a scaffold with what the masks stand for in their place."""
    blocks = [textwrap.dedent(found["code"]) for found in _FENCE.finditer(spec.scaffold)]
    masks: dict[tuple[int, int], str] = {}
    lines = []
    for number, line in enumerate(f"{_BETWEEN}\n".join(blocks).splitlines(), start=1):
        filled, last = "", 0
        for mask in _MASK.finditer(line):
            filled += line[last : mask.start()]
            masks[number, len(filled)] = mask[1]
            filled += spec.masks.get(mask[1], mask[1].lower())
            last = mask.end()
        lines.append(filled + line[last:])
    return Script("\n".join(lines) + "\n", masks)


def translate_question(
    source: Source,
    target: Path,
    names: NameMap,
    owners: Mapping[str, Owners],
    *,
    vocabulary: Vocabulary,
    modules: Collection[str],
) -> None:
    """Write the translated question as a folder of the same form; its golds are copied."""
    answer = _answer_names(source.spec, names)
    done = {
        name: rewrite(
            script.text,
            names,
            owners[name],
            vocabulary=vocabulary,
            modules=modules,
            script=True,
            masks=script.masks,
            texts=answer,
        )
        for name, script in source.scripts.items()
    }
    reference, scaffold = done.values()
    used = _used(source.reference.text, names)
    masks = {
        mask: scaffold.unmasked.get(mask, names.identifiers.get(old, old))
        for mask, old in source.spec.masks.items()
    }
    content = yaml.safe_load((source.folder / "task.yaml").read_text(encoding="utf-8"))
    content["packages"] = [
        names.distributions.get(name, name) for name in content.get("packages", [])
    ]
    if masks:
        content["masks"] = masks
    words = translate_words(source.spec, source.reference.text, names)
    for item, prop in zip(content["properties"], words.properties, strict=True):
        item["description"] = prop.description
    content["goal"] = words.goal
    content["scaffold"] = _with_packages(
        _scaffold(content["scaffold"], scaffold.text, set(masks), answer, used), used
    )
    shutil.copytree(source.folder, target, ignore=shutil.ignore_patterns("__pycache__"))
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    (target / "task.yaml").write_text(text, encoding="utf-8")
    (target / "reference.py").write_text(reference.text, encoding="utf-8")


def translate_words(spec: TaskSpec, reference: str, names: NameMap) -> TaskSpec:
    """A specification whose descriptions and goal speak of the new names; its code is as it was."""
    answer, used = _answer_names(spec, names), _used(reference, names)
    properties = [
        prop.model_copy(update={"description": _prose(prop.description, answer, used)})
        for prop in spec.properties
    ]
    goal = _with_packages(_prose(spec.goal, answer, used), used)
    return spec.model_copy(update={"goal": goal, "properties": properties})


def _answer_names(spec: TaskSpec, names: NameMap) -> NameMap:
    """Names without those of the properties, which an answer must repeat."""
    properties = {prop.name for prop in spec.properties}
    return dataclasses.replace(
        names,
        identifiers={old: new for old, new in names.identifiers.items() if old not in properties},
        keys={old: new for old, new in names.keys.items() if old not in properties},
    )


def _used(reference: str, names: NameMap) -> list[str]:
    """New names of the packages that a reference imports."""
    imported = list(imported_modules(ast.parse(reference)))
    return [
        new for old, new in names.packages.items() if any(inside(name, [old]) for name in imported)
    ]


def _with_packages(text: str, packages: Sequence[str]) -> str:
    listed = " and ".join(f"`{name}`" for name in packages)
    plural = "packages" if len(packages) > 1 else "package"
    return f"Next to pymatgen the {plural} {listed} can be imported.\n\n{text}"


def _prose(text: str, names: NameMap, packages: Sequence[str]) -> str:
    plural = "packages" if len(packages) > 1 else "package"
    text = _ADD_ON.sub(f"the {plural} {' and '.join(packages)}", text)
    return translate(text, names, sources=False)


def _scaffold(
    text: str, code: str, masks: Collection[str], names: NameMap, packages: Sequence[str]
) -> str:
    for mask in sorted(masks, key=len, reverse=True):
        code = re.sub(rf"\b{placeholder(mask)}", f"[{mask}]", code)
    blocks = code.split(f"{_BETWEEN}\n")
    parts: list[str] = []
    last = 0
    for found, block in zip(_FENCE.finditer(text), blocks, strict=True):
        indent = found["open"][: len(found["open"]) - len(found["open"].lstrip())]
        parts += [_prose(text[last : found.start()], names, packages), found["open"]]
        parts += [textwrap.indent(block, indent), found["close"]]
        last = found.end()
    return "".join([*parts, _prose(text[last:], names, packages)])


def script_texts(sources: Sequence[Source]) -> dict[str, str]:
    """Source of every script, by module name."""
    return {name: script.text for source in sources for name, script in source.scripts.items()}
