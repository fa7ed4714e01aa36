"""Which symbols are documented next: what a symbol uses comes before it, small ones together."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import networkx as nx

from docgen.prompts import ROOM, TOGETHER, Prompter
from docgen.symbols import Library, Symbol


def uses(symbol: Symbol, library: Library) -> list[str]:
    """What a symbol's documentation builds on: its callees and bases; of a module its members."""
    names = [m.qualname for m in symbol.members] if symbol.kind == "module" else symbol.calls
    return [n for n in dict.fromkeys(names) if n in library.symbols and n != symbol.qualname]


def documentation_order(library: Library) -> dict[str, tuple[str, ...]]:
    """Every symbol -> those that must be documented before it, callees first.

    Mutually recursive symbols stand together, and need of each other only those that stand
    earlier. Ties are broken by name, so the order depends on the source only.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(library.symbols)
    for symbol in library.symbols.values():
        graph.add_edges_from((symbol.qualname, callee) for callee in uses(symbol, library))
    condensed = nx.condensation(graph)
    members: dict[int, Sequence[str]] = {
        node: sorted(data["members"], key=lambda n: _position(library.symbols[n]))
        for node, data in condensed.nodes(data=True)
    }
    ranked = nx.lexicographical_topological_sort(
        condensed.reverse(copy=False), key=lambda node: min(members[node])
    )
    needs: dict[str, tuple[str, ...]] = {}
    for name in (name for node in ranked for name in members[node]):
        needs[name] = tuple(n for n in uses(library.symbols[name], library) if n in needs)
    return needs


def _position(symbol: Symbol) -> tuple[str, int, str]:
    return symbol.path, symbol.first_line, symbol.qualname


def batches(
    library: Library, needs: Mapping[str, Sequence[str]], prompter: Prompter, wanted: Container[str]
) -> list[list[str]]:
    """What is asked for together: one symbol, or small ones of the same module.

    Each builds on earlier ones only, so that they can wait for one another; inside of one a symbol
    may build on another one: the prompt shows both.
    """
    found: list[list[str]] = []
    number: dict[str, int] = {}
    growing: dict[str, int] = {}  # by module
    for name in (name for name in needs if name in wanted):
        symbol, last = library.symbols[name], len(found)
        if prompter.small(name):
            last = growing.get(symbol.path, last)
            group = found[last] if last < len(found) else []
            room = ROOM - sum(len(library.symbols[n].source) for n in (*group, name))
            later = any(number.get(need, -1) > last for need in needs[name])
            if later or len(group) == TOGETHER or (group and room < 0):
                last = len(found)
            growing[symbol.path] = last
        if last == len(found):
            found.append([])
        found[last].append(name)
        number[name] = last
    return found
