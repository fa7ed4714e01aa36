"""The gate of the mutations: what was to be changed is changed in the library that is handed out.

Asked of the built package in the sandbox, by binding the original positional call.
"""

from __future__ import annotations

from experiments.unseen.build import UnseenLibrary
from experiments.unseen.mapping import NameMap
from experiments.unseen.mutations import RECORD, Permuted, Record
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

_PROBE = """
import importlib
import inspect

ENTRIES = {entries!r}


def bind(module, qualname, before):
    found = importlib.import_module(module)
    for part in qualname.split("."):
        if part != "__init__":
            found = getattr(found, part)
    signature = inspect.signature(found)
    first = next(iter(signature.parameters))
    receiver = [] if first in before else ["the receiver"]
    bound = signature.bind(*receiver, *before)
    return [name for name in bound.arguments][len(receiver):]


def probe():
    bound, failed = {{}}, {{}}
    for module, qualname, before in ENTRIES:
        try:
            bound[module + ":" + qualname] = bind(module, qualname, before)
        except ImportError as error:
            failed[module] = str(error)
        except (AttributeError, TypeError) as error:
            bound[module + ":" + qualname] = str(error)
    return {{"bound": bound, "failed": failed}}
"""


async def check_mutations(
    library: UnseenLibrary, backend: str = "auto", timeout: float = 120.0
) -> tuple[list[str], dict[str, object]]:
    """Findings, and what there is to report; nothing of both when nothing was mutated.

    Raises
    ------
    SandboxError
        When no sandbox works here.
    """
    path = library.private / RECORD
    if not path.is_file():
        return [], {}
    record, names = Record.load(path), library.names
    expected = {_key(entry, names): entry for entry in record.permuted}
    entries = [
        [*key.split(":"), [names.identifiers.get(name, name) for name in entry.before]]
        for key, entry in expected.items()
    ]
    config = SandboxConfig(backend=backend, env=library.environment, workers=1, timeout=timeout)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(_PROBE.format(entries=entries), "probe", timeout=timeout)
    if done.outcome is Outcome.INFRA:
        raise SandboxError(done.error or "the sandbox failed")
    if done.outcome is not Outcome.OK:
        return [f"the mutated package cannot be looked at: {done.error}"], {}
    bound: dict[str, list[str]] = done.result["bound"]
    findings = [
        f"{key}: the original positional call binds to {found}"
        for key, found in bound.items()
        if not _is_moved(found, expected[key], names)
    ]
    if not bound:
        findings.append("mutate=order: no function whose parameters changed places")
    report = {
        "permuted": len(record.permuted),
        "permuted_proven": len(bound) - len(findings),
        "kept_in_place": dict(record.kept or {}),
        "not_importable": dict(done.result["failed"]),
    }
    return findings, report


def _is_moved(found: list[str], entry: Permuted, names: NameMap) -> bool:
    """Whether the values of the original call go to the parameters in their new order."""
    after = [names.identifiers.get(name, name) for name in entry.after]
    return found == after and entry.before != entry.after


def _key(entry: Permuted, names: NameMap) -> str:
    parts = [names.identifiers.get(part, part) for part in entry.qualname.split(".")]
    return f"{names.module(entry.module)}:{'.'.join(parts)}"
