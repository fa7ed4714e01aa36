"""What a user of the assistant can choose, and everything that works on a question."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from agents.config import RuntimeConfig, compose, overrides, validate
from foundation.command import Commas
from foundation.configuration import data_of
from foundation.errors import UsageError
from sandbox import environments, libraries

#: Import names that are documented where an environment has them.
LIBRARIES = ("pymatgen", "matminer", "robocrys", "phonopy")
#: What the commands say of themselves.
USAGE: dict[str, str] = data_of(__file__, "usage")


class AssistantConfig(RuntimeConfig):
    """What a user of the assistant can choose."""

    env: str = Field("live", description="installed versions: a name or ./FOLDER")
    library: str = Field(
        "", description="what `matsmith learn` learnt: its env and packages"
    )
    packages: Annotated[tuple[str, ...], Commas] | None = Field(
        None,
        description=f"import names to look up; none: {', '.join(LIBRARIES)}, if installed",
    )
    roots: Annotated[tuple[str, ...], Commas] = Field(
        (".",), description="for mcp: folders whose files its clients may pass"
    )


def read_config(words: Sequence[str] = ()) -> AssistantConfig:
    """The configuration of ``conf/assistant.yaml`` with overrides."""
    conf, (given,) = overrides(words)
    if name := str(given.get("library") or ""):
        known = libraries.learnt(name)
        given = {"env": known.env, "packages": f"[{','.join(known.packages)}]", **given}
        if known.changed:
            logging.warning(
                "%s has changed since: `matsmith library refresh %s`", name, name
            )
    plain = compose(given, root="assistant", conf=conf)
    if "system" not in given and plain["model"].get("tools") == "text":
        # A model that calls tools decides for itself what it looks up; one that cannot drafts
        # first, and sees only the documents of what a draft got wrong.
        plain = compose({"system": "adaptive", **given}, root="assistant", conf=conf)
    return validate(plain, AssistantConfig, ("system",))


def needs_model(config: AssistantConfig) -> AssistantConfig:
    """The configuration, when it has a model to ask."""
    if config.model.plays and config.model.recordings is None:
        raise UsageError(
            "no model is set: put a key into OPENAI_API_KEY, or name an OpenAI-compatible endpoint "
            "(model.base_url=http://localhost:11434/v1 model.name=qwen3); `matsmith ask --demo` "
            "shows recorded conversations without one"
        )
    return config


def packages(config: AssistantConfig, say: Callable[[str], None]) -> list[str]:
    """Import names that are documented, in an environment that is there afterwards."""
    environments.build(config.env, say=say)
    installed = environments.source_folders(config.env)
    wanted = config.packages or LIBRARIES
    there = [
        name for name in wanted if any((site / name).is_dir() for site in installed)
    ]
    if missing := sorted(set(config.packages or ()) - set(there)):
        raise UsageError(
            f"packages={','.join(missing)}: is not installed in {config.env!r}"
        )
    return there
