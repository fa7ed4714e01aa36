"""Recorded replies play a language model: exactly, or counted."""

import gzip
import json
from dataclasses import replace

import pytest

from agents import prompts
from agents.base import Question
from agents.episode import Context
from agents.models import (
    ContextError,
    Message,
    ModelConfig,
    RecordingKey,
    RecordingScope,
    build_model,
)
from agents.models.recordings import (
    SEGMENTS,
    SHIPPED,
    Recorder,
    RecordingError,
    Recordings,
    counted,
    digests,
    read_exchanges,
    remark,
)
from agents.models.reply import Sent, read
from agents.systems.reflect import Reflect
from agents.systems.tools import Tools
from agents.templates import Templates
from tests.support.endpoint import Endpoint, message, status, tool_calls
from tests.support.samples import table
from tests.support.scripted import ListRetriever, code_reply

SCENE = RecordingScope("tiny", {"level": "scaffold"}, "reflect", "list")
PLACE = RecordingKey("q", 0, "generate", 0, "What is a?")
ASKED = [Message("user", "hello. What is a?")]
QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})


def live(server, file):
    plain = {
        "provider": "openai",
        "name": "local",
        "base_url": server.url_for("/v1"),
        "max_retries": 0,
        "record": file,
    }
    return ModelConfig.model_validate(plain)


def played(file, *, strict=False):
    return ModelConfig(
        provider="recorded", name="local (recorded)", recordings=file, strict=strict
    )


