"""The parts of the assistant: model, documents and sandbox for one installed environment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.agentic import Agentic
from agents.base import Agent, Question, Step
from agents.budget import Budget
from agents.episode import Parts
from agents.graphrag import GraphRag
from agents.models import ModelClient, ModelConfig, build_model, read_config
from agents.rag import Rag
from agents.reflect import Reflect
from agents.reretrieve import Reretrieve
from agents.resample import Resample
from agents.single import Single
from agents.tools import Tools
from retrieval.base import RetrievalError, Retriever
from retrieval.factory import get_retriever
from sandbox import environments
from sandbox.base import Sandbox, SandboxConfig
from sandbox.factory import get_sandbox

SYSTEMS: Mapping[str, Callable[[Parts], Agent]] = {
    "single": Single,
    "rag": Rag,
    "agentic": Agentic,
    "graphrag": GraphRag,
    "reflect": Reflect,
    "resample": Resample,
    "reretrieve": Reretrieve,
    "tools": Tools,
}
#: Import names that are documented where an environment has them.
LIBRARIES = ("pymatgen", "matminer", "robocrys", "phonopy")
EXECUTION_SECONDS = 120.0
DOCUMENTS = 12  # in a prompt of a real model; see docs/retrieval.md for what more find
DOCUMENT_CHARACTERS = 3000  # of each

_RULES = ModelConfig(provider="rules", name="rules")


@dataclass(frozen=True)
class Settings:
    """What a user of the assistant can choose.

    Attributes
    ----------
    model
        Name of a model, ``rules`` for the one without an LLM; ``None``: ``OPENAI_MODEL`` or
        gpt-4o where there is a key or an endpoint, else ``rules``.
    base_url
        OpenAI-compatible endpoint; ``None``: ``OPENAI_BASE_URL``, else OpenAI's own.
    provider
        Who serves the model; see :class:`agents.models.ModelConfig`.
    settings
        Further keys of :class:`agents.models.ModelConfig`.
    environment
        Folder of ``sandbox/envs``, or path of one's own: the versions that the code runs on.
    packages
        Import names that are documented, as far as the environment has them.
    calls
        Model calls for one question at most.
    """

    system: str = "reflect"
    model: str | None = None
    base_url: str | None = None
    provider: str = "openai"
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: str = "live"
    packages: tuple[str, ...] = LIBRARIES
    retrieval: Literal["llm_doc", "none"] = "llm_doc"
    backend: str = "auto"
    calls: int = 20

    def model_config(self, variables: Mapping[str, str] = os.environ) -> ModelConfig:
        """Which model to build.

        Raises
        ------
        ValueError
            When a setting does not exist or cannot have its value.
        """
        base_url = self.base_url
        if self.provider == "openai":
            base_url = base_url or variables.get("OPENAI_BASE_URL") or None
        elif self.model is None:
            raise ValueError(f"--provider {self.provider}: say which model with --model NAME")
        reachable = base_url is not None or bool(variables.get("OPENAI_API_KEY"))
        name = self.model or (variables.get("OPENAI_MODEL", "gpt-4o") if reachable else "rules")
        if name == "rules":
            return _RULES
        values: dict[str, Any] = {
            "provider": self.provider,
            "name": name,
            "base_url": base_url,
            "documents": DOCUMENTS,
            "document_characters": DOCUMENT_CHARACTERS,
        }
        return read_config({**values, **self.settings})


@dataclass(frozen=True)
class Workbench:
    """Everything that works on a user's question.

    Attributes
    ----------
    versions
        Installed versions by distribution name.
    """

    agent: Agent
    model: ModelClient
    retriever: Retriever | None
    sandbox: Sandbox
    versions: Mapping[str, str]


@asynccontextmanager
async def open_workbench(
    settings: Settings,
    *,
    say: Callable[[str], None],
    on_step: Callable[[Question, Step], None] | None = None,
) -> AsyncIterator[Workbench]:
    """Build the parts, and close the sandbox at the end.

    Parameters
    ----------
    say
        Told what is being built.
    on_step
        Told of every step of an answer.

    Raises
    ------
    ValueError
        When there is no such model, or no key for it.
    SandboxError, RetrievalError
        When the environment, the isolation or the documents are not available; the message says
        what to do.
    """
    cache = environments.cache_folder()
    model = build_model(settings.model_config(), cache=cache)
    await asyncio.to_thread(environments.build, settings.environment, say=say)
    retriever = await build_retriever(settings)
    limits = SandboxConfig(backend=settings.backend, env=settings.environment, workers=1)
    async with get_sandbox(limits) as sandbox:
        parts = Parts(
            model=model,
            retriever=retriever,
            sandbox=sandbox,
            budget=Budget(calls=settings.calls),
            execution_timeout=EXECUTION_SECONDS,
            packages=settings.packages,
            sources=environments.source_folders(settings.environment),
            on_step=on_step,
        )
        versions = environments.installed_versions(settings.environment)
        yield Workbench(SYSTEMS[settings.system](parts), model, retriever, sandbox, versions)


async def build_retriever(settings: Settings) -> Retriever | None:
    """Documents of the installed libraries, written without an LLM where they do not exist yet.

    Raises
    ------
    RetrievalError
        When the documents or their index cannot be made.
    """
    site = environments.site_packages(settings.environment)
    there = [name for name in settings.packages if (site / name).is_dir()]
    missing = sorted(set(settings.packages) - set(there))
    if missing and settings.packages != LIBRARIES:
        raise RetrievalError(
            f"--packages: {', '.join(missing)} is not installed in {settings.environment!r}"
        )
    writer = build_model(_RULES)
    mode = getattr(SYSTEMS[settings.system], "retrieval_mode", "lexical")
    return await get_retriever(
        {
            "name": settings.retrieval,
            "source": settings.retrieval,
            "mode": mode,
            "default_embedding": "hashing",
        },
        packages=there,
        site_packages=site,
        writer=writer.chat,
        writer_name=writer.name,
        embedding=None,
        cache=environments.cache_folder(),
        progress=True,
    )
