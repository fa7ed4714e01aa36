"""One configuration out of ``conf/``: a YAML file for each choice, and ``KEY=VALUE`` over it.

A file holds what differs from the defaults, which pydantic models and constructors declare. YAML
that somebody else wrote is small, flat, without aliases; a mistake is one line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from foundation import plugins
from foundation.errors import UsageError

#: Beside this package, in a checkout and in a wheel.
CONF = Path(__file__).resolve().parents[1] / "conf"
#: Of a YAML file: choices and values that it brings along; what a user says wins.
DEFAULTS = "defaults"
_CLASS = re.compile(r"[\w.]+:\w+")
_KEY = re.compile(r"\+{0,2}[\w./@]+")
#: Bytes of a file, and levels of nesting, that nobody writes by hand.
MOST_BYTES = 4 << 20
MOST_LEVELS = 40
_NESTS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Conf:
    """Folders with choices, the user's own (``--config-dir``, ``./conf``) before ours.

    The first one that has a choice is asked. What cannot be read is a `UsageError` here.
    """

    folders: tuple[Path, ...] = (CONF,)

    @classmethod
    def of(cls, words: Sequence[str]) -> tuple[Conf, list[str]]:
        """The folders that a command line names, and its other words."""
        rest, folders = list(words), [Path("conf")] if Path("conf").is_dir() else []
        while any(found := [w for w in rest if w.partition("=")[0] == "--config-dir"]):
            place = rest.index(found[0])
            _, equals, value = rest.pop(place).partition("=")
            if not equals:
                value = rest.pop(place) if place < len(rest) else ""
            if not Path(value).is_dir() or not value:
                raise UsageError(f"--config-dir {value}: no such folder")
            folders.insert(0, Path(value))
        ours = [folder for folder in folders if folder.resolve() != CONF]
        return cls((*ours, CONF)), rest

    def groups(self) -> dict[str, list[str]]:
        """Each group and its choices."""
        found: dict[str, set[str]] = {}
        for path in (
            path for folder in self.folders for path in folder.glob("*/*.yaml")
        ):
            found.setdefault(path.parent.name, set()).add(path.stem)
        for group in plugins.GROUPS:
            names = {plugin.name for plugin in plugins.installed(group)}
            found.setdefault(group, set()).update(names)
        return {group: sorted(choices) for group, choices in sorted(found.items())}

    def read(self, group: str, choice: str) -> dict[str, Any]:
        """The content of a choice: a file, a plug-in, or a class as ``my_module:MyClass``."""
        for folder in self.folders:
            path = folder / group / f"{choice}.yaml"
            if path.is_file():
                return load(path)
        if group in plugins.GROUPS:
            targets = {p.name: p.target for p in plugins.installed(group)}
            target = targets.get(choice, choice)
            if _CLASS.fullmatch(target):
                name = choice.rpartition(":")[2].lower()
                return _from_outside(group, target, name)
            if group == "prompts" and Path(choice).is_dir():
                return {"name": Path(choice).name, "folder": choice}
        known = ", ".join(self.groups().get(group, []))
        own = "; MODULE:NAME of your own" if group in plugins.GROUPS else ""
        raise UsageError(f"{group}={choice}: no such choice; choose from {known}{own}")

    def remarks(self, group: str, choice: str) -> dict[str, str]:
        """What stands behind the keys of a choice's file, after ``#``."""
        paths = (folder / group / f"{choice}.yaml" for folder in self.folders)
        path = next((path for path in paths if path.is_file()), None)
        lines = path.read_text(encoding="utf-8").splitlines() if path else []
        found = (re.match(r"(\w+):.*\s# (.+)", line) for line in lines)
        return {match[1]: match[2] for match in found if match}

    def root(self, name: str) -> tuple[dict[str, Any], dict[str, str]]:
        """``NAME.yaml`` without its defaults, and its choices by group."""
        plain = load(
            next(f for f in (d / f"{name}.yaml" for d in self.folders) if f.is_file())
        )
        choices = plain.pop(DEFAULTS)
        return plain, {str(group): str(choice) for group, choice in choices.items()}

    def compose(self, root: str, given: Mapping[str, str]) -> dict[str, Any]:
        """``ROOT.yaml``, the files that it or ``given`` chooses, and the values of ``given``."""
        plain, choices = self.root(root)
        known = {*self.groups()}
        contents: dict[str, dict[str, Any]] = {}
        implied: dict[str, Any] = {}
        chosen = choices | {key: text for key, text in given.items() if key in known}
        # What a choice brings along can be a choice: read those that bring something first.
        for group in sorted(chosen, key=lambda group: group != "benchmark"):
            contents[group] = self.read(group, str(implied.pop(group, chosen[group])))
            brought = contents[group].pop(DEFAULTS, {})
            implied |= {
                key: value for key, value in brought.items() if key not in given
            }
        values: dict[str, Any] = {}
        for key, value in implied.items():
            place(values, key, value)
        for key, text in given.items():
            if key not in known:
                place(values, key, read_value(key, text))
        return merged(contents, plain, values)


