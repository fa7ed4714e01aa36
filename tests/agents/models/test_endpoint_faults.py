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
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.models import Message, ModelConfig, ModelError, build_model
from agents.models.reply import ContextError, Reply
from foundation import endpoint as core
from foundation.errors import EndpointError
from foundation.http import STREAM
from indexes.embedding import build_embedding
from tests.support.endpoint import (
    USAGE,
    Endpoint,
    Play,
    closed,
    cut_off,
    filtered,
    late,
    message,
    reasoned,
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
    monkeypatch.setattr("foundation.endpoint.LONGEST_PAUSE", 0.01)


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


def frames(*pieces, ended="stop"):
    """Lines of an event stream: a role, the pieces, why it ended, usage, and the end mark."""
    deltas = [{"role": "assistant", "content": None}]
    deltas += [{"content": piece} for piece in pieces]
    choices = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    choices.append([{"index": 0, "delta": {}, "finish_reason": ended}])
    listed = [{"choices": choice} for choice in choices]
    listed.append({"choices": [], "usage": USAGE})
    lines = [f"data: {json.dumps(frame)}\n\n" for frame in listed]
    return [*lines, "data: [DONE]\n\n"]


def streamed(*pieces, ended="stop"):
    return Response("".join(frames(*pieces, ended=ended)), content_type=STREAM)


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
    "a failure that it says stays": endpoint(status(500, x_should_retry="false")),
    "a window, in an error with a good status": model(
        plain(
            {
                "error": "Trying to keep the first 9 tokens when context overflows. However, "
                "the model is loaded with context length of only 8 tokens, which is not enough."
            }
        ),
        "context",
    ),
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
    **{
        f"an error of code {code} with a good status": endpoint(
            plain({"error": {"message": "said", "code": code}}), tries
        )
        for code, tries in ((404, 1), ("402", 1), (429, TRIES), (502, TRIES))
    },
    # -- it fails in the same way whenever it is asked
    **{
        f"for ever: {saying}": endpoint(status(500, saying))
        for saying in (
            "Jinja Exception: Conversation roles must alternate user/assistant",
            "error in the chat template: undefined variable",
            'model "m" not found, try pulling it first',
            "insufficient_quota: buy more",
            "Error loading model: unknown architecture, no such model",
        )
    },
    "a full account": endpoint(
        status(402, "You requested up to 65536 tokens, but can only afford 3919."),
        said="can only afford",
    ),
    # -- not a reply
    "no choices": endpoint(plain({"id": "x"}), TRIES),
    "null choices": endpoint(plain({"choices": None}), TRIES),
    "empty choices": endpoint(plain({"choices": [], "usage": None}), TRIES),
    "choices that are a text": endpoint(plain({"choices": "none"})),
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
    **{
        f"ended by {why}": model(message(None, ended=why), "tool_call")
        for why in ("MALFORMED_FUNCTION_CALL", "filter: MALFORMED_FUNCTION_CALL")
    },
    "a refusal as a block": model(
        choice(message={"content": [{"type": "refusal", "refusal": "no"}]}), "refusal"
    ),
    "megabytes": model(text("a long answer " * 200_000), "too_large"),
    "megabytes of thoughts": model(reasoned("so " * 1_000_000, "42"), "too_large"),
    "a prompt that is too long": model(
        status(400, LONG % "context_length_exceeded"), "context"
    ),
    "a prompt that is too long, 413": model(status(413, LONG % "x"), "context"),
    # -- odd, and well
    "packed": nobody(raw(gzip.compress(DONE), "gzip")),
    "packed otherwise": nobody(raw(zlib.compress(DONE), "deflate")),
    "packed, by another name": nobody(raw(gzip.compress(DONE), "X-GZIP")),
    "frames of a stream": nobody(streamed("h", "i")),
    "frames, and remarks between them": nobody(
        raw(b": PROCESSING\n\nevent: x\n" + streamed("hi").get_data())
    ),
    "one frame that holds all": nobody(raw(b"data: " + DONE + b"\n\ndata: [DONE]\n\n")),
    "a mark of the end behind it": nobody(raw(DONE + b"\n\ndata: [DONE]\n\n")),
    "blocks of the newer interface": nobody(
        choice(message={"content": [{"type": "output_text", "text": "hi"}]})
    ),
    "one block that is no list": nobody(
        choice(message={"content": {"type": "text", "text": "hi"}})
    ),
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


@pytest.fixture
def waits(monkeypatch):
    """Seconds that are waited, which pass at once."""
    noted = []

    class Quick:
        def __getattr__(self, name):
            return getattr(asyncio, name)

        async def sleep(self, seconds):
            noted.append(seconds)

    monkeypatch.setattr(core, "asyncio", Quick())
    monkeypatch.setattr(core, "LONGEST_PAUSE", 8.0)
    return noted


def in_seconds(seconds):
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime(
        "%a, %d %b %Y %H:%M:%S GMT"
    )


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21s"}
ANNOUNCED = {
    "header": (lambda: status(429, retry_after="21"), 21),
    "header with a date": (lambda: status(503, retry_after=in_seconds(60)), 40),
    "header in milliseconds": (lambda: status(429, retry_after_ms="21000"), 21),
    "field of the body": (
        lambda: status(429, json.dumps([{"error": {"details": [RETRY_INFO]}}])),
        21,
    ),
    "estimate of the body": (
        lambda: status(503, json.dumps({"error": "loading", "estimated_time": 21.0})),
        21,
    ),
    "words": (lambda: status(429, "Rate limit. Please try again in 21.5s."), 21.5),
    "words with minutes": (lambda: status(429, "try again in 1m3.5s"), 63.5),
    "words with milliseconds": (lambda: status(429, "try again in 210ms"), 0.2),
}


@pytest.mark.parametrize("way", ANNOUNCED)
async def test_what_is_announced_is_waited_for_and_is_no_failure(
    way, server, waits, caplog
):
    refuse, seconds = ANNOUNCED[way]
    played = Endpoint(server).play(*[refuse()] * (TRIES + 2), text("42"))
    client = reached(played.url)
    assert (await client.ask(ASKED, sample="0")).text == "42"
    assert len(waits) == TRIES + 2
    assert seconds <= max(waits) <= seconds + 20
    assert caplog.text.count("m: the endpoint asks to, wait") == TRIES + 2 or (
        "being loaded" in caplog.text
    )


async def test_a_model_that_is_being_loaded_is_waited_for(server, waits, caplog):
    busy = status(503, '{"error": {"message": "Loading model", "code": 503}}')
    played = Endpoint(server).play(*[busy] * 15, text("42"))
    client = reached(played.url)
    assert (await client.ask(ASKED, sample="0")).text == "42"
    assert sum(waits) > 60
    assert "m: the model is being loaded" in caplog.text


async def test_nothing_is_waited_for_without_end(server, waits):
    busy = status(503, "Loading model")
    client = reached(Endpoint(server).play(busy).url)
    with pytest.raises(ModelError, match="Loading model"):
        await client.ask(ASKED, sample="0")
    assert sum(waits) <= 600


def dialogue(*pieces, pause, ended=True):
    """A server that streams where it is asked to, and else says nothing until it is done."""

    def play(body):
        if not body["stream"]:
            time.sleep(pause * len(pieces))
            return text("".join(pieces))

        def parts():
            for line in frames(*pieces):
                yield line
                time.sleep(pause)

        return Response(parts(), content_type=STREAM)

    return play


async def test_a_reply_without_end_is_the_models_and_counted(server):
    played = Endpoint(server).play(dialogue(*["one two "] * 50, pause=0.2))
    reply = await reached(played.url, timeout=2).ask(ASKED, sample="0")
    assert reply.fault == "length"
    assert reply.text.startswith("one two one two")
    assert (reply.usage.calls, reply.usage.estimated) == (1, True)
    assert reply.usage.completion_tokens > 5
    assert "replies are streamed" in reply.adjusted[0]
    assert [body["stream"] for body in played.bodies] == [False, True]


async def test_a_slow_reply_that_ends_in_time_is_whole(server):
    played = Endpoint(server).play(late(3.0, "never"), dialogue("4", "2", pause=0.01))
    client = reached(played.url, timeout=1)
    reply = await client.ask(ASKED, sample="0")
    assert (reply.text, reply.fault, reply.usage.tokens) == ("42", None, 10)


async def test_a_stream_without_options_where_they_are_refused(server):
    def play(body):
        if "stream_options" in body:
            return status(400, "Unknown field: stream_options")
        return dialogue("4", "2", pause=0.01)(body)

    played = Endpoint(server).play(late(3.0, "never"), play)
    reply = await reached(played.url, timeout=1).ask(ASKED, sample="0")
    assert (reply.text, reply.fault) == ("42", None)


async def test_thoughts_without_end_are_the_models_too(server):
    def play(body):
        def parts():
            delta = {"choices": [{"delta": {"reasoning_content": "but "}}]}
            while True:
                yield f"data: {json.dumps(delta)}\n\n"
                time.sleep(0.05)

        return Response(parts(), content_type=STREAM)

    reply = await reached(
        Endpoint(server).play(late(3.0, "never"), play).url, timeout=1
    ).ask(ASKED, sample="0")
    assert (reply.text, reply.fault) == ("", "length")
    assert reply.reasoning.startswith("but but")


async def test_a_stream_that_never_begins_is_the_endpoints(server):
    def play(body):
        def parts():
            while True:
                yield ": waiting\n\n"
                time.sleep(0.05)

        return Response(parts(), content_type=STREAM)

    played = Endpoint(server).play(late(3.0, "never"), play)
    with pytest.raises(ModelError, match=r"no reply in 1 s; set model\.timeout"):
        await reached(played.url, timeout=1).ask(ASKED, sample="0")
    assert len(played.bodies) == TRIES


async def test_the_queue_is_no_time_of_the_reply(server):
    client = build_model(
        ModelConfig(
            provider="openai",
            name="m",
            base_url=Endpoint(server).play(late(0.4, "hi")).url,
        ),
        concurrency=1,
    )
    replies = await asyncio.gather(
        *(client.ask(ASKED, sample=str(number)) for number in range(3))
    )
    assert max(reply.seconds for reply in replies) < 1.0
    assert max(reply.queued for reply in replies) > 0.7


@pytest.mark.parametrize(
    ("saying", "roles"),
    [
        ("System role not supported", ["user"]),
        ("Only user and assistant roles are supported!", ["user"]),
        ("Conversation roles must alternate user/assistant/user", ["system", "user"]),
    ],
)
async def test_a_template_that_knows_fewer_roles_gets_those(server, saying, roles):
    def play(body):
        known = [message["role"] for message in body["messages"]]
        return text("42") if known == roles else status(500, saying)

    played = Endpoint(server).play(play)
    asked = [Message("system", "Be brief."), Message("user", "6"), Message("user", "7")]
    client = reached(played.url)
    for _ in range(2):
        reply = await client.ask(asked, sample="0")
        assert reply.text == "42"
    assert len(played.bodies) == 3  # refused once
    whole = "\n\n".join(message["content"] for message in played.bodies[-1]["messages"])
    assert whole == "Be brief.\n\n6\n\n7"


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


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], "vectors of different lengths: 2 and 3"),
        ([[1.0], []], "vectors of different lengths: 0 and 1"),
        ([["one"], ["two"]], "the endpoint sent no embeddings"),
        ([None, None], "the endpoint sent no embeddings"),
    ],
)
async def test_vectors_that_do_not_fit_are_one_line(batch, vectors, said, server):
    def play(request):
        asked = len(json.loads(request.get_data())["input"])
        first = server.asked
        server.asked += asked
        listed = vectors[first : first + asked]
        return plain(
            {"data": [{"index": n, "embedding": v} for n, v in enumerate(listed)]}
        )

    server.asked = 0
    server.expect_request("/v1/embeddings").respond_with_handler(play)
    facts = {"name": "e", "provider": "openai", "base_url": server.url_for("/v1")}
    embedding = build_embedding({**facts, "batch": batch, "max_retries": 0})
    with pytest.raises(EndpointError, match=said) as raised:
        await embedding.embed(["one", "two"])
    assert "\n" not in str(raised.value)
