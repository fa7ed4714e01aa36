"""The MCP server as a process, spoken to by the SDK's own client over stdio."""

import json
import os
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sandbox.factory import available
from tests.support.endpoint import Endpoint
from tests.support.scripted import code_reply

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]
NAMES = ["search", "lookup", "resolve", "contents", "run", "solve"]
LARGEST = 13_000  # characters of any answer but that of solve


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """Files that come back lie in a folder of the test."""
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))


def server(*arguments):
    variables = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    command = ["-m", "matsmith", "mcp", *arguments]
    return StdioServerParameters(command=sys.executable, args=command, env=variables)


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.content[0].text


async def refused(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return result.content[0].text


GOOD = [
    ("search", {"queries": ["powder diffraction pattern"], "k": 3}, "diffraction"),
    ("lookup", {"names": ["Structure"], "part": "from_spacegroup"}, "from_spacegroup("),
    ("resolve", {"terms": ["ewald summation"]}, "signature: EwaldSummation("),
    ("contents", {"package": "pymatgen.core.ewald"}, "EwaldSummation [class]"),
]
BAD = [
    ("search", {"queries": []}, "List should have at least 1 item"),
    (
        "lookup",
        {"names": ["SpacegroupAnalyser"]},
        "pymatgen.symmetry.analyzer.SpacegroupAnalyzer",
    ),
    ("solve", {"question": ""}, "String should have at least 1 character"),
    ("answer", {"code": "x", "entry": "f"}, "Unknown tool: answer"),
]


async def test_every_tool_with_good_and_bad_arguments(tmp_path):
    async with Client(server("model=none", f"roots={tmp_path}")) as client:
        assert client.server_info.version
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(listed) == NAMES
        for name, tool in listed.items():
            assert tool.description
            assert tool.annotations.read_only_hint is (name not in {"run", "solve"})
            assert tool.annotations.destructive_hint is False
            assert tool.annotations.open_world_hint is (name == "solve")
        for name, arguments, said in GOOD:
            text = await call(client, name, **arguments)
            fence = text.partition("text\n")[0]
            assert set(fence) == {"`"}, "a library's words are quoted"
            assert text.endswith(f"\n{fence}")
            assert said in text
            assert len(text) < LARGEST
        for name, arguments, said in BAD:
            text = await refused(client, name, **arguments)
            assert said in text, (name, arguments)
            assert len(text) < LARGEST

        code = "from pymatgen.core import Lattice\ndef f():\n    return Lattice.cubic(2).volume"
        assert "returned:\n8.0 (float)" in await call(
            client, "run", code=code, entry="f"
        )
        printed = await call(client, "run", code="print('printed')\n1 / 0")
        assert "outcome: exception" in printed
        assert "ZeroDivisionError" in printed
        assert "stdout:\nprinted" in printed
        reach = "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)"
        assert "outcome: exception" in await call(client, "run", code=reach)
        (tmp_path / "n.txt").write_text("7")
        code = (
            "def f():\n"
            "    open('out/b.txt', 'w').write('8')\n"
            "    return int(open('n.txt').read())"
        )
        ran = await call(
            client, "run", code=code, entry="f", files=[str(tmp_path / "n.txt")]
        )
        assert "returned:\n7 (int)" in ran
        assert ran.rpartition("written: ")[2].startswith(str(tmp_path / "sessions"))
        assert ran.endswith("/1/b.txt")
        assert "no.txt: no such file" in await refused(
            client, "run", code="1", files=[str(tmp_path / "no.txt")]
        )

        for tool, arguments in (("run", {"code": "1"}), ("solve", {"question": "?"})):
            for outside in ("/etc/hostname", "~"):
                refusal = await refused(client, tool, files=[outside], **arguments)
                assert "outside of the folders that this server may read" in refusal

        solved = json.loads(
            await call(client, "solve", question="What is the band gap of silicon?")
        )
        assert not solved["works"]
        assert solved["model"] == "none"
        assert "no model selected" in solved["message"]


async def test_a_caller_hears_nothing_of_what_lies_outside_of_the_roots(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "in", outside):
        folder.mkdir(parents=True)
        (folder / "n.txt").write_text("7")
    (root / "file.cif").symlink_to(outside / "n.txt")
    (root / "folder").symlink_to(outside)
    (root / "round").symlink_to(root / "round")
    (root / "gone").symlink_to(outside / "gone")
    (root / "odd\x1b[31m\u202e.txt").write_text("7")
    os.mkfifo(root / "pipe")
    tricks = [
        f"{outside}/n.txt",
        f"{outside}/gone.txt",
        f"{outside}/*",
        "/**/*.txt",
        "/etc/shadow",
        "~/.ssh",
        "~root",
        f"{root}/../outside/n.txt",
        f"{root}/in/../../outside/n.txt",
        f"{root}/folder/n.txt",
        f"{root}/folder/../outside/n.txt",
        f"{root}/folder/*",
        f"{root}/file.cif",
        f"{root}/gone",
        "/proc/self/environ",
        "/dev/stdin",
        "file:///etc/hostname",
        "n\0.txt",
    ]
    inside = {
        f"{root}/**/*": "no such file or folder",
        f"{root}/none": "no such file or folder",
        f"{root}/pipe": "neither a file nor a folder",
        f"{root}/odd\x1b[31m\u202e.txt": "cannot be called",
        f"{root}/{'x/' * 1500}y": "no such file or folder",
        "x" * 5000: "at most 4096 characters",
    }
    async with Client(server("model=none", f"roots={root}")) as client:
        heard = {
            (await refused(client, "run", code="1", files=[trick])).replace(trick, "")
            for trick in tricks
        }
        (said,) = {text.replace("n\\x00.txt", "") for text in heard}
        assert "outside of the folders that this server may read" in said
        for path, reason in inside.items():
            text = await refused(client, "run", code="1", files=[path])
            assert reason in text, path
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert len(text) < LARGEST
        code = "def f():\n    return int(open('n.txt').read())"
        for path in (f"{root}/in/n.txt", f"{root}/in/../in/n.txt"):
            ran = await call(client, "run", code=code, entry="f", files=[path])
            assert "returned:\n7 (int)" in ran
        assert "outcome: ok" in await call(
            client, "run", code="open('in/n.txt')", files=[f"{root}/in"]
        )


async def test_arguments_of_any_size_and_output_of_any_kind():
    huge = {
        "code": "x" * 3_000_000,
        "entry": "f" * 101,
        "files": ["a"] * 101,
    }
    prints = (
        "print('\\x1b]0;title\\x07\\u202e' * 10)\nraise ValueError('\\x1b[31m' * 9999)"
    )
    async with Client(server("model=none", "retrieval=none")) as client:
        for name, value in huge.items():
            arguments = {"code": "1", name: value}
            text = await refused(client, "run", **arguments)
            assert name in text
            assert len(text) < LARGEST
        text = await refused(client, "solve", question="x" * 20_001)
        assert "at most 20000 characters" in text
        text = await call(client, "run", code=prints)
        assert "outcome: exception" in text
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert len(text) < LARGEST
        flood = await call(client, "run", code="print('y' * 10**7)")
        assert len(flood) < LARGEST


async def test_a_question_is_solved_with_an_endpoint_and_its_steps_are_reported(
    httpserver,
):
    body = "from pymatgen.core import Lattice\nreturn {'volume_A3': Lattice.cubic(3).volume}"
    endpoint = Endpoint(httpserver).play(code_reply(body))
    options = [
        f"model.base_url={httpserver.url_for('/v1')}",
        "model.name=m",
        "retrieval=none",
    ]
    told: list[tuple[float, str | None]] = []

    async def progress(number, _, text):
        told.append((number, text))

    async with Client(server(*options)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "run",
            "solve",
        ]
        result = await client.call_tool(
            "solve",
            {"question": "Volume of a cube with an edge of 3?"},
            progress_callback=progress,
        )
        solved = result.structured_content
        assert solved == json.loads(result.content[0].text)
        assert solved["works"]
        (value,) = solved["values"]
        assert (value["name"], value["unit"]) == ("volume_A3", "Å³")
        assert value["value"] == pytest.approx(27)
        assert "Lattice.cubic(3)" in solved["code"]
        refusal = await client.call_tool("search", {"queries": ["x"]})
        assert refusal.is_error
    assert "edge of 3" in endpoint.prompts[0]
    assert [number for number, _ in told] == list(range(1, len(told) + 1))
    assert any("asked the model" in (text or "") for _, text in told)


async def test_what_is_missing_is_said_in_a_result():
    async with Client(server("model=none", "env=no-such-environment")) as client:
        assert "no-such-environment" in await refused(
            client, "lookup", names=["Lattice"]
        )
