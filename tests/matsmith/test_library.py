"""The library as a script, ``async`` code and a notebook use it."""

import asyncio
import subprocess
import sys
import threading
import time

import nbformat
import pytest
from nbclient import NotebookClient

import matsmith
from agents.assistant import Answer, Figure, Value
from agents.assistant.show import answer_html
from foundation.errors import UsageError
from sandbox.factory import available
from tests.support.endpoint import Endpoint
from tests.support.paths import ROOT
from tests.support.scripted import code_reply

HOSTILE = "</pre></td><script>alert(1)</script><img src=x onerror=alert(1)>"
isolated = pytest.mark.skipif(
    not available(), reason="no isolating sandbox on this machine"
)


@pytest.fixture
def settings(httpserver):
    endpoint = [f"model.base_url={httpserver.url_for('/v1')}", "model.name=scripted"]
    return [*endpoint, "model.cache=false", "system=single", "retrieval=none"]


@isolated
def test_a_conversation_in_a_script(httpserver, settings, tmp_path):
    endpoint = Endpoint(httpserver).play(
        code_reply(
            "return {'sum': sum(map(float, open('lengths.txt').read().split()))}"
        ),
        code_reply("return {'twice': 8.0}"),
    )
    (tmp_path / "lengths.txt").write_text("1.5 2.5")
    events: list[tuple[str, threading.Thread]] = []
    with matsmith.open(*settings) as assistant:
        first = assistant.ask(
            "Add them.",
            files=[tmp_path / "lengths.txt"],
            listen=lambda event: events.append(
                (event.text, threading.current_thread())
            ),
        )
        assert first.kind == "answered"
        assert first["sum"] == 4.0
        assert repr(first) == "<Answer answered: sum=4.0>"
        assert assistant.ask("And twice that?")["twice"] == 8.0
        assert "'sum': 4.0" in endpoint.prompts[1]
        assert assistant.undo() == assistant.turns[-1] or len(assistant.turns) == 1
        assert assistant.usage.calls == 1
    assert any(text.startswith("asking the model") for text, _ in events)
    assert {thread for _, thread in events} == {threading.main_thread()}
    with pytest.raises(KeyError):
        first["product"]


@isolated
@pytest.mark.long
async def test_where_a_loop_is_running_both_ways_work(httpserver, settings):
    Endpoint(httpserver).play(
        code_reply("return {'edge': 1}"), code_reply("return {'edge': 2}")
    )
    with matsmith.open(*settings) as assistant:
        assert (await asyncio.to_thread(assistant.ask, "What is the edge?"))[
            "edge"
        ] == 1
        assert (
            assistant.ask("And now?")["edge"] == 2
        )  # blocks, as in the cell of a notebook


@isolated
def test_an_interrupt_gives_up_the_question_and_not_the_conversation(
    httpserver, settings
):
    sleeps = code_reply("import time\ntime.sleep(500)\nreturn {}")
    Endpoint(httpserver).play(sleeps, code_reply("return {'edge': 2}"))

    def interrupt(event):
        if event.done:  # the endpoint has replied
            raise KeyboardInterrupt

    with matsmith.open(*settings) as assistant:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            assistant.ask("Sleep.", listen=interrupt)
        assert assistant.ask("And now?", timeout=300)["edge"] == 2
        assert time.monotonic() - started < 300
        assert [turn.kind for turn in assistant.turns] == ["stopped", "answered"]


def test_a_mistake_is_one_line():
    with pytest.raises(UsageError, match=r"model.temprature: no such key"):
        matsmith.open("model=none", "model.temprature=1")
    with pytest.raises(UsageError, match="there are no documents"):
        matsmith.get_retriever("retrieval=none")
    with matsmith.open("model=none") as assistant:
        assert repr(assistant) == "matsmith.Assistant('model=none')"
        assert (assistant.turns, assistant.undo()) == ((), None)


@isolated
def test_the_sandbox_by_itself(tmp_path):
    (tmp_path / "n.txt").write_text("7")
    with matsmith.Sandbox() as sandbox:
        done = sandbox.run(
            "def f():\n    return int(open('n.txt').read())",
            "f",
            files=[tmp_path / "n.txt"],
        )
        assert (done.outcome, done.result) == ("ok", 7)


def test_nothing_of_a_model_becomes_markup():
    answer = Answer(
        HOSTILE,
        "answered",
        text=HOSTILE,
        code=f"x = '{HOSTILE}'",
        entry="f",
        values=(Value(HOSTILE, 1, HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
        tried=(HOSTILE,),
        figures=(Figure(HOSTILE, "image/png", b"x"),),
        error=HOSTILE,
        model=HOSTILE,
        outcome="ok",
    )
    shown = answer_html(answer)
    assert "<script" not in shown
    assert shown.count("<img") == 1
    assert 'src="data:image/png;base64,' in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_import_is_quick_and_brings_no_library():
    heavy = "chromadb", "sklearn", "lightrag", "pymatgen", "openai", "IPython"
    code = f"import sys, matsmith; print(sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout == "[]\n"


@isolated
@pytest.mark.long
def test_a_notebook(httpserver, settings, tmp_path):
    endpoint = Endpoint(httpserver).play(
        code_reply("return {'edge': 4.25}"),
        code_reply("return {'twice': 8.5}"),
        code_reply("return {'lines': len(open('lengths.txt').readlines())}"),
        code_reply("import json\nreturn {'sum': sum(json.load(open('lengths.json')))}"),
    )
    (tmp_path / "lengths.txt").write_text("1\n2\n3\n")
    cells = [
        "%load_ext matsmith",
        f"%%ask {' '.join(settings)}\nWhat is the edge?",
        "%%ask\nAnd twice that?",
        "print(_)",
        "%%ask files=lengths.txt timeout=300\nHow many lines?",
        "%%ask files=absent.cif\nWhat is it?",
        "import numpy\nlengths = numpy.array([1.5, 2.5])",
        "%%ask vars=lengths\nWhat is their sum?",
        "%%ask vars=nothing\nWhat is it?",
        "import matsmith\nwith matsmith.open('model=none') as other:\n    print(repr(other))",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    NotebookClient(
        notebook, timeout=200, resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    results = [
        [output.data for output in found if output.output_type == "execute_result"]
        for found in outputs
    ]
    assert "The edge is 4.25." in results[1][0]["text/html"]
    assert results[1][0]["text/plain"] == "<Answer answered: edge=4.25>"
    assert "asked the model" in outputs[1][0].text
    assert "The twice is 8.5." in results[2][0]["text/html"]
    assert "'edge': 4.25" in endpoint.prompts[1]  # one conversation
    assert "Answer answered: twice=8.5" in outputs[3][0].text
    assert "The lines is 3." in results[4][0]["text/html"]
    assert "error: file absent.cif: no such file" in outputs[5][0].text
    assert results[7][0]["text/plain"] == "<Answer answered: sum=4.0>"
    assert "error: vars=nothing: no such variable" in outputs[8][0].text
    assert "matsmith.Assistant('model=none')" in outputs[9][0].text
