"""Builds a wheel by PEP 517; runs inside a sandbox, in the environment of the build's tools."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WHEELS = Path("../wheels")


#: Where tools that take the version from git look for one first.
VERSION_VARIABLES = (
    "SETUPTOOLS_SCM_PRETEND_VERSION",  # hatch-vcs as well
    "PDM_BUILD_SCM_VERSION",
    "POETRY_DYNAMIC_VERSIONING_BYPASS",
    "PBR_VERSION",
)


def build(
    backend: str,
    paths: Sequence[str],
    installed: Sequence[str],
    epoch: str,
    version: str,
) -> dict[str, Any]:
    """Call the backend of the project in ``project``.

    ``paths`` are folders of the project that hold the backend, ``installed`` what the environment
    was made for, ``epoch`` the time that files in the wheel carry, ``version`` what tools are told
    that would ask git. Returns ``more``, further
    requirements of the build; or the ``name`` of the wheel, and its content as ``wheel``.
    """
    os.environ["SOURCE_DATE_EPOCH"] = epoch
    os.environ.update(dict.fromkeys(VERSION_VARIABLES, version))
    shutil.copytree(
        "project", "source", copy_function=shutil.copyfile
    )  # inputs are read-only
    os.chdir("source")
    sys.path[:0] = [str(Path(path).resolve()) for path in paths]
    module, _, name = backend.partition(":")
    __import__(module)
    hooks: Any = sys.modules[module]
    for part in filter(None, name.split(".")):
        hooks = getattr(hooks, part)
    if hasattr(hooks, "get_requires_for_build_wheel"):
        wanted = hooks.get_requires_for_build_wheel()
        more = [requirement for requirement in wanted if requirement not in installed]
        if more:
            return {"more": more}
    WHEELS.mkdir()
    wheel = hooks.build_wheel(str(WHEELS))
    return {"name": wheel, "wheel": (WHEELS / wheel).read_bytes()}