def _from_outside(group: str, target: str, name: str) -> dict[str, Any]:
    """What a group's file would hold that names a class of somebody else."""
    if group == "sandbox":
        return {"backend": target}
    if group == "retrieval":
        return {"source": "class", "path": target, "name": name}
    if group in {"model", "judge"}:
        return {"provider": "class", "path": target, "name": name}
    return {"_target_": target, "name": name}


def load(path: Path) -> dict[str, Any]:
    """A file of a configuration: a mapping in YAML."""
    read_yaml(path)
    content = OmegaConf.to_container(
        OmegaConf.load(path)
    )  # with its reading of numbers
    if not isinstance(content, dict):
        raise UsageError(f"{path}: is not a mapping")
    return {str(key): value for key, value in content.items()}


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Layers over each other, interpolations resolved."""
    try:
        found = OmegaConf.merge(*(OmegaConf.create(dict(layer)) for layer in layers))
        content = OmegaConf.to_container(found, resolve=True)
    except (OmegaConfBaseException, YAMLError) as error:
        raise UsageError(" ".join(str(error).split())) from error
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


def read_value(key: str, text: str) -> Any:
    """The value of ``KEY=TEXT``."""
    if not text:
        return ""
    try:
        parsed = OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))
        assert isinstance(parsed, dict)
        return parsed["value"]
    except (OmegaConfBaseException, YAMLError) as error:
        raise UsageError(
            f"{key}={text}: cannot be read as KEY=VALUE; put quotes around values with special "
            "characters"
        ) from error


def place(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set ``a.b.c``."""
    *parents, last = key.split(".")
    for part in parents:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise UsageError(f"{key}: {part} is a value, it has no keys")
    tree[last] = value


def pairs(words: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE`` words as they were typed; the last one of a key counts.

    ``--KEY=VALUE`` and ``--KEY VALUE`` are read alike.
    """
    values: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        pair = word
        if word.startswith("--"):
            pair = word[2:] if "=" in word else f"{word[2:]}={_value_after(word, rest)}"
        key, equals, text = pair.partition("=")
        if key.startswith("-"):
            raise UsageError(f"{word}: no such option; --help shows them")
        if not equals or not _KEY.fullmatch(key):
            raise UsageError(f"{word}: cannot be read as KEY=VALUE, such as limit=5")
        values[key.lstrip("+")] = text
    return values


def _value_after(option: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None or value.startswith("-") or not _KEY.fullmatch(option[2:]):
        raise UsageError(f"{option}: no such option, or its value is missing")
    return value


def expand(given: Mapping[str, str], *, several: bool) -> Iterator[dict[str, str]]:
    """The overrides of each run: one run, or every combination of values with commas between."""
    lists = {key: split(text) for key, text in given.items()}
    for key, values in lists.items():
        if len(values) > 1 and not several:
            raise UsageError(
                f"{key}={given[key]}: several values; add -m to run each of them"
            )
    for combination in itertools.product(*lists.values()):
        yield dict(zip(lists, combination, strict=True))


def split(text: str) -> list[str]:
    """The values of ``a,b,[c,d]``: at commas outside of brackets and quotes."""
    parts, closing = [""], [""]
    for character in text:
        if character == closing[-1]:
            closing.pop()
        elif closing[-1] not in ("'", '"'):
            if character in "'\"" and (not parts[-1].strip() or len(closing) > 1):
                closing.append(character)
            elif character in _NESTS:
                closing.append(_NESTS[character])
            elif character == "," and len(closing) == 1:
                parts.append("")
                continue
        parts[-1] += character
    return [part.strip() for part in parts]


def data_of(module: str, name: str = "") -> Any:
    """The YAML file of ours beside a module: of its name, or of another one."""
    file = Path(module)
    path = file.with_name(f"{name}.yaml") if name else file.with_suffix(".yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_yaml(path: Path) -> Any:
    """The content of a file; a `UsageError` names file and line.

    It is small and flat, without aliases: a few within each other are more than any memory holds.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path}: is larger than {MOST_BYTES >> 20} MB")
        text = path.read_text(encoding="utf-8")
        check_text(path, text)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise UsageError(f"{path}:{line}: {error.problem}") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(
            f"{path}: cannot be read ({' '.join(str(error).split())})"
        ) from error


def check_text(path: Path, text: str) -> None:
    """Look at what a file would become before anything is built of it."""
    level = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(
                f"{path}:{line}: has an alias (*{event.anchor}); write it out"
            )
        if level > MOST_LEVELS:
            raise UsageError(
                f"{path}:{line}: is nested deeper than {MOST_LEVELS} levels"
            )
