"""The chat model that a command writes documentation with, from ``conf/model/<name>.yaml``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from docgen.command import UsageError

if TYPE_CHECKING:  # LangChain takes half a second to import, langchain_openai two
    from langchain_core.language_models import BaseChatModel

CONF = Path(__file__).resolve().parent.parent / "conf"


def read_group(group: str, name: str, overrides: dict[str, Any]) -> dict[str, Any]:
    """The configuration ``conf/<group>/<name>.yaml`` with overrides.

    Raises
    ------
    UsageError
        When there is no such configuration.
    """
    path = CONF / group / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in (CONF / group).glob("*.yaml")))
        raise UsageError(f"{group}={name}: no such configuration; there are: {known}")
    merged = OmegaConf.merge(OmegaConf.load(path), OmegaConf.create(overrides))
    content = OmegaConf.to_container(merged, resolve=True)
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}


def chat_model(name: str, overrides: dict[str, Any]) -> tuple[BaseChatModel, str]:
    """A chat model and the name under which its texts are stored.

    Raises
    ------
    UsageError
        When the configuration does not exist or no key is set.
    """
    config = read_group("model", name, overrides)
    provider = config.get("provider")
    if provider == "rules":
        from docgen.rules_model import RulesDocModel  # noqa: PLC0415 - see above

        return RulesDocModel(), "rules"
    if provider != "openai":
        raise UsageError(f"model={name}: unknown provider {provider!r}; there are: rules, openai")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not config.get("base_url"):
        raise UsageError("model=openai needs OPENAI_API_KEY, or model.base_url of a local endpoint")
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - see above

    model = ChatOpenAI(
        model=str(config["name"]),
        base_url=config.get("base_url"),
        api_key=key or "none",
        temperature=config.get("temperature"),
        timeout=config.get("timeout"),
        max_retries=int(overrides.get("max_retries", 0)),  # docgen.writer tries again itself
        max_completion_tokens=config.get("max_tokens"),
    )
    return model, str(config["name"])
