"""A conversation with a scripted model and the real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.adaptive import Adaptive
from agents.assistant import Assistant, Session, read_config
from agents.assistant.events import heard
from agents.episode import Parts
from agents.runtime import Runtime
from sandbox.base import Sandbox
from tests.agents.scripted import ScriptedModel, client


@pytest.fixture
def converse(live_sandbox: Sandbox) -> Callable[..., tuple[Session, ScriptedModel]]:
    """Makes a session whose model replies from a list."""

    def make(*script: Any) -> tuple[Session, ScriptedModel]:
        model, chat = client(*script)
        parts = Parts(model, None, live_sandbox, on_step=heard)
        runtime = Runtime(Adaptive(parts), model, None, live_sandbox, None, 120.0, {})
        return Assistant(read_config(["model=rules"]), runtime).session(), chat

    return make
