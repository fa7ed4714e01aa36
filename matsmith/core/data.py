"""Tables of ours as YAML files beside the modules that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def data_of(module: str, name: str = "") -> Any:
    """The YAML file of ours beside a module: of its name, or of another one."""
    file = Path(module)
    path = file.with_name(f"{name}.yaml") if name else file.with_suffix(".yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))
