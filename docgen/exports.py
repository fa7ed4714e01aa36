"""Under which paths the definitions of a library can be imported."""

from __future__ import annotations

from collections.abc import Sequence

from docgen.constants import Constant
from docgen.definitions import Class, Function, Module
from docgen.names import Names


def short_name(definition: Class | Function | Constant) -> str:
    """Last part of the qualified name."""
    return definition.name if isinstance(definition, Constant) else definition.node.name


def _exported(module: Module, names: Names) -> list[str]:
    """Names that can be imported from a module, ``import *`` followed one level."""
    bound = [name for name in module.bindings if name not in module.typing_only]
    own = [*bound, *module.classes, *module.functions, *module.constants]
    for star in module.stars:
        if (target := names.modules.get(star)) is not None:
            offered = (*target.bindings, *target.classes, *target.functions, *target.constants)
            own += [name for name in offered if target.star_exports(name)]
            own = [name for name in own if name not in target.typing_only]
    return sorted(set(own))


def find_aliases(modules: Sequence[Module], names: Names) -> dict[str, str]:
    """Every other path under which a class or function can be imported."""
    table: dict[str, str] = {}
    for module in modules:
        for name in _exported(module, names):
            found = names.in_module(module, name)
            if isinstance(found, Class | Function | Constant):
                table.setdefault(f"{module.name}.{name}", found.qualname)
    for path, qualname in list(table.items()):
        cls = names.classes.get(qualname)
        if cls is not None:
            _member_aliases(path, cls, names, table)
    for cls in names.classes.values():
        _member_aliases(cls.qualname, cls, names, table)
    return {alias: qualname for alias, qualname in table.items() if alias != qualname}


def _member_aliases(path: str, cls: Class, names: Names, table: dict[str, str]) -> None:
    for owner in names.mro(cls):
        for name in (*owner.functions, *owner.constants):
            table.setdefault(f"{path}.{name}", f"{owner.qualname}.{name}")


def import_paths(modules: Sequence[Module], names: Names) -> dict[str, str]:
    """Qualified name -> shortest path through the ``__init__`` of an enclosing package."""
    table: dict[str, str] = {}
    for module in modules:
        if not module.source.is_package:
            continue
        for name in _exported(module, names):
            found = names.in_module(module, name)
            if not isinstance(found, Class | Function | Constant) or name.startswith("_"):
                continue
            if name != short_name(found):
                continue  # under another name; that is an alias, but not how to call it
            path = f"{module.name}.{name}"
            known = table.get(found.qualname, found.qualname)
            if found.qualname.startswith(f"{module.name}.") and len(path) < len(known):
                table[found.qualname] = path
    return table
