"""Runs the code of an answer, and writes what its function returns as tagged JSON."""

from __future__ import annotations

import sys
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(entry: str) -> None:
    """Execute ``main.py`` of the working directory, and call its function ``entry``."""
    sys.path.insert(0, str(HERE / "packages"))
    from sandbox.inside.tagged import dumps  # noqa: PLC0415

    sys.path.remove(str(HERE / "packages"))
    source = Path("main.py")
    module = types.ModuleType("main")
    module.__file__ = str(source.resolve())
    sys.modules["main"] = module
    code = compile(source.read_text(encoding="utf-8"), module.__file__, "exec")
    exec(code, module.__dict__)  # noqa: S102 -- in the task's container
    payload = dumps(getattr(module, entry)())
    (HERE / "result" / "payload.json").write_text(payload, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
