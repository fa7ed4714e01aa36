"""What a ``[MASK]`` may stand for: candidates from signatures, members and words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agents.models.rules.infer import Scope
from agents.models.rules.knowledge import Member, plain
from agents.models.rules.program import MASK_NAME
from agents.models.rules.reading import Prompt
from agents.models.rules.words import agreement, covered, name_words, text_words


@dataclass
class Use:
    """How one mask is used."""

    modules: list[str] = field(default_factory=list)
    owner: str | None = None  # type of ``x`` in ``x.[MASK]``; "" when unknown
    call: ast.Call | None = None
    target: str = ""  # name that the value is bound to
    keyword_of: ast.Call | None = None  # the mask is the name of a keyword argument
    read_from: set[str] = field(default_factory=set)  # attributes read from the value


@dataclass(frozen=True)
class Choice:
    """A name for a mask, with its score and the module to import it from (if any)."""

    name: str
    score: float
    module: str = ""


def masks_in(statement: ast.AST) -> list[str]:
    """Masks of a statement, in order of appearance."""
    names = (name for node in ast.walk(statement) for name in _names(node))
    return list(dict.fromkeys(name for name in names if MASK_NAME.match(name)))


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(attr=name):
            return [name]
        case ast.keyword(arg=str(name)):
            return [name]
        case ast.ImportFrom(names=aliases, module=module):
            parts = (module or "").split(".")
            return [alias.name for alias in aliases] + parts
        case _:
            return []


def uses_of(statements: Iterable[ast.stmt], scope: Scope) -> dict[str, Use]:
    """Collect how every mask is used; ``scope`` knows the types so far."""
    found: dict[str, Use] = {}
    imported: list[str] = []
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if MASK_NAME.match(alias.name):
                    use = found.setdefault(alias.asname or alias.name, Use())
                    use.modules.append(statement.module or "")
                    imported.append(statement.module or "")
        target = _target(statement)
        for node in ast.walk(statement):
            _note(node, found, scope, target)
    for use in found.values():
        if use.owner is None and not use.modules and use.keyword_of is None:
            use.modules = list(dict.fromkeys(imported))
    return found


def _target(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def _note(node: ast.AST, found: dict[str, Use], scope: Scope, target: str) -> None:
    if isinstance(node, ast.Name) and MASK_NAME.match(node.id):
        use = found.setdefault(node.id, Use())
        use.target = use.target or target
    elif isinstance(node, ast.Attribute) and MASK_NAME.match(node.attr):
        use = found.setdefault(node.attr, Use())
        use.owner = scope.imported_class(node.value) or scope.infer(node.value)
        use.target = use.target or target
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        inner = node.value.func
        if isinstance(inner, ast.Name) and MASK_NAME.match(inner.id):
            found.setdefault(inner.id, Use()).read_from.add(node.attr)
    if isinstance(node, ast.Call):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if MASK_NAME.match(name):
            found.setdefault(name, Use()).call = node
        for keyword in node.keywords:
            if keyword.arg and MASK_NAME.match(keyword.arg):
                found.setdefault(keyword.arg, Use()).keyword_of = node


def choices(use: Use, scope: Scope, prompt: Prompt) -> list[Choice]:
    """Candidates for a mask, best first, equal ones by name; empty when nothing is known."""
    if use.keyword_of is not None:
        ranked = _keywords(use.keyword_of, scope, prompt)
    else:
        ranked = [
            Choice(member.name, _score(member, use, scope, prompt), module)
            for member, module in _candidates(use, scope)
            if _fits_call(member, use)
        ]
    return sorted(ranked, key=lambda c: (-c.score, c.name))


def _candidates(use: Use, scope: Scope) -> list[tuple[Member, str]]:
    if use.owner is not None:
        symbol = scope.symbol(use.owner)
        members = symbol.members if symbol else ()
        return [(m, "") for m in members if not m.name.startswith("_")]
    found = []
    for module in use.modules:
        found += [(member, module) for member in scope.knowledge.members(module)]
        inside = module + "."
        for symbol in scope.knowledge.symbols.values():
            deeper = symbol.qualname.startswith(inside)
            if deeper and symbol.kind in {"class", "function"} and not symbol.name.startswith("_"):
                found.append((symbol.member, module))
    return list({(member.name, module): (member, module) for member, module in found}.values())


def _fits_call(member: Member, use: Use) -> bool:
    if use.call is None:
        return use.owner is None or not member.callable
    if not member.callable:
        return False
    keywords = [k.arg for k in use.call.keywords if k.arg and not MASK_NAME.match(k.arg)]
    starred = any(isinstance(argument, ast.Starred) for argument in use.call.args)
    open_call = starred or any(k.arg is None for k in use.call.keywords)
    return open_call or member.signature.accepts(len(use.call.args), keywords)


def _score(member: Member, use: Use, scope: Scope, prompt: Prompt) -> float:
    words = name_words(member.name)
    about = text_words(member.text)
    asked: set[str] = set()
    for wanted in prompt.wanted:
        asked |= set(wanted.words) | wanted.about
    score = covered(words, asked) + 0.5 * covered(about, asked)
    if use.target:
        score += 0.8 * agreement(words, name_words(use.target))
        wanted_names = [w for w in prompt.wanted if w.name == use.target]
        if wanted_names:
            score += agreement(words, wanted_names[0].words)
            score += 0.5 * covered(wanted_names[0].about, about | set(words))
    if use.call is not None:
        given = {k.arg for k in use.call.keywords if k.arg}
        names = {parameter.name for parameter in member.signature.parameters}
        score += 0.5 * len(given & names)
        score += _argument_score(member, use.call, scope)
    if use.read_from and member.kind == "class":
        symbol = scope.knowledge.find(member.name)
        have = {m.name for m in symbol.members} if symbol else set()
        score += 0.5 * len(use.read_from & have)
    return score


def _argument_score(member: Member, call: ast.Call, scope: Scope) -> float:
    """Positional arguments whose type or name is that of the parameter."""
    score = 0.0
    for argument, parameter in zip(call.args, member.signature.parameters, strict=False):
        have, want = plain(scope.infer(argument)), plain(parameter.annotation)
        if have and want:
            score += 0.3 if have == want or have in want else -0.1
        if isinstance(argument, ast.Name):
            score += 0.3 * agreement(name_words(argument.id), name_words(parameter.name))
    return score


def _keywords(call: ast.Call, scope: Scope, prompt: Prompt) -> list[Choice]:
    function = call.func
    signature = None
    if isinstance(function, ast.Name) and function.id in scope.imports:
        symbol = scope.knowledge.find(scope.imports[function.id])
        signature = symbol.signature if symbol else None
    elif isinstance(function, ast.Attribute):
        owner = scope.imported_class(function.value) or scope.infer(function.value)
        member = scope.member(owner, function.attr)
        signature = member.signature if member else None
    if signature is None:
        return []
    given = {k.arg for k in call.keywords}
    asked = text_words(prompt.text)
    free = [p for p in signature.parameters[len(call.args) :] if p.name not in given]
    return [Choice(p.name, covered(name_words(p.name), asked)) for p in free]


class Filler(ast.NodeTransformer):
    """Puts names in place of masks; an import of several masks takes all that are used."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a masked name."""
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace a masked attribute."""
        node.attr = self.names.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Replace a masked keyword."""
        if node.arg is not None:
            node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        """Replace a masked import."""
        node.name = self.names.get(node.name, node.name)
        return node
