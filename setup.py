"""Where packages lie: at the top of a checkout, in ``matsmith/_packages`` in a wheel.

A wheel claims no other name than its own; ``import matsmith`` puts the folder on the import path:
`docs/decisions/0008-one-name-in-a-wheel.md`. Everything else is in ``pyproject.toml``.
"""

import sys

from setuptools import find_namespace_packages, setup

OWN = (
    "agents",
    "conf",
    "docgen",
    "experiments",
    "foundation",
    "indexes",
    "retrieval",
    "sandbox",
)
FILES = (
    "py.typed",
    "*.css",
    "*.html",
    "*.j2",
    "*.js",
    "*.json",
    "*.jsonl",
    "*.md",
    "*.png",
    "*.yaml",
)
DATA = {
    "agents": ["recordings/*.jsonl.gz", "recordings/k40/*.jsonl.gz"],
    "docgen": ["written/*.jsonl.gz", "written/examples/*.jsonl.gz"],
    "sandbox": ["Dockerfile", "scripts/*"],
    "sandbox.envs": ["*/requirements.*", "*/python", "*/sdists", "*/imports"],
}

#: Of a wheel only: `python -m experiments.run`.
SHIM = "matsmith._wheel"

editable = "editable_wheel" in sys.argv
below = "" if editable else "matsmith._packages."
found = find_namespace_packages(
    include=["matsmith*", *(f"{name}*" for name in OWN)], exclude=[SHIM]
)
places = {name if name.startswith("matsmith") else below + name: name for name in found}
if not editable:
    places["experiments"] = SHIM
setup(
    packages=sorted(places),
    package_dir={new: name.replace(".", "/") for new, name in places.items()},
    package_data={"": list(FILES)}
    | {below + name: data for name, data in DATA.items()},
)
