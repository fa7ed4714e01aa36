"""Whether code may have changed a structure after it was read, by its syntax tree and its calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence

from agents.assistant.answers import Trace
from agents.assistant.syntax import called_name
from foundation.configuration import data_of

_ALTERING_CALL = re.compile("|".join(data_of(__file__, "rules")["changes"]))
_CONTAINERS = frozenset(
    {"dict", "list", "set", "tuple", "defaultdict", "Counter", "OrderedDict"}
    | {"zeros", "empty", "ones", "full", "array"}
)


def alters_structure(tree: ast.Module, trace: Trace) -> bool:
    """Whether code may have changed a structure after it was read, by whatever means."""
    if any(map(_ALTERING_CALL.search, trace.library)):
        return True
    containers = _container_names(tree)
    return any(
        _is_altering_call(node, containers)
        or _makes_supercell(node)
        or any(_writes_into(target, containers) for target in _targets(node))
        for node in ast.walk(tree)
    )


def _is_altering_call(node: ast.AST, containers: Collection[str]) -> bool:
    """Whether a call changes what it is called on; a list of the code's own may grow."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if (
            owner in containers
        ):
            return False
        case ast.Call():
            return _ALTERING_CALL.search(called_name(node)) is not None
    return False


def _makes_supercell(node: ast.AST) -> bool:
    """Whether it may be ``structure * (2, 2, 2)`` or ``structure *= 2``."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(
                isinstance(side, ast.Tuple | ast.List) and len(side.elts) == 3
                for side in (left, right)
            )
        case ast.AugAssign(op=ast.Mult(), target=ast.Name()):
            return True
    return False


def _targets(node: ast.AST) -> Sequence[ast.expr]:
    """What a statement assigns to, or deletes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return list(targets)
        case ast.AugAssign() | ast.AnnAssign():
            return [node.target]
    return []


def _writes_into(target: ast.expr, containers: Collection[str]) -> bool:
    """Whether an item or attribute is set of something that is no container of the code."""
    if not isinstance(target, ast.Subscript | ast.Attribute):
        return False
    base = target.value
    return not (isinstance(base, ast.Name) and base.id in containers)


def _container_names(tree: ast.Module) -> set[str]:
    """Names that are only ever bound to containers made in the code itself."""
    made: dict[str, bool] = {}
    displays = ast.Dict | ast.List | ast.Set | ast.Tuple | ast.DictComp | ast.ListComp
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        value = node.value
        is_container = isinstance(value, displays) or (
            isinstance(value, ast.Call) and called_name(value) in _CONTAINERS
        )
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                made[target.id] = made.get(target.id, True) and is_container
    return {name for name, is_container in made.items() if is_container}
