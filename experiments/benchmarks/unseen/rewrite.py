"""Rewrites source by the map: names, keywords, keys, docstrings, messages; drops comments."""

# ruff: noqa: N802 - libcst names the methods of a transformer after its nodes

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from experiments.benchmarks.unseen.composed import texts_in, texts_that_name
from experiments.benchmarks.unseen.mapping import NameMap, defined_names
from experiments.benchmarks.unseen.names import is_distinctive
from experiments.benchmarks.unseen.owners import Owners, Position
from experiments.benchmarks.unseen.prose import translate
from experiments.benchmarks.unseen.source import Module, Vocabulary

#: Module variables about people and dates: nothing of them is needed to run.
_ABOUT = frozenset(
    {"__author__", "__authors__", "__copyright__", "__credits__", "__maintainer__", "__email__"}
    | {"__date__", "__status__", "__license__"}
)


@dataclass
class Rewriter(cst.CSTTransformer):
    """Rewrites one module.

    Parameters
    ----------
    names
        The map.
    owners
        mypy's verdicts about this module.
    vocabulary
        Words of others: an attribute or keyword of unknown owner with such a name stays as it is.
    modules
        Dotted names of the libraries' modules.
    lines
        Source lines.
    own
        Bare names to rename; ``None`` for all of the map (a module of the library).
    masks
        Where (line from 1, column) a mask stands for a name, and which.
    positions
        Where each node stands.
    comments
        Whether comments stay (translated).
    texts
        Another map for texts, where keys keep their names.
    named
        Where the texts end that name a keyword or a field.
    """

    names: NameMap
    owners: Owners
    vocabulary: Vocabulary
    modules: Collection[str]
    lines: list[str]
    positions: Mapping[cst.CSTNode, CodeRange]
    own: frozenset[str] | None = None
    masks: Mapping[tuple[int, int], str] = field(default_factory=dict)
    comments: bool = False
    texts: NameMap | None = None
    named: Collection[Position] = ()

    def __post_init__(self) -> None:
        self.unmasked: dict[str, str] = {}
        self._prose: set[cst.CSTNode] = set()

    # --- names -------------------------------------------------------------------------------

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """A variable, parameter, class or function."""
        return self._named(original_node, updated_node, self._bare(original_node.value))

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """``value.attr``: by whose attribute it is."""
        dotted = _dotted(original_node)
        if dotted in self.names.packages:
            return cst.Name(self.names.packages[dotted])
        old = original_node.attr.value
        new = old
        if old in self.names.identifiers:
            verdict: bool | None = _dotted(original_node.value) in self.modules or None
            if verdict is None:
                verdict = self.owners.attribute(self._end(original_node), old)
            if verdict or (verdict is None and old not in self.vocabulary.members):
                new = self.names.identifiers[old]
        return updated_node.with_changes(attr=self._named(original_node.attr, cst.Name(old), new))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """The keywords of a call, and the attribute name that ``getattr`` is given."""
        end = self._end(original_node)
        verdict = self.owners.calls.get(end)
        arguments = []
        for old, new in zip(original_node.args, updated_node.args, strict=True):
            argument = new
            if old.keyword is not None:
                name = old.keyword.value
                ours = verdict or (verdict is None and name not in self.vocabulary.words)
                changed = self.names.identifiers.get(name, name) if ours else name
                if _dotted(original_node.func) == "dict":
                    changed = self._text(name)
                keyword = self._named(old.keyword, cst.Name(name), changed)
                argument = new.with_changes(keyword=keyword)
            arguments.append(argument)
        if end in self.owners.texts and isinstance(original_node.args[1].value, cst.SimpleString):
            text = original_node.args[1].value
            old_name = str(text.evaluated_value)
            known = self.owners.texts[end]
            ours = known or (known is None and old_name not in self.vocabulary.members)
            value = self.names.identifiers.get(old_name, old_name) if ours else old_name
            arguments[1] = arguments[1].with_changes(value=_quoted(text, value))
        return updated_node.with_changes(args=arguments)

    # --- imports -----------------------------------------------------------------------------

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        """``from x import y``: the module, and the names if the module is ours."""
        level = len(original_node.relative)
        dotted = _dotted(original_node.module) if original_node.module else ""
        if level:
            parts = [self.names.identifiers.get(part, part) for part in dotted.split(".") if part]
            new, ours = ".".join(parts), True
        else:
            renamed = self.names.module(dotted)
            new, ours = renamed or dotted, renamed is not None
        module = _expression(new) if new else None
        if isinstance(original_node.names, cst.ImportStar):
            return updated_node.with_changes(module=module)
        aliases = [
            self._alias(old, changed, ours=ours)
            for old, changed in zip(original_node.names, _aliases(updated_node), strict=True)
        ]
        return updated_node.with_changes(module=module, names=aliases)

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        """``import x.y``."""
        aliases = []
        for old, changed in zip(original_node.names, updated_node.names, strict=True):
            dotted = _dotted(old.name)
            new = _expression(self.names.module(dotted) or dotted)
            aliases.append(changed.with_changes(name=new))
        return updated_node.with_changes(names=aliases)

    def _alias(
        self, old: cst.ImportAlias, changed: cst.ImportAlias, *, ours: bool
    ) -> cst.ImportAlias:
        if not isinstance(old.name, cst.Name):
            return changed
        name = old.name.value
        new = self.names.identifiers.get(name, name) if ours else name
        return changed.with_changes(name=self._named(old.name, cst.Name(name), new))

    # --- texts -------------------------------------------------------------------------------

    def visit_Expr(self, node: cst.Expr) -> None:
        """A text that is a statement is documentation."""
        if isinstance(node.value, cst.SimpleString):
            self._prose.add(node.value)

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        """Documentation, a key, or a message."""
        text = original_node.raw_value
        start = self.positions[original_node].start
        opening = len(original_node.prefix) + len(original_node.quote)
        if mask := self.masks.get((start.line, start.column + opening)):
            self.unmasked[mask] = self._text(text)
            return _quoted(updated_node, placeholder(mask))
        if self._end(original_node) in self.named:
            return _quoted(updated_node, self.names.identifiers.get(text, text))
        if original_node in self._prose:
            return _quoted(updated_node, translate(text, self.texts or self.names))
        return _quoted(updated_node, self._text(text))

    def _text(self, text: str) -> str:
        names = self.texts or self.names
        if text in names.keys:
            return names.keys[text]
        if text in names.identifiers:
            return text if text in self.vocabulary.words else names.identifiers[text]
        if text.startswith(("http://", "https://")):
            return text
        return translate(text, names, marked=" " in text, sources=False)

    def leave_FormattedStringText(
        self, original_node: cst.FormattedStringText, updated_node: cst.FormattedStringText
    ) -> cst.FormattedStringText:
        """The fixed parts of an f-string."""
        text = translate(original_node.value, self.texts or self.names, marked=False, sources=False)
        return updated_node.with_changes(value=text)

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        """A comment that stays (a script's)."""
        return updated_node.with_changes(value=translate(original_node.value, self.names))

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine | cst.RemovalSentinel:
        """A line with a comment of the library goes."""
        if original_node.comment is not None and not self.comments:
            return cst.RemoveFromParent()
        return updated_node

    def leave_TrailingWhitespace(
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        """A comment of the library behind code goes."""
        if original_node.comment is None or self.comments:
            return updated_node
        return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        """Who wrote it, and when, goes."""
        first = original_node.body[0]
        if not isinstance(first, cst.Assign):
            return updated_node
        name = _dotted(first.targets[0].target)
        if name not in _ABOUT:
            return updated_node
        if sum(line.count(name) for line in self.lines) == 1:
            return cst.RemoveFromParent()
        unsaid = cst.Assign(first.targets, cst.SimpleString('""'))  # it is used somewhere
        return updated_node.with_changes(body=[unsaid, *updated_node.body[1:]])

    # --- helpers -----------------------------------------------------------------------------

    def _bare(self, name: str) -> str:
        if self.own is not None and name not in self.own:
            return name
        if name in self.names.keys and is_distinctive(name):
            return self.names.keys[name]  # a variable is often called like the key
        return self.names.identifiers.get(name, name)

    def _named(self, original: cst.Name, updated: cst.Name, new: str) -> cst.Name:
        start = self.positions[original].start
        if mask := self.masks.get((start.line, start.column)):
            self.unmasked[mask] = new
            return updated.with_changes(value=placeholder(mask))
        return updated.with_changes(value=new)

    def _end(self, node: cst.CSTNode) -> Position:
        end = self.positions[node].end
        return end.line, len(self.lines[end.line - 1][: end.column].encode())


@dataclass(frozen=True)
class Rewritten:
    """A module after the rewrite; ``unmasked`` holds the new name behind each mask."""

    text: str
    unmasked: Mapping[str, str]


def rewrite(
    text: str,
    names: NameMap,
    owners: Owners,
    *,
    vocabulary: Vocabulary,
    modules: Collection[str],
    script: bool = False,
    masks: Mapping[tuple[int, int], str] | None = None,
    texts: NameMap | None = None,
) -> Rewritten:
    """Translate one module of the library, or (``script``) code that uses the library."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    rewriter = Rewriter(
        names=names,
        owners=owners,
        vocabulary=vocabulary,
        modules=modules,
        lines=text.splitlines() or [""],
        positions=wrapper.resolve(PositionProvider),
        own=_own(text, names) if script else None,
        masks=masks or {},
        comments=script,
        texts=texts or without_keys(text, names, vocabulary),
        named=texts_that_name(text, owners.calls),
    )
    done = wrapper.visit(rewriter).code
    return Rewritten(done, rewriter.unmasked)


def without_keys(text: str, names: NameMap, vocabulary: Vocabulary) -> NameMap:
    """The map for the texts of a module: what is a key there keeps its name, as in the code.

    Such a key has the name of something that the libraries define elsewhere, and belongs to
    others (``"band_gap"``): the module writes it as a text and defines nothing of that name.
    """
    module = Module("", Path(), text, is_package=False)
    keys = (texts_in(module) & vocabulary.words) - defined_names(module)
    kept = {old: new for old, new in names.identifiers.items() if old not in keys}
    return replace(names, identifiers=kept)


def placeholder(mask: str) -> str:
    """What stands for a mask while the code has to be valid Python."""
    return f"{mask}__"


def _own(text: str, names: NameMap) -> frozenset[str]:
    """Bare names of a script that are the library's: imported ones, variables called like them."""
    ours: set[str] = set()
    foreign: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            bound = {alias.asname or alias.name for alias in node.names}
            if names.module(node.module or ""):
                ours |= {alias.name for alias in node.names if alias.asname is None}
            else:
                foreign |= bound
    alike = {name for name in {*names.identifiers, *names.keys} if is_distinctive(name)}
    return frozenset(ours | (alike - foreign))


def _aliases(node: cst.ImportFrom) -> list[cst.ImportAlias]:
    return [] if isinstance(node.names, cst.ImportStar) else list(node.names)


def _quoted(node: cst.SimpleString, raw: str) -> cst.SimpleString:
    return node.with_changes(value=f"{node.prefix}{node.quote}{raw}{node.quote}")


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else "?"


def _expression(dotted: str) -> cst.Name | cst.Attribute:
    first, *rest = dotted.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node