@pytest.mark.parametrize(
    "sent",
    [
        message("one"),
        message("one", usage=None),
        message("one", usage={"prompt_tokens": 7, "completion_tokens": 0}),
        message("half", ended="length"),
        message("", ended="content_filter"),
        message(None, refusal="no"),
        message("", reasoning_content="thought"),
        message("torn \ud83d"),
    ],
)
async def test_a_played_reply_is_what_the_endpoint_sent(sent, httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(sent)
    file = tmp_path / "sub" / "traffic.jsonl"
    first = await build_model(live(httpserver, file), scope=SCENE).ask(
        ASKED, sample="0", recording_key=PLACE
    )
    again = await build_model(played(file, strict=True), scope=SCENE).ask(
        ASKED, sample="0", recording_key=PLACE
    )
    assert again.changed == ()
    kept = ("text", "usage", "fault", "reasoning", "tool_calls", "raw")
    assert [getattr(again, key) for key in kept] == [
        getattr(first, key) for key in kept
    ]
    assert len(endpoint.bodies) == 1
    (line,) = read_exchanges(file)
    assert "hello" not in file.read_text()
    assert set(line.prompt) == {"instructions", "question"}


async def test_cached_replies_are_recorded_and_requests_without_a_place_are_not(
    httpserver, tmp_path
):
    Endpoint(httpserver).play("one")
    file = tmp_path / "t.jsonl"
    model = build_model(live(httpserver, file), scope=SCENE, cache=tmp_path)
    await model.ask(ASKED, sample="0")
    await model.ask(ASKED, sample="0", recording_key=PLACE)
    (line,) = read_exchanges(file)
    assert line.reply["text"] == "one"
    with pytest.raises(
        RecordingError, match=r"this request: no reply was recorded.*OPENAI_API"
    ):
        await build_model(played(file), scope=SCENE).ask(ASKED, sample="0")


async def test_a_prompt_that_was_too_long_is_too_long_again(httpserver, tmp_path):
    said = '{"error": {"message": "maximum context length is 9 tokens"}}'
    Endpoint(httpserver).play(status(400, said))
    file = tmp_path / "t.jsonl"
    for config in (live(httpserver, file), played(file)):
        with pytest.raises(ContextError, match="maximum context"):
            await build_model(config, scope=SCENE).ask(
                ASKED, sample="0", recording_key=PLACE
            )


async def _solve(config, sandbox, question=QUESTION, *names, templates=None):
    model = build_model(config, scope=SCENE)
    retriever = ListRetriever(*(names or ("x", "y")))
    parts = Context(model, retriever, sandbox, templates=templates)
    return await Reflect(parts, economical=False).solve(question)


CRITIQUE = "<feedback>x</feedback><queries>y</queries>"
SCRIPT = [
    code_reply("return {'a': object()}"),
    CRITIQUE,
    code_reply("print(object())\nreturn {'a': None}"),
    CRITIQUE,
    code_reply("return {'a': 42}"),
]


async def record(server, folder, sandbox):
    """A conversation of five requests with feedback in which objects show their addresses."""
    Endpoint(server).play(*SCRIPT)
    file = folder / "traffic.jsonl"
    made = await _solve(live(server, file), sandbox)
    assert (made.stop_reason, made.usage.calls) == ("answered", 5), made.error
    return file


async def test_what_has_changed_is_named_counted_and_refused_where_it_must_not(
    httpserver, tmp_path, live_sandbox
):
    recorded = await record(httpserver, tmp_path, live_sandbox)
    exact = await _solve(played(recorded, strict=True), live_sandbox)
    assert (exact.stop_reason, exact.usage.calls) == ("answered", 5)
    assert counted(step.detail for step in exact.steps) == {"prompts": 5, "changed": 0}
    made = await _solve(played(recorded), live_sandbox, QUESTION, "x", "z")
    sums = counted(step.detail for step in made.steps)
    assert made.stop_reason == "answered"
    assert sums == {"prompts": 5, "changed": 5, "documents": 5}
    assert (
        remark(sums)
        == "5 of 5 prompts have changed since they were recorded: documents"
    )
    exact = await _solve(
        played(recorded, strict=True), live_sandbox, QUESTION, "x", "z"
    )
    assert exact.stop_reason == "model_error"
    assert "q, seed 0, generate 1: the prompt has changed" in str(exact.error)
    assert ": documents (" in str(exact.error)
    longer = f"{prompts.TEXTS['note_none']} Really."
    templates = Templates(name="longer", texts={"note_none": longer})
    exact = await _solve(
        played(recorded, strict=True), live_sandbox, templates=templates
    )
    assert ": instructions (" in str(exact.error)


async def test_replies_that_nobody_asks_for_or_that_are_missing(
    httpserver, tmp_path, live_sandbox
):
    recorded = await record(httpserver, tmp_path, live_sandbox)
    lines = recorded.read_text().splitlines(keepends=True)
    extra = json.loads(lines[0]) | {"purpose": "names", "turn": 7}
    recorded.write_text("".join([*lines, json.dumps(extra) + "\n"]))
    assert (await _solve(played(recorded), live_sandbox)).stop_reason == "answered"
    made = await _solve(played(recorded, strict=True), live_sandbox)
    assert "q, seed 0, names 8: was recorded and not asked for" in str(made.error)
    recorded.write_text("".join(lines[:3]))
    made = await _solve(played(recorded), live_sandbox)
    assert made.stop_reason == "model_error"
    assert "q, seed 0, critique 2: no reply was recorded. To ask a model" in str(
        made.error
    )
    sums = counted(step.detail for step in made.steps)
    assert remark(sums) == "1 of 4 prompts have no recorded reply that may be played"


async def test_no_exact_replay_stays_green_when_every_prompt_is_altered(
    httpserver, tmp_path, live_sandbox, monkeypatch
):
    """Whatever is altered, in whichever message: one word more is a changed prompt."""
    file = tmp_path / "t.jsonl"
    run = ("run", json.dumps({"code": "def f():\n    return {'a': 1}", "entry": "f"}))
    answer = (
        "answer",
        json.dumps({"code": "def f():\n    return {'a': 1}", "entry": "f"}),
    )
    Endpoint(httpserver).play(tool_calls(run), tool_calls(answer), "x")
    scope = RecordingScope("tiny", {}, "tools", "none")
    config = live(httpserver, file)
    parts = Context(build_model(config, scope=scope), None, live_sandbox)
    assert (await Tools(parts).solve(QUESTION)).stop_reason == "answered"
    exact = build_model(played(file, strict=True), scope=scope)
    again = await Tools(Context(exact, None, live_sandbox)).solve(QUESTION)
    assert again.stop_reason == "answered"

    original = Recordings.play
    for position in (0, -1):

        def altered(self, recording_key, messages, tools, position=position):
            sent = list(messages)
            content = f"{sent[position].content} indeed"
            sent[position] = replace(sent[position], content=content)
            return original(self, recording_key, sent, tools)

        monkeypatch.setattr(Recordings, "play", altered)
        model = build_model(played(file, strict=True), scope=scope)
        made = await Tools(Context(model, None, live_sandbox)).solve(QUESTION)
        assert made.stop_reason == "model_error", position
        assert "has changed since it was recorded" in str(made.error)


@pytest.mark.parametrize(("text", "segment"), table("requests")["segments"])
def test_every_character_of_a_prompt_belongs_to_a_segment(text, segment):
    def of(word):
        said = text.replace("one", word)
        recording_key = RecordingKey(
            "q", 0, "x", 0, "What is {}?".format(word if segment == "question" else "?")
        )
        return digests(recording_key, [Message("user", f"Solve.\n\n{said}\n\nEnd.")])

    one, two = of("one"), of("two")
    assert [name for name in SEGMENTS if one.get(name) != two.get(name)] == [segment]
    moved = digests(PLACE, [Message("user", f"Solve.\n\nEnd.\n\n{text}")])
    assert moved["instructions"] != one["instructions"]


def test_what_differs_between_machines_is_no_change():
    def of(text):
        return digests(PLACE, [Message("user", f"<attempt>{text}</attempt>")])

    here = (
        'File "/a/b/lib/python3.11/site-packages/x/y.py", line 3\n'
        "    f(1)\n    ~^^^\n0x7f12ab3c4d"
    )
    there = 'File "/home/c/lib/python3.12/site-packages/x/y.py", line 3\n    f(1)\n0x55aa12ab3c4d'
    assert of(here) == of(there)
    assert of("1.23456789012345") == of("1.23456789012399")
    assert of("1.23456789") != of("1.23456788")


def write(file, **changes):
    line = {
        "model": "local",
        "benchmark": "tiny",
        "settings": {"level": "scaffold"},
        "system": "reflect",
        "retrieval": "list",
        "question": "q",
        "seed": 0,
        "purpose": "generate",
        "turn": 0,
        "prompt": {},
        "reply": {"text": "hi"},
        "digest": "1af583c098473ec0",
    }
    with file.open("a") as lines:
        lines.write(json.dumps(line | changes) + "\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reply": {"text": "edited"}}, "line 1: the reply is not what was recorded"),
        ({"reply": {"text": 3}}, "line 1: is not a recorded exchange"),
        ({"turn": "x"}, "line 1: is not a recorded exchange"),
        ({"model": "other"}, "holds replies of other"),
    ],
)
def test_a_file_that_is_wrong_or_was_edited_is_refused(changes, said, tmp_path):
    file = tmp_path / "t.jsonl"
    write(file, **changes)
    with pytest.raises(RecordingError, match=said):
        build_model(played(file), scope=SCENE)
    (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
    for none in (tmp_path / "none.jsonl", tmp_path / "x.jsonl.gz"):
        with pytest.raises(RecordingError, match="cannot read"):
            build_model(played(none), scope=SCENE)


@pytest.mark.parametrize(
    ("scope", "known"),
    [
        (SCENE, 1),
        (
            RecordingScope(
                "tiny", {"level": "scaffold", "later": 3}, "reflect", "list"
            ),
            1,
        ),
        (RecordingScope("tiny", {}, "reflect", "list"), 1),
        (RecordingScope("tiny", {"level": "goal"}, "reflect", "list"), 0),
        (RecordingScope("tiny", {"level": "scaffold"}, "rag", "list"), 0),
    ],
)
def test_recordings_of_one_scene_are_not_played_in_another(scope, known, tmp_path):
    file = tmp_path / "t.jsonl"
    write(file)
    recordings = Recordings(played(file), scope)
    recordings.check([("q", 0)] * known)
    said = rf"{known} of 2 questions are recorded; .* not: {'p' if known else 'q'}, seed 0.*set"
    with pytest.raises(RecordingError, match=said):
        recordings.check([("q", 0), ("p", 0)])


async def test_the_last_of_each_place_is_played_packed_or_not(tmp_path):
    file = tmp_path / "a.jsonl"
    for text in ("one", "two"):
        Recorder(file, SCENE, "local").add(PLACE, ASKED, (), Sent(text=text))
    packed = tmp_path / "mine.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with file.open("a") as lines:
        lines.write('{"half a line')
    for one in (file, packed):
        sent, changed = Recordings(played(one, strict=True), SCENE).play(
            PLACE, ASKED, ()
        )
        assert (getattr(sent, "text", None), changed) == ("two", ())


def test_no_shipped_reply_was_edited():
    """Text and usage of each go through the reader of live replies; `read_exchanges` compares
    its digest."""
    for file in SHIPPED.glob("*.jsonl.gz"):
        for exchange in read_exchanges(file):
            if "overflow" in exchange.reply:
                continue
            reply = read(Sent.model_validate(exchange.reply), ASKED, ())
            assert reply.text.strip() or exchange.reply.get("calls") or reply.fault, (
                exchange
            )
            assert reply.usage.prompt_tokens > 0
