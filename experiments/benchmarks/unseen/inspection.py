"""What only the imported library tells, asked in the sandbox.

Members that its classes override of classes of others keep their names: base classes are known
only at run time. And what could be imported before must be importable when it is renamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.unseen.source import UnseenError
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

_PROBE = """
import importlib

MODULES = {modules!r}
PACKAGES = {packages!r}


def ours(module):
    return any(module == name or module.startswith(name + ".") for name in PACKAGES)


def probe():
    found, failed = set(), {{}}
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            failed[name] = f"{{type(error).__name__}}: {{error}}"
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and ours(kind.__module__):
                for base in kind.__mro__[1:]:
                    if not ours(base.__module__):
                        found |= set(vars(base)) & set(vars(kind))
                        # an attribute set on an instance may belong to the base as well
                        found |= {{n for n in vars(base) if n in kind.__init__.__code__.co_names
                                   }} if hasattr(kind.__init__, "__code__") else set()
    return {{"found": sorted(found), "failed": failed}}
"""


async def inspect(
    modules: Sequence[str],
    packages: Sequence[str],
    *,
    environment: str,
    backend: str = "auto",
    timeout: float = 120.0,
) -> tuple[frozenset[str], dict[str, str]]:
    """Overridden members, and the modules that cannot be imported there, with the reason.

    Raises
    ------
    UnseenError
        When the library cannot be looked at.
    SandboxError
        When no sandbox works here.
    """
    code = _PROBE.format(modules=list(modules), packages=list(packages))
    config = SandboxConfig(backend=backend, env=environment, workers=1, timeout=timeout)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(code, "probe", timeout=timeout)
    if done.outcome is Outcome.INFRA:
        raise SandboxError(done.error or "the sandbox failed")
    if done.outcome is not Outcome.OK:
        raise UnseenError(f"the library cannot be imported in {environment!r}: {done.error}")
    names = [name for name in done.result["found"] if not name.startswith("__")]
    return frozenset(names), dict(done.result["failed"])
