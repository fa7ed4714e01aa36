"""What the documents of a prompt say about a library: signatures, members, types."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

_MEMBER = re.compile(r"^\s{2,}+(?P<head>[A-Za-z_].*?)\[(?P<kind>[a-z ]++)\](?::\s*(?P<text>.*))?$")
_FIELD = re.compile(r"^(kind|signature):\s*(.*)$")
_WRAPPER = re.compile(
    r"^(?:list|tuple|set|Sequence|Iterable|Iterator|Generator|Collection|frozenset)\[(.*)\]$"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a signature."""

    name: str
    annotation: str
    required: bool


@dataclass(frozen=True)
class Signature:
    """Parameters without ``self``, and the return annotation (``""`` for unknown)."""

    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    open_keywords: bool = False
    open_positions: bool = False

    def accepts(self, positions: int, keywords: Iterable[str]) -> bool:
        """Whether a call with these arguments can bind."""
        names = [parameter.name for parameter in self.parameters]
        given = list(keywords)
        if not self.open_keywords and any(name not in names for name in given):
            return False
        if not self.open_positions and positions > len(names):
            return False
        bound = set(names[:positions]) | set(given)
        return all(p.name in bound for p in self.parameters if p.required)


@dataclass(frozen=True)
class Member:
    """Attribute, property or method of a class, or function or class of a module."""

    name: str
    kind: str
    signature: Signature
    text: str

    @property
    def callable(self) -> bool:
        """Whether it must be called to give a value."""
        return self.kind not in {"property", "attribute", "field", "constant", "cached property"}


