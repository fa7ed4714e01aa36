"""What other installed packages add, and whether it can be imported.

A package names it in its entry points (docs/extending.md). Listing imports every plug-in; no other
command imports one that was not chosen.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from foundation.command import Command
from foundation.plugins import GROUPS, Plugin, installed
from foundation.terminal import printable


class PluginOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith plugins``."""

    group: str | None = Field(None, description=f"only this one of {', '.join(GROUPS)}")


def _list(options: PluginOptions) -> int:
    """Print a line for each plug-in; returns 1 where one cannot be imported."""
    groups = GROUPS if options.group is None else [options.group]
    plugins = [plugin for group in groups for plugin in installed(group)]
    if not plugins:
        print("no plug-ins are installed (docs/extending.md)")
        return 0
    choices = {plugin: f"{plugin.group}={plugin.name}" for plugin in plugins}
    width = max(map(len, choices.values()))
    faults = 0
    for plugin, choice in choices.items():
        fault = plugin.fault()
        print(printable(f"{choice:{width}}  {_origin(plugin)}"))
        if fault is not None:
            faults += 1
            print(printable(f"  cannot be used: {fault}"))
    return int(faults > 0)


def _origin(plugin: Plugin) -> str:
    return f"{plugin.target}  (from {plugin.distribution or 'an unknown distribution'})"


main = Command("matsmith plugins", str(__doc__), PluginOptions, _list)
