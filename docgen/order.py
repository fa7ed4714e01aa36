"""In which order symbols are documented: what a symbol uses comes before the symbol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from docgen.symbols import Library, Symbol


@dataclass(frozen=True)
class Order:
    """A documentation order.

    Attributes
    ----------
    sequence
        Every symbol once, callees first; mutually recursive symbols stand together.
    needs
        Symbol -> the symbols that must be documented before it. Acyclic: inside a strongly
        connected group only those that stand earlier in the group.
    groups
        The strongly connected groups of more than one symbol, in order.
    """

    sequence: tuple[str, ...]
    needs: Mapping[str, tuple[str, ...]]
    groups: tuple[tuple[str, ...], ...]


def call_graph(library: Library) -> nx.DiGraph[str]:
    """Directed graph, edges from a symbol to what it uses (calls, bases)."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(library.symbols)
    for symbol in library.symbols.values():
        graph.add_edges_from((symbol.qualname, callee) for callee in uses(symbol, library))
    return graph


def uses(symbol: Symbol, library: Library) -> list[str]:
    """What a symbol's documentation builds on: its callees and bases; of a module its members."""
    names: Iterable[str] = symbol.calls
    if symbol.kind == "module":
        names = (member.qualname for member in symbol.members)
    return [n for n in dict.fromkeys(names) if n in library.symbols and n != symbol.qualname]


def documentation_order(library: Library) -> Order:
    """Topological order of the call graph's strongly connected groups, callees first.

    Ties are broken by name, so the order depends on the source only.
    """
    graph = call_graph(library)
    condensed = nx.condensation(graph)
    members: dict[int, Sequence[str]] = {
        node: sorted(data["members"], key=lambda n: _position(library.symbols[n]))
        for node, data in condensed.nodes(data=True)
    }
    ranked = nx.lexicographical_topological_sort(
        condensed.reverse(copy=False), key=lambda node: min(members[node])
    )
    sequence: list[str] = []
    needs: dict[str, tuple[str, ...]] = {}
    groups: list[tuple[str, ...]] = []
    done: set[str] = set()
    for node in ranked:
        if len(members[node]) > 1:
            groups.append(tuple(members[node]))
        for name in members[node]:
            needs[name] = tuple(n for n in uses(library.symbols[name], library) if n in done)
            sequence.append(name)
            done.add(name)
    return Order(tuple(sequence), needs, tuple(groups))


def _position(symbol: Symbol) -> tuple[str, int, str]:
    return symbol.path, symbol.first_line, symbol.qualname
