"""Which symbols are documented next: what builds on nothing unfinished, small ones together."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence

from docgen.order import documentation_order
from docgen.prompts import ROOM, TOGETHER, Prompter
from docgen.symbols import Library


class Schedule:
    """The frontier of symbols whose dependencies are finished.

    Parameters
    ----------
    kept
        Whether a symbol need not be asked for, because its text is there.
    """

    def __init__(self, library: Library, prompter: Prompter, kept: Callable[[str], bool]) -> None:
        self.order = documentation_order(library)
        self._library, self._prompter, self._kept = library, prompter, kept
        self._rank = {name: rank for rank, name in enumerate(self.order.sequence)}
        self._waiting = {name: len(needs) for name, needs in self.order.needs.items()}
        self._dependants: dict[str, list[str]] = {}
        for name, needs in self.order.needs.items():
            for need in needs:
                self._dependants.setdefault(need, []).append(name)
        self._neighbours: dict[str, list[str]] = {}
        for name in self.order.sequence:
            self._neighbours.setdefault(library.symbols[name].path, []).append(name)
        self._ready: list[tuple[bool, int, str]] = []
        self._done: set[str] = set()
        self._taken: set[str] = set()
        self._alone: set[str] = set()

    def __bool__(self) -> bool:
        """Whether something can be asked for."""
        return bool(self._ready)

    def start(self) -> list[str]:
        """The symbols that build on nothing."""
        return [name for name in self.order.sequence if not self.order.needs[name]]

    def add(self, names: Iterable[str]) -> None:
        """Symbols can be asked for. Small ones come last, when most that go with them are there."""
        for name in names:
            if name not in self._taken:
                bisect.insort(self._ready, (self._prompter.small(name), self._rank[name], name))

    def finish(self, name: str) -> list[str]:
        """A symbol has its text; returns those that now have everything they build on."""
        self._done.add(name)
        released: list[str] = []
        for dependant in self._dependants.get(name, ()):
            self._waiting[dependant] -= 1
            if self._waiting[dependant] == 0 and dependant not in self._done:
                released.append(dependant)
        return released

    def next(self) -> list[str]:
        """The next symbols to ask for: one, or small ones of the same module.

        Such a group may hold a symbol that builds on another one of it: the prompt shows both.
        """
        *_, first = self._ready[0]
        group = [first]
        if self._prompter.small(first) and first not in self._alone:
            for name in self._neighbours[self._library.symbols[first].path]:
                if len(group) < TOGETHER and name != first and self._may_join(name, group):
                    group.append(name)
        self._ready = [item for item in self._ready if item[-1] not in group]
        self._taken.update(group)
        return group

    def ask_alone(self, names: Sequence[str]) -> None:
        """Put back what a request for several symbols did not document."""
        self._alone.update(names)
        self._taken.difference_update(names)
        self.add(name for name in names if not self._waiting[name])

    def _may_join(self, name: str, group: Sequence[str]) -> bool:
        symbols = self._library.symbols
        return (
            self._prompter.small(name)
            and name not in self._taken
            and name not in self._alone
            and name not in self._done
            and sum(len(symbols[n].source) for n in (*group, name)) <= ROOM
            and all(n in self._done or n in group for n in self.order.needs[name])
            and not self._kept(name)
        )
