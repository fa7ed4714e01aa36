"""Whose failure it is: one row for each way in which an endpoint, a model or a machine can fail.

============  ===================================================================================
whose         what becomes of it
============  ===================================================================================
endpoint      `ModelError`, asked ``tries`` times in all: infrastructure, tried again on resume
model         a reply with a named fault, or `ContextError`: scored as a wrong answer
machine       the reply as it was sent: a cache that fails costs nothing but a warning
nobody        the reply as it was sent: odd, and well
============  ===================================================================================
"""

import asyncio
import gzip
import json
import re
import socket
import time
import zlib
from functools import cache
from typing import NamedTuple

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.models import Message, ModelConfig, ModelError, build_model
from agents.models.reply import ContextError, Reply
from indexes.embedding import build_embedding
from matsmith.core.errors import EndpointError
from tests.endpoint import (
    USAGE,
    Endpoint,
    Play,
    closed,
    cut_off,
    filtered,
    message,
    refusal,
    status,
    text,
    tool_call,
)

ASKED = [Message("user", "hello")]
TRIES = 3


@pytest.fixture(scope="module")
def serving():
    with HTTPServer(threaded=True) as started:
        yield started


@pytest.fixture
def server(serving):
    """One that answers several requests at once; to stop it takes half a second."""
    yield serving
    serving.clear()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Try again without a pause."""
    monkeypatch.setattr("matsmith.core.endpoint.LONGEST_PAUSE", 0.01)


def raw(data, packing="", **fields):
    headers = {"Content-Encoding": packing} if packing else {}
    return Response(data, content_type="application/json", headers=headers, **fields)


def plain(body):
    return raw(json.dumps(body))


def changed(change, content="hi"):
    """A completion in which something was changed."""
    body = json.loads(text(content).get_data())
    change(body)
    return plain(body)


def choice(**fields):
    return changed(lambda body: body["choices"][0].update(fields))


@cache
def packed(megabytes):
    return gzip.compress(b'{"a": "' + b" " * (megabytes << 20) + b'"}', 1)


def bomb(body):
    return raw(packed(200), "gzip")


def endless(body):
    def parts():
        yield b'{"a": "'
        while True:
            yield b" " * (1 << 20)

    return raw(parts())


def dripping(body):
    def parts():
        while True:
            yield b" "
            time.sleep(0.1)

    return raw(parts())


def silent(body):
    time.sleep(3.0)
    return text("too late")


def to(place):
    return status(307, location=place)


DONE = text("hi").get_data()
LONG = '{"error": {"message": "maximum context length is 4096 tokens", "code": "%s"}}'


class Row(NamedTuple):
    """A fault: what is played, whose failure it is, what is said of it, and how often asked."""

    play: Play
    whose: str
    said: str = ""
    tries: int = 1


def endpoint(play, tries=1, said=""):
    return Row(play, "endpoint", said, tries)


def model(play, fault, tries=1):
    return Row(play, "model", fault, tries)


def nobody(play, said="hi"):
    return Row(play, "nobody", said)


TABLE: dict[str, Row] = {
    # -- statuses
    **{
        f"status {code}": endpoint(status(code), TRIES)
        for code in (408, 409, 429, 500, 502, 503, 504, 529, 599)
    },
    **{
        f"status {code}": endpoint(status(code))
        for code in (204, 400, 401, 402, 403, 404, 410, 413, 415, 418, 422, 451)
    },
    "busy for a year": endpoint(status(429, retry_after="31536000")),
    "a refusal to be tried again": endpoint(status(400, x_should_retry="true"), TRIES),
    "a page with a good status": endpoint(Response("<html>", content_type="text/html")),
    "a redirect to another host": endpoint(to("http://192.0.2.1/v1"), said="192.0.2.1"),
    # -- it says that it failed, with a good status
    **{
        f"ended with {why}": endpoint(message("x", ended=why), TRIES)
        for why in (
            "error",
            "abort",
            "aborted",
            "cancelled",
            "canceled",
            "failed",
            "timeout",
            "ERROR",
        )
    },
    "an error in a choice": endpoint(
        choice(error={"message": "gone", "code": 502}), TRIES
    ),
    "an error in place of choices": endpoint(
        plain({"error": {"message": "overloaded"}}), TRIES
    ),
    "an error beside choices": endpoint(plain({"error": "no", "choices": []}), TRIES),
    # -- not a reply
    "no choices": endpoint(plain({"id": "x"})),
    "null choices": endpoint(plain({"choices": None})),
    "a list": endpoint(plain([1, 2])),
    "a number": endpoint(plain(3)),
    "null": endpoint(plain(None)),
    "a choice that is a number": endpoint(
        changed(lambda body: body.update(choices=[7]))
    ),
    "a choice without message": endpoint(
        changed(lambda body: body["choices"][0].pop("message"))
    ),
    "a message that is a text": endpoint(choice(message="hi")),
    "no body": endpoint(raw("")),
    "not JSON": endpoint(raw("{'a': 1}")),
    "deep JSON": endpoint(raw("[" * 100_000)),
    "a number of 10 000 digits": endpoint(raw('{"choices": ' + "9" * 10_000 + "}")),
    "not UTF-8": endpoint(raw(b'{"choices": "\xff\xfe"}')),
    # -- how it is sent
    "half a body": endpoint(closed(), TRIES),
    "a bomb": endpoint(bomb, said="more than 64 MB"),
    "a charset that unpacks": endpoint(
        Response(zlib.compress(b"no"), 400, content_type="text/plain; charset=zlib"),
        said="status 400",
    ),
    "no end": endpoint(endless, said="more than 64 MB"),
    "one byte after the other": endpoint(dripping, TRIES),
    "nothing in time": endpoint(silent, TRIES),
    "unknown packing": endpoint(raw("x", "br"), said="packed with br"),
    "two packings": endpoint(raw("x", "gzip, gzip"), said="packed with gzip, gzip"),
    "packed, it says": endpoint(raw(DONE, "gzip")),
    # -- the model's own
    "cut off": model(cut_off("def f("), "length"),
    **{
        f"ended by {why}": model(message("text", ended=why), fault)
        for why, fault in (
            ("max_tokens", "length"),
            ("MAX_TOKENS", "length"),
            ("SAFETY", "content_filter"),
            ("refusal", "refusal"),
            ("guardrail_intervened", "content_filter"),
        )
    },
    "filtered": model(filtered(), "content_filter"),
    "refused": model(refusal(), "refusal"),
    "a call": model(tool_call(), "tool_call"),
    "a call without JSON": model(tool_call(arguments="{no json"), "tool_call"),
    "nothing": model(text(""), "empty"),
    "null for a text": model(message(None), "empty"),
    "blanks": model(text(" \n"), "empty"),
    "a prompt that is too long": model(
        status(400, LONG % "context_length_exceeded"), "context"
    ),
    "a prompt that is too long, 413": model(status(413, LONG % "x"), "context"),
    # -- odd, and well
    "packed": nobody(raw(gzip.compress(DONE), "gzip")),
    "packed otherwise": nobody(raw(zlib.compress(DONE), "deflate")),
    "packed, by another name": nobody(raw(gzip.compress(DONE), "X-GZIP")),
    "odd details of usage": nobody(
        text("hi", usage=USAGE | {"prompt_tokens_details": "none"})
    ),
    "no reason for its end": nobody(text("hi", ended=None)),
    **{
        f"ended well by {why}": nobody(text("hi", ended=why))
        for why in ("tool_calls", "end_turn", "STOP")
    },
    "an unknown reason": nobody(text("hi", ended="<b>because</b>")),
    "fields that nobody knows": nobody(choice(more={"a": [1]})),
    "two choices": nobody(
        changed(lambda body: body["choices"].append(body["choices"][0]))
    ),
    "spaces around it": nobody(raw(b"\n" * 5000 + DONE + b" " * 5000)),
    "half a character": nobody(text("hi \ud800"), "hi ?"),
    "a line that ends a terminal's": nobody(text("hi\x1b[2J\0"), "hi\x1b[2J\0"),
}


def reached(url, **keys):
    fixed = {
        "provider": "openai",
        "name": "m",
        "base_url": url,
        "max_retries": TRIES - 1,
    }
    return build_model(ModelConfig.model_validate(fixed | {"timeout": 3} | keys))


@pytest.mark.parametrize("name", TABLE)
async def test_whose_failure_it_is(name, server):
    row = TABLE[name]
    played = Endpoint(server).play(row.play)
    client = reached(played.url, timeout=1.5 if row.play in (dripping, silent) else 60)
    try:
        result = await client.ask(ASKED, sample="0")
    except ModelError as error:
        result = error
    await client.close()
    if row.whose == "endpoint":
        assert isinstance(result, ModelError), result
        assert not isinstance(result, ContextError)
        assert len(str(result)) < 1000
        assert row.said in str(result)
    elif row.said == "context":
        assert isinstance(result, ContextError)
    else:
        assert isinstance(result, Reply), result
        assert (result.text, result.fault) == (
            row.said,
            None,
        ) or result.fault == row.said
    assert len(played.bodies) == row.tries


async def test_an_endpoint_that_is_not_there():
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        client = reached(f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/v1")
        with pytest.raises(ModelError, match="ConnectError"):
            await client.ask(ASKED, sample="0")


USAGES = [
    None,
    {},
    [],
    "many",
    3,
    {"prompt_tokens": 1.5, "completion_tokens": 2},
    {"prompt_tokens": "7", "completion_tokens": "3"},
    {"prompt_tokens": 10**30, "completion_tokens": 3},
    {"prompt_tokens": -1, "completion_tokens": 3},
    {"prompt_tokens": True, "completion_tokens": 3},
    {"prompt_tokens": None, "completion_tokens": None},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": 7, "completion_tokens": 0},
    {"prompt_tokens": 7},
    {"prompt_tokens": [7], "completion_tokens": {}},
]


@pytest.mark.parametrize("usage", USAGES)
async def test_a_report_that_cannot_be_true_is_an_estimate(usage, server):
    endpoint = Endpoint(server).play(text("hello there", usage=usage))
    reply = await reached(endpoint.url, price={"prompt": 1, "completion": 1}).ask(
        ASKED, sample="0"
    )
    assert (reply.text, reply.usage.estimated, reply.usage.calls) == (
        "hello there",
        True,
        1,
    )
    assert reply.usage.cost_usd is None
    assert 0 < reply.usage.tokens < 100


@pytest.mark.parametrize("broken", ["garbage", "folder", "entry", "reading", "full"])
async def test_a_cache_that_fails_is_the_machines_and_costs_no_reply(
    broken, server, tmp_path, caplog
):
    endpoint = Endpoint(server).play("one" * 9000, "two" * 9000)
    config = ModelConfig(
        provider="openai", name="m", base_url=endpoint.url, max_retries=0
    )
    file = tmp_path / "replies.sqlite"
    if broken == "garbage":
        file.write_bytes(b"garbage" * 1000)
    elif broken == "folder":
        file.mkdir()
    first = build_model(config, cache=tmp_path)
    database = first.cache._database
    if broken in {"reading", "full"}:
        limit = "query_only = 1" if broken == "reading" else "max_page_count = 1"
        database.execute(f"PRAGMA {limit}")
    assert (await first.ask(ASKED, sample="0")).text[:3] == "one"
    if broken == "entry":
        database.execute("UPDATE replies SET reply = '[1'")
        assert file.stat().st_mode & 0o077 == 0
    second = await first.ask(ASKED, sample="0")
    assert (second.text[:3], second.usage.calls) == ("two", 1)  # paid for, and counted
    assert caplog.text.count("replies are not kept") == 1


async def test_slow_and_endless_requests_never_stop_the_others(server):
    slow = {"drip": dripping, "none": endless, "bomb": bomb}

    def play(body):
        asked = body["messages"][0]["content"]
        return slow[asked](body) if asked in slow else text(asked)

    client = reached(Endpoint(server).play(play).url, timeout=60, max_retries=0)
    held = [
        asyncio.create_task(client.ask([Message("user", name)], sample="0"))
        for name in slow
    ]
    await asyncio.sleep(0.5)
    asked = [f"question {number}" for number in range(20)]
    replies = await asyncio.gather(
        *(client.ask([Message("user", a)], sample="0") for a in asked)
    )
    assert [reply.text for reply in replies] == asked
    assert not held[0].done()  # whatever the machine is busy with
    held[0].cancel()
    _, *failed = await asyncio.gather(*held, return_exceptions=True)
    assert [type(each) for each in failed] == [ModelError] * 2


@pytest.mark.parametrize("play", [bomb, endless, dripping])
async def test_embeddings_are_bounded_too(play, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.expect_request(re.compile(".*")).respond_with_handler(
        lambda request: play({})
    )
    facts = {"name": "e", "provider": "openai", "base_url": server.url_for("/v1")}
    embedding = build_embedding({**facts, "timeout": 2, "max_retries": 0})
    packed(200)
    with pytest.raises(EndpointError, match=r"no reply in 2 s|more than 64 MB"):
        await embedding.embed(["a text"])