@dataclass(frozen=True)
class Symbol:
    """One documented symbol."""

    qualname: str
    kind: str
    signature: Signature
    members: tuple[Member, ...] = ()
    text: str = ""

    @property
    def name(self) -> str:
        """Last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """First line of the text that is not a heading."""
        lines = (line.strip() for line in self.text.splitlines())
        return next((line for line in lines if line and not line.startswith("#")), "")

    @property
    def member(self) -> Member:
        """As a member of what contains it."""
        return Member(self.name, self.kind, self.signature, self.summary)


@dataclass
class Knowledge:
    """Symbols by qualified name."""

    symbols: dict[str, Symbol] = field(default_factory=dict)

    def find(self, name: str) -> Symbol | None:
        """Symbol by qualified name, else by last part when that is unambiguous.

        An import path may be shorter than where the symbol is defined
        (``pymatgen.core.Structure``), so the same first package and last part are enough.
        """
        if name in self.symbols:
            return self.symbols[name]
        first, last = name.partition(".")[0], name.rpartition(".")[2]
        same = [s for s in self.symbols.values() if s.name == last and s.kind != "module"]
        if "." in name:
            same = [s for s in same if s.qualname.startswith(first + ".")]
        exact = {s.qualname for s in same}
        return same[0] if len(exact) == 1 else self._listed(name)

    def _listed(self, name: str) -> Symbol | None:
        """What the document of a module says of one of its functions."""
        module, _, last = name.rpartition(".")
        members = self.symbols[module].members if module in self.symbols else ()
        found = next((member for member in members if member.name == last), None)
        if found is None or found.kind != "function":
            return None
        return Symbol(name, found.kind, found.signature, text=found.text)

    def members(self, module: str) -> list[Member]:
        """Functions and classes of a module, from its own document or from theirs."""
        own = self.symbols.get(module)
        found = {member.name: member for member in (own.members if own else ())}
        for symbol in self.symbols.values():
            parent, _, last = symbol.qualname.rpartition(".")
            if parent == module and symbol.kind in {"function", "class"}:
                found[last] = symbol.member
        return [member for name, member in found.items() if not name.startswith("_")]


def gather(documents: Iterable[tuple[str, str]]) -> Knowledge:
    """Read every document; what is not in the known layout contributes nothing."""
    knowledge = Knowledge()
    for name, content in documents:
        symbol = read_document(name, content)
        if symbol is not None:
            knowledge.symbols.setdefault(symbol.qualname, symbol)
    return knowledge


@lru_cache(maxsize=20_000)
def read_document(name: str, content: str) -> Symbol | None:
    """Read the facts at the head of a document of the ``llm_doc`` layout."""
    head, _, body = content.partition("\n---")
    fields: dict[str, str] = {}
    members = []
    for line in head.splitlines():
        if (match := _FIELD.match(line)) is not None:
            fields[match[1]] = match[2]
        elif (match := _MEMBER.match(line)) is not None:
            members.append(_member(match["head"], match["kind"], match["text"] or ""))
    if "kind" not in fields:
        return None
    return Symbol(
        qualname=name,
        kind=fields["kind"],
        signature=read_signature(fields.get("signature", "")),
        members=tuple(members),
        text=body.strip(),
    )


def _member(head: str, kind: str, text: str) -> Member:
    match = re.match(r"[A-Za-z_]\w*", head)
    name = match[0] if match else head
    rest = head[len(name) :].strip()
    if rest.startswith("("):
        signature = read_signature(head)
    else:
        signature = Signature(returns=re.sub(r"^(->|:)\s*", "", rest))
    return Member(name, kind, signature, text)


@lru_cache(maxsize=50_000)
def read_signature(text: str) -> Signature:
    """Read ``name(a: int, b=1, **kw) -> float``; an unreadable one is taken to accept anything."""
    source = re.sub(r"^\s*(?:async\s+)?(?:def\s+)?", "", text.strip())
    path, opened, rest = source.partition("(")
    if opened and path.replace(".", "").isidentifier():
        source = f"{path.rpartition('.')[2]}({rest}"
    try:
        function = ast.parse(f"def {source.rstrip(':')}: pass").body[0]
    except (SyntaxError, ValueError, IndexError, RecursionError):
        arrow = text.rpartition("->")
        returns = arrow[2].strip() if arrow[1] else ""
        return Signature(returns=returns, open_keywords=True, open_positions=True)
    if not isinstance(function, ast.FunctionDef):
        return Signature(open_keywords=True, open_positions=True)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without_default = len(positional) - len(arguments.defaults)
    parameters = [
        Parameter(a.arg, ast.unparse(a.annotation) if a.annotation else "", i < without_default)
        for i, a in enumerate(positional)
        if a.arg not in {"self", "cls"}
    ]
    parameters += [
        Parameter(a.arg, ast.unparse(a.annotation) if a.annotation else "", default is None)
        for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return Signature(
        parameters=tuple(parameters),
        returns=ast.unparse(function.returns) if function.returns else "",
        open_keywords=arguments.kwarg is not None,
        open_positions=arguments.vararg is not None,
    )


def plain(annotation: str) -> str:
    """Type without quotes, module path and ``| None``."""
    text = annotation.strip().strip("'\"").replace("typing.", "")
    if text.startswith("Optional[") and text.endswith("]"):
        text = text[len("Optional[") : -1]
    options = [part.strip() for part in text.split("|") if part.strip() != "None"]
    first = options[0] if options else ""
    return first if "[" in first else first.rpartition(".")[2]


def element(annotation: str) -> str:
    """Type of the items of a container annotation, ``""`` when it is none."""
    match = _WRAPPER.match(plain(annotation).replace("collections.abc.", ""))
    if match is None:
        return ""
    depth, first = 0, ""
    for character in match[1]:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            break
        first += character
    return plain(first)


_KIND_OF = {
    "bool": "bool",
    "bool_": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "Literal": "str",
    "dict": "dict",
    "Dict": "dict",
    "defaultdict": "dict",
    "list": "list",
    "List": "list",
    "tuple": "tuple",
    "Tuple": "tuple",
    "set": "set",
    "ndarray": "list",
    "NDArray": "list",
    "ArrayLike": "list",
    "Sequence": "list",
    "Vector3D": "tuple",
    "Matrix3D": "tuple",
}


def kind_of(annotation: str) -> str:
    """Format that values of this annotation have (``float``, ``list``, ...).

    ``""`` for an unknown one, ``"object"`` for a class.
    """
    text = plain(annotation)
    base = text.partition("[")[0].rpartition(".")[2]
    if base in _KIND_OF:
        return _KIND_OF[base]
    return "object" if base[:1].isupper() else ""


def compatible(kind: str, annotation: str) -> float:
    """How well values of an annotation suit a wanted format.

    Returns
    -------
    float
        1 for the same, 0.5 for a near one, 0 for unknown, -1 for another.
    """
    have = kind_of(annotation)
    if not kind or not have:
        return 0.0
    if have == kind:
        return 1.0
    near = {("float", "int"), ("list", "tuple"), ("tuple", "list"), ("list", "set")}
    return 0.5 if (kind, have) in near else -1.0
