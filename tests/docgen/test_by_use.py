"""Documents scored by use: a call written from one document alone, run in the real sandbox."""

import pytest

from docgen.__main__ import main
from docgen.example_probe import use
from sandbox.libraries import write_overlay
from tests.docgen.conftest import sample, table, write_package
from tests.docgen.models import local
from tests.endpoint import Endpoint, status, text

TABLES = table("documentation")


@pytest.mark.parametrize(("name", "code", "verdict", "error"), TABLES["calls"])
def test_what_is_found_out_about_a_call(name, code, verdict, error):
    found = use(code, name)
    assert found["verdict"] == verdict, found
    assert error in str(found["error"])


@pytest.mark.parametrize(("declared", "value", "fits"), TABLES["types"])
def test_types_that_a_signature_declares(declared, value, fits, monkeypatch, tmp_path):
    module = tmp_path.name
    code = f"import numpy, typing\ndef f() -> {declared}:\n    return {value}\n"
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    found = use(f"from {module} import f\nresult = f()", f"{module}.f")
    assert found["verdict"] == ("runs" if fits else "type"), found


@pytest.mark.long
def test_the_worst_come_first_and_nothing_is_asked_twice(
    tmp_path, httpserver, sizes, capsys
):
    server = Endpoint(httpserver)

    def reply(body):
        asked = body["messages"][-1]["content"]
        name = asked.splitlines()[0].rpartition(".")[2]
        assert asked.count("kind:") == 1  # one document alone
        return text(TABLES["uses"][name])

    command = [
        "by_use",
        "package=brickwork",
        f"out={tmp_path / 'used.jsonl'}",
        f"env={sizes}",
        *local(server.url),
    ]
    server.play(status(400))
    assert main(command) == 1  # what the endpoint refuses is no verdict on a document
    assert "not answered: brickwork.sizes." in capsys.readouterr().out
    server.play(reply)
    assert main(command) == 0
    printed = capsys.readouterr().out
    head = "4 calls from documents by facts: 1 run as they stand, 1 return another type"
    assert head in printed
    told = [line.split(": ")[:2] for line in printed.splitlines()[-3:]]
    assert told == [
        ["none", "brickwork.sizes.untold"],
        ["fails", "brickwork.sizes.Brick"],
        ["type", "brickwork.sizes.length"],
    ]
    with (tmp_path / "used.jsonl").open("a") as stream:
        stream.write('{"half')  # of a run that was killed
    server.play(status(400))
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert main([*command, "symbols=brickwork.sizes.lenght"]) == 2


@pytest.fixture
def sizes(tmp_path):
    files = {"brickwork/__init__.py": "", **sample("sizes")}
    packages = write_package(tmp_path / "packages", files)
    write_overlay("live", packages, tmp_path / "env")
    return tmp_path / "env"
