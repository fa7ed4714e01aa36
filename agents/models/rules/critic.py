"""The critique without an LLM: what failed, and whose documentation is missing."""

from __future__ import annotations

import re

from agents.models.rules.coder import flagged, plan
from agents.models.rules.infer import Scope
from agents.models.rules.knowledge import element, kind_of, plain
from agents.models.rules.masks import uses_of
from agents.models.rules.program import build
from agents.models.rules.reading import Prompt

_GOT = re.compile(r"^[\w.]+: got ([\w.]+)$", re.MULTILINE)
_UNINTERESTING = ("builtins.", "numpy.", "types.", "pathlib.")


def review(prompt: Prompt) -> str:
    """Feedback and next query for the last attempt, in the form the critic is asked for."""
    last = prompt.tried[-1] if prompt.tried else None
    if last is None:
        return "<feedback>there is no attempt yet</feedback>\n<query></query>"
    made = plan(prompt)
    missing = flagged(last)
    names = _masked_modules(prompt, made.scope)
    names += _undocumented_types(made.scope, last.printed)
    names += _undocumented_imports(made.scope)
    names += _next_types(made.scope)
    asked = [w for w in prompt.wanted if w.name in missing]
    words = [w.name.replace("_", " ") for w in asked][:3]
    query = " ".join([*(f"`{name}`" for name in dict.fromkeys(names)), *words])
    notes = [f"{name}: try another expression" for name in sorted(missing)]
    notes += last.traceback.strip().splitlines()[-1:]
    return f"<feedback>{'; '.join(notes)}</feedback>\n<query>{query}</query>"


def _masked_modules(prompt: Prompt, scope: Scope) -> list[str]:
    program = build(prompt, scope.knowledge)
    modules = [m for use in uses_of(program, scope).values() for m in use.modules]
    return [m for m in modules if m not in scope.knowledge.symbols]


def _undocumented_types(scope: Scope, printed: str) -> list[str]:
    types = [*scope.probed.values(), *scope.types.values(), *_GOT.findall(printed)]
    found = []
    for annotation in types:
        for name in (annotation, element(annotation)):
            wanted = name and "[" not in name and kind_of(name) == "object"
            if wanted and not name.startswith(_UNINTERESTING) and scope.symbol(name) is None:
                found.append(name)
    return found


def _undocumented_imports(scope: Scope) -> list[str]:
    return [
        qualname
        for qualname in scope.imports.values()
        if "." in qualname
        and not qualname.startswith(("numpy", "pathlib", "collections", "typing", "itertools"))
        and scope.knowledge.find(qualname) is None
    ]


def _next_types(scope: Scope) -> list[str]:
    """Classes that members of the known objects return."""
    found = []
    for annotation in scope.types.values():
        symbol = scope.symbol(annotation)
        for member in symbol.members if symbol else ():
            returns = member.signature.returns
            if kind_of(returns) == "object" and scope.symbol(returns) is None:
                found.append(plain(returns))
    return list(dict.fromkeys(found))[:5]
