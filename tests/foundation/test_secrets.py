"""No key reaches a terminal, a log, or a file, whatever an endpoint repeats."""

import json
import logging
import os
import subprocess
import sys

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.base import Question
from experiments.benchmarks.own import Task
from experiments.command import main as run
from experiments.export.command import main as export
from experiments.samples import Sample
from foundation import secrets
from foundation.secrets import HIDDEN, LogFilter, redact, redacted
from sandbox.environments import cache_folder
from tests.support.endpoint import Endpoint, text, tool_calls
from tests.support.scripted import code_reply

KEY = "local7-VeryOwnKey_of.a/gateway"  # of no vendor's form


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("sk-proj-abcDEF1234567890abcdEF", HIDDEN),
        ("key: sk-ant-api03-abcDEF1234567890", f"key: {HIDDEN}"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstu", HIDDEN),
        (
            "Authorization: Bearer abcdefghij.0123456789",
            f"Authorization: Bearer {HIDDEN}",
        ),
        ("gsk_abcdefghij0123456789", HIDDEN),
        ("https://user:passw0rd@host/v1", f"https://{HIDDEN}@host/v1"),
        ("a risk-based-assessment-of-2-materials", None),
        ("from sk-learn import", None),
        ("the bearer of news", None),
        ("https://host:8080/v1", None),
        ("task-12-specific-descriptors-of-solids", None),
    ],
)
def test_what_looks_like_a_key(secret, shown):
    assert redact(secret) == (secret if shown is None else shown)


def test_keys_that_are_configured(monkeypatch):
    monkeypatch.setenv("MY_GATEWAY_TOKEN", KEY)
    monkeypatch.setenv("OTHER_API_KEY", "ollama")  # a word, not a secret
    assert redact(f"<{KEY}> ollama") == f"<{HIDDEN}> ollama"
    data = {"a": [KEY, 1, None], KEY: ("x", {"b": f"{KEY}{KEY}"})}
    assert redacted(data) == {
        "a": [HIDDEN, 1, None],
        HIDDEN: ("x", {"b": HIDDEN * 2}),
    }
    monkeypatch.delenv("MY_GATEWAY_TOKEN")
    assert redact(KEY) == KEY
    monkeypatch.setattr(secrets, "_configured", set())
    secrets.register(KEY)
    assert redact(KEY) == HIDDEN


def test_logs(monkeypatch, caplog):
    monkeypatch.setenv("MY_GATEWAY_TOKEN", KEY)
    caplog.handler.addFilter(LogFilter())
    logging.getLogger("any").warning("%s was refused: %d", KEY, 401)
    assert caplog.messages[-1] == f"{HIDDEN} was refused: 401"


def questions():
    """One that is answered by code."""
    return Task([Sample(Question("q0", "What is the edge?", {"edge": "float"}))])


STATUSES = (200, 400, 401, 403, 404, 413, 422, 429, 500, 503)
CODE = code_reply(f"# {KEY}\nprint('{KEY}')\nreturn {{'edge': 1.5}}")


def echoing(status):
    """An endpoint that repeats the key: in an error of a status, or in each part of a reply."""

    def play(body):
        echoed = f"{KEY} (Authorization: Bearer {KEY})"
        if status == 200:
            return Response(json.dumps({"error": {"message": echoed, "code": 400}}))
        if status != 0:
            error = {"error": {"message": f"invalid api key {echoed}"}}
            return Response(json.dumps(error), status=status)
        if body.get("tools"):
            arguments = json.dumps({"code": f"print('{KEY}')", "entry": KEY})
            return tool_calls(("run", arguments), content=echoed, reasoning=echoed)
        return text(f"{echoed}\n{CODE}", reasoning=echoed)

    return play


def link_environments(cache):
    """A cache of its own with the environments that there are."""
    cache.mkdir()
    (cache / "envs").symlink_to(cache_folder() / "envs")


