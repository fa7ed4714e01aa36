"""A conversation with a scripted model and the real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.assistant import AssistantService, Session, read_config
from agents.episode import Context
from agents.runtime import Runtime
from agents.systems.reflect import Adaptive
from sandbox.base import Sandbox
from tests.support.scripted import ScriptedModel, client


@pytest.fixture
def converse(live_sandbox: Sandbox) -> Callable[..., tuple[Session, ScriptedModel]]:
    """Makes a session whose model replies from a list."""

    def make(*script: Any, system: type = Adaptive) -> tuple[Session, ScriptedModel]:
        model, chat = client(*script)
        parts = Context(model, None, live_sandbox)
        runtime = Runtime(system(parts), model, None, live_sandbox, None, 120.0, {})
        return AssistantService(read_config([]), runtime).session(), chat

    return make
