"""Where packages lie: at the top of a checkout, below ``matsmith`` in a wheel.

A wheel claims no other name than its own (``agents`` belongs to others too, for instance to
openai-agents): `docs/decisions/0008-one-name-in-a-wheel.md`. Everything else about the project is
in ``pyproject.toml``.
"""

import re
import sys
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

OWN = ("agents", "conf", "docgen", "experiments", "indexes", "retrieval", "sandbox")
NAMES = "|".join(OWN)
#: What names a package: imports, classes in YAML, commands that are shown to a user.
NAMED = re.compile(
    rf"^(\s*from )(?=(?:{NAMES})[. ])|"
    rf"^(\s*_target_: )(?=(?:{NAMES})\.)|"
    rf"(python -m )(?=(?:{NAMES})\b)",
    re.MULTILINE,
)
FILES = ("*.css", "*.html", "*.j2", "*.js", "*.json", "*.md", "*.yaml")
#: Would bind a name of its own, which no prefix can stand before.
PLAIN = re.compile(rf"^\s*import (?:{NAMES})\b", re.MULTILINE)
DATA = {
    "docgen": ("written/*.jsonl.gz",),
    "sandbox": ("Dockerfile", "scripts/*"),
    "sandbox.envs": ("*/requirements.*", "*/python", "*/sdists"),
}


class BuildBelow(build_py):
    """Copies the packages, and lets them name each other by where they are installed."""

    def run(self) -> None:
        """Build, then rewrite what was built (twice changes nothing)."""
        super().run()
        for path in Path(self.build_lib).rglob("*"):
            if path.suffix in {".py", ".yaml", ".md", ".j2"} and path.is_file():
                text = path.read_text(encoding="utf-8")
                if path.suffix == ".py" and PLAIN.search(text):
                    raise SystemExit(f"{path}: write `from PACKAGE import NAME`, not `import`")
                changed = NAMED.sub(lambda match: f"{match[0]}matsmith.", text)
                if changed != text:
                    path.write_text(changed, encoding="utf-8")


found = find_namespace_packages(include=["matsmith*", *(f"{name}*" for name in OWN)])
if "editable_wheel" in sys.argv:
    prefix, command = "", build_py
else:
    prefix, command = "matsmith.", BuildBelow
below = {name: name if name.startswith("matsmith") else f"{prefix}{name}" for name in found}
setup(
    packages=sorted(below.values()),
    package_dir={new: name.replace(".", "/") for name, new in below.items()},
    package_data={"": list(FILES)} | {f"{prefix}{name}": list(data) for name, data in DATA.items()},
    cmdclass={"build_py": command},
)