def leaks(folder, *outputs):
    """Files and outputs that hold the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = [path for path in files if KEY.encode() in path.read_bytes()]
    return [*found, *(output for output in outputs if KEY in output)]


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))
    return tmp_path


@pytest.mark.parametrize(
    ("system", "status"),
    [
        *(("single", status) for status in STATUSES),
        *((system, status) for system in ("reflect", "tools") for status in (0, 401)),
    ],
)
def test_a_run_with_an_endpoint_that_echoes(system, status, home, capfd):
    with HTTPServer(threaded=True) as server:
        endpoint = Endpoint(server).play(echoing(status))
        run(
            [
                "benchmark=tests.foundation.test_secrets:questions",
                f"system={system}",
                "retrieval=none",
                "model=openai",
                "model.name=m",
                f"model.base_url={endpoint.url}",
                "model.max_retries=0",
                "model.cache=false",
                "budget.calls=4",
                f"model.record={home / 'traffic.jsonl'}",
                f"out={home / 'run'}",
            ]
        )
        assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (home / "run" / "results.jsonl").read_text()
    assert leaks(home, *capfd.readouterr()) == []


@pytest.mark.parametrize(
    ("status", "command"),
    [(0, "ask"), (401, "ask"), (200, "endpoint"), (0, "endpoint")],
)
def test_commands_with_an_endpoint_that_echoes(status, command, home):
    with HTTPServer(threaded=True) as server:
        endpoint = Endpoint(server).play(echoing(status))
        words = {
            "ask": ["ask", "system=single", "retrieval=none", "What is the edge?"],
            "endpoint": ["endpoint", "model=openai"],
        }[command]
        settings = [
            f"model.base_url={endpoint.url}",
            "model.name=m",
            "model.max_retries=0",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "matsmith", *words, *settings],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert endpoint.bodies
    assert "Traceback" not in done.stderr
    assert leaks(home, done.stdout, done.stderr) == []


@pytest.mark.long
async def test_mcp_with_an_endpoint_that_echoes(home):
    texts = []

    async def progress(number, total, message):
        texts.append(str(message))

    with HTTPServer(threaded=True) as server:
        endpoint = Endpoint(server).play(echoing(0), echoing(401), echoing(401))
        settings = [
            f"model.base_url={endpoint.url}",
            "model.name=m",
            "model.max_retries=0",
            "system=single",
            "retrieval=none",
        ]
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "matsmith", "mcp", *settings],
            env={**os.environ, "MATSMITH_CACHE": str(home / "cache")},
        )
        link_environments(home / "cache")
        with (home / "log").open("w") as log:
            transport = stdio_client(command, errlog=log)
            async with Client(transport) as client:
                for _ in range(2):
                    result = await client.call_tool(
                        "solve", {"question": "Edge?"}, progress_callback=progress
                    )
                    texts.append(result.model_dump_json())
        assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert len(texts) > 2
    assert leaks(home, *texts) == []
    assert list((home / "cache").glob("replies.sqlite"))


@pytest.mark.long
def test_a_page_with_an_endpoint_that_echoes(home):
    with HTTPServer(threaded=True) as server:
        endpoint = Endpoint(server).play(echoing(0), echoing(401), echoing(401))
        command = [sys.executable, "-m", "matsmith", "serve", "system=single"]
        command += [f"model.base_url={endpoint.url}", "model.name=m", "retrieval=none"]
        command += ["model.max_retries=0", "model.cache=false"]
        with (
            (home / "log").open("w") as log,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            try:
                line = process.stdout.readline()
                url, _, token = line.removeprefix("Open ").strip().partition("#")
                header = {"Authorization": f"Bearer {token}"}
                with httpx.Client(base_url=url, headers=header, timeout=120) as page:
                    events = [
                        page.post("api/ask", json={"question": "Edge?"}).text
                        for _ in range(2)
                    ]
                    history = page.get("api/history").text
            finally:
                process.terminate()
                output, _ = process.communicate(timeout=30)
        assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "event: answer" in events[0]
    assert HIDDEN in history
    assert leaks(home, output, history, *events) == []


PLUG_IN = """
import os
from dataclasses import dataclass
from agents.episode import System

@dataclass
class Mine(System):
    name = "mine"
    uses_retrieval = writes_code = executes = False
    llm = False

    async def _steps(self, episode):
        key = os.environ["OPENAI_API_KEY"]
        print(f"log {key}")
        episode.record("check", findings=[key])
        raise RuntimeError(f"401 for Bearer {key}")
"""


def test_a_plug_in_that_repeats_the_key(home, monkeypatch, capfd):
    (home / "plug_in_of_mine.py").write_text(PLUG_IN)
    monkeypatch.syspath_prepend(home)
    words = ["benchmark=tests.foundation.test_secrets:questions", "retrieval=none"]
    words += ["system=plug_in_of_mine:Mine", "model=none", f"out={home / 'run'}"]
    assert run(words) == 1
    outputs = capfd.readouterr()
    assert "RuntimeError: 401 for" in " ".join((outputs.out + outputs.err).split())
    for kind in ("inspect", "harbor"):
        export([str(home / "run"), f"out={home / kind}", f"to={kind}"])
    assert leaks(home, *outputs, *capfd.readouterr()) == []
