"""The gate of the mutations: what was to be changed is changed in the library that is handed out.

Asked of the built package in the sandbox: the original positional call is bound to the signature,
and the defaults are read from it.
"""

from __future__ import annotations

import ast

from experiments.unseen.build import UnseenLibrary
from experiments.unseen.mapping import NameMap
from experiments.unseen.mutations import RECORD, Permuted, Record, Redefined
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

_PROBE = """
import importlib
import inspect

CALLS = {calls!r}
DEFAULTS = {defaults!r}


def signature(where):
    module, _, qualname = where.partition(":")
    found = importlib.import_module(module)
    for part in qualname.split("."):
        if part.startswith("__") and not part.endswith("__"):
            part = "_" + found.__name__.lstrip("_") + part
        if part != "__init__":
            found = getattr(found, part)
    return inspect.signature(found)


def bind(where, before):
    taken = signature(where)
    receiver = [] if next(iter(taken.parameters)) in before else ["the receiver"]
    return list(taken.bind(*receiver, *before).arguments)[len(receiver):]


def default(where, name):
    return signature(where).parameters[name].default


def probe():
    found, failed = {{"calls": [], "defaults": []}}, {{}}
    for kind, ask, entries in (("calls", bind, CALLS), ("defaults", default, DEFAULTS)):
        for entry in entries:
            try:
                answer = ask(*entry)
            except ImportError as error:
                failed[entry[0].partition(":")[0]] = str(error)
                answer = None
            except (AttributeError, KeyError, TypeError) as error:
                answer = type(error).__name__ + ": " + str(error)
            found[kind].append(answer)
    return {{**found, "failed": failed}}
"""


async def check_mutations(
    library: UnseenLibrary, backend: str = "auto", timeout: float = 120.0
) -> tuple[list[str], dict[str, object]]:
    """Findings, and what there is to report; nothing of both when nothing was mutated.

    Functions of modules that cannot be imported in the sandbox are counted, not proven.

    Raises
    ------
    SandboxError
        When no sandbox works here.
    """
    path = library.private / RECORD
    if not path.is_file():
        return [], {}
    record, names = Record.load(path), library.names
    code = _PROBE.format(
        calls=[[_where(entry, names), _new(entry.before, names)] for entry in record.permuted],
        defaults=[[_where(e, names), *_new((e.parameter,), names)] for e in record.defaults],
    )
    config = SandboxConfig(backend=backend, env=library.environment, workers=1, timeout=timeout)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(code, "probe", timeout=timeout)
    if done.outcome is Outcome.INFRA:
        raise SandboxError(done.error or "the sandbox failed")
    if done.outcome is not Outcome.OK:
        return [f"the mutated package cannot be looked at: {done.error}"], {}
    return judge(record, names, done.result)


def judge(
    record: Record, names: NameMap, answers: dict[str, object]
) -> tuple[list[str], dict[str, object]]:
    """Compare what the built package answered with what was to be changed."""
    findings: list[str] = []
    report: dict[str, object] = {}
    bound, defaults = answers["calls"], answers["defaults"]
    assert isinstance(bound, list)
    assert isinstance(defaults, list)
    if "order" in record.kinds:
        for entry, found in zip(record.permuted, bound, strict=True):
            moved = entry.before != entry.after and found == _new(entry.after, names)
            if found is not None and not moved:
                findings.append(f"{_where(entry, names)}: the original call binds to {found}")
        known = [found for found in bound if found is not None]
        if not known:
            findings.append("order: no function is known to have its parameters in another order")
        report |= {"permuted": len(bound), "permuted_proven": len(known)}
        report |= {"kept_in_order": dict(record.kept)}
    if "defaults" in record.kinds:
        for change, found in zip(record.defaults, defaults, strict=True):
            if found is not None and not _is_redefined(change, found):
                where = f"{_where(change, names)}: {_new((change.parameter,), names)[0]}"
                findings.append(f"{where} has the default {found}, not {change.after}")
        known = [found for found in defaults if found is not None]
        if not known:
            findings.append("defaults: no parameter is known to have another default")
        report |= {"defaults": len(defaults), "defaults_proven": len(known)}
        given, old = record.given
        report |= {"defaults_given_by_references": given, "given_with_the_old_value": old}
    return findings, {**report, "not_importable": answers["failed"]}


def _is_redefined(change: Redefined, found: object) -> bool:
    before, after = ast.literal_eval(change.before), ast.literal_eval(change.after)
    return bool(found == after and type(found) is type(after) and before != after)


def _new(old: tuple[str, ...], names: NameMap) -> list[str]:
    return [names.identifiers.get(name, name) for name in old]


def _where(entry: Permuted | Redefined, names: NameMap) -> str:
    return f"{names.module(entry.module)}:{'.'.join(_new(tuple(entry.qualname.split('.')), names))}"
