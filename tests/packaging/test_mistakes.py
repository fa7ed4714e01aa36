"""Every mistake on a command line ends with one line that says what is wrong."""

import json
import re
import shlex

import pytest

from matsmith.__main__ import main
from tests.docgen.conftest import FILES as BRICKWORK
from tests.docgen.conftest import write_package

#: What the commands below find in the folder that they are typed in.
FILES = {
    "empty": "",
    "none/x": "",
    "page.cif": "no structure",
    "pages/x": "{}",
    "folder/benchmark.yaml": "packages: [numpy]\ncolour: red\n",
    "mine/benchmark.yaml": "package: numpy\n",
    "mine/questions/heights/task.yaml": "",
    "bare/benchmark.yaml": "package: numpy\n",
    **{f"over{n}/benchmark.yaml": f"package: zorbian\noverlay: {overlay}\n"
       for n, overlay in enumerate((".", "questions", "questions/heights", "packages"))},
    **{f"over{n}/questions/heights/task.yaml": "" for n in range(4)},
    "gold.jsonl": '{"id": "1", "query": "wall", "gold": {"brickwork.wall.Wall": "class"}}\n',
    "broken.jsonl": '{"id": "x"}\n',
    "deep.jsonl": "[" * 100_000,
    "stranger.jsonl": '{"id": "x", "answer": "y"}\n',
    "recorded.json": json.dumps({"task": "t", "code": "", "function_name": "", "system": "s"}),
    "full/thesis.txt": "keep me",
    "tests/test_a.py": "def test_a():\n    assert len('a') == 1\n",
    "a.csv": "question,name,mark\nq,n,1\n",
    "columns.csv": "a,b\n1,2\n",
    "nan.csv": "question,name,mark\nq,n,nan\n",
    "nothing.csv": "question,name,mark\n",
    "other.csv": "question,name,mark\nother,n,1\n",
}  # fmt: skip
TINY = "run benchmark._target_=tests.experiments.tiny.TinyBenchmark"
AUTHORS = "run benchmark=atomworld benchmark.source=published"
ATOMS = "regrade benchmark=atomworld benchmark.items=1 benchmark.actions=[move,swap] out=out"
WALL = "evaluate packages=brickwork site_packages=site"

#: A command, and what its line says.
MISTAKES = [
    # the assistant
    ("ask x model=none --file no/such.cif", "file no/such.cif: no such file"),
    ("ask model=none 'what is in @no/such.cif?'", "@no/such.cif?: no such file"),
    ("ask x", "no model is set: put a key into OPENAI_API_KEY"),
    ("ask x modle=openai", "modle: no such"),
    ("ask x --file", "--file: its value is missing"),
    ("ask x --timeout soon", "--timeout soon: a number of seconds"),
    ("ask model=none --continue", "there is no conversation to continue"),
    ("ask x model.name=gpt-4o retrieval=none", "OPENAI_API_KEY"),
    ("ask x model=none env=nowhere retrieval=none", "no environment 'nowhere'"),
    ("ask x model=none packages=[pymatgen,nopackage]", "nopackage: is not installed in 'live'"),
    ("ask x model=none sandbox.backend=lost retrieval=none", "no backend 'lost'"),
    ("ask x sandbox.env=live", "sandbox.env: no such key"),
    ("ask x --system rag", "--system: no such option"),
    ("ask x --out no/such/folder.py", "its folder does not exist"),
    ("serve --port 99999", "--port 99999: a number from 0"),
    ("serve --host=0.0.0.0", "--host=0.0.0.0: no such option"),
    ("serve model=magic", "choose from"),
    ("answer x", "No such command 'answer'"),
    # run: groups, keys, values
    ("run system=foo", "system=foo", "choose from", "reflect"),
    ("run sytem=rag", "sytem", "did you mean system?", "benchmark"),
    ("run +sead=1", "sead", "seeds"),
    ("run out=\\'unfinished", "out='unfinished", "KEY=VALUE"),
    ("run --config-dir nowhere", "--config-dir nowhere", "no such folder"),
    ("run launcher.adress=tcp", "did you mean launcher.address?"),
    ("run system=no_such:Thing", "system._target_=no_such:Thing", "imported"),
    ("run system=tests.experiments.tiny:TinyBenchmark", "does not derive from agents.base"),
    ("run seeds=0", "seeds=0", "at least 1"),
    ("run seeds=[1,1]", "seeds", "distinct"),
    ("run limit=-1", "limit=-1", "greater than 0"),
    ("run system.max_iteration=2", "did you mean system.max_iterations?"),
    ("run system.retrieve_next=maybe", "system.retrieve_next=maybe", "'critic'", "'off'"),
    ("run benchmark._target_=no.Such", "benchmark._target_=no.Such", "imported"),
    ("run system._target_=agents.systems.single.prompts", "is neither a class nor a function"),
    ("run model=openai model.temperature=9", "model.temperature=9", "2"),
    ("run retrieval.mode=magic", "retrieval.mode=magic", "lexical"),
    ("run sandbox.workers=0", "sandbox.workers=0"),
    ("run budget.dollars=1", "budget.dollars", "budget.cost_usd"),
    ("run system=single,rag", "add -m"),
    ("run nonsense", "nonsense", "KEY=VALUE"),
    ("run name=a/b", "name", "file name"),
    ("run out=${nowhere}", "nowhere"),
    ("run +system.context=1", "no such key"),
    (f"{TINY} ids=[sphere]", "ids=sphere", "such as cubic"),
    (f"{TINY} ids=[cubics]", "ids=cubics: no such question of 6; near: cubic"),
    # run: benchmarks
    ("run benchmark=atomworld benchmark.arm=x", "benchmark.arm=x", "'direct'"),
    (AUTHORS, "path=CHECKOUT"),
    (f"{AUTHORS} benchmark.path=none", "CHECKOUT of AtomWorldBench"),
    (f"{AUTHORS} benchmark.family=pointworld benchmark.path=x", "generated questions only"),
    (f"{AUTHORS} benchmark.family=cif_gen benchmark.path=pages/x",
     "pages/x:1: an entry lacks"),
    ("run benchmark=atomworld benchmark.structures=none", "x: "),
    ("run benchmark=atomworld benchmark.structures=nowhere", "holds no files"),
    ("run benchmark=atomworld benchmark.arm=file system=single", "system=single: sees no files"),
    ("run benchmark=curie benchmark.source=published", "source=published needs path=CHECKOUT"),
    ("run benchmark=omnimatbench benchmark.source=published", "needs path=RELEASE"),
    ("run benchmark=omnimatbench benchmark.subset=[x]", "subset: no x; there are"),
    ("run benchmark=omnimatbench benchmark.source=published benchmark.path=nowhere",
     "nowhere: no folder or zip"),
    ("run benchmark=omnimatbench benchmark.source=published benchmark.path=empty",
     "empty: no folder or zip"),
    ("run benchmark=qmbench benchmark.templates=[x]", "templates: no x; there are operations"),
    ("run benchmark=qmbench benchmark.private=true", "private=true needs path=FOLDER"),
    ("run benchmark=qmbench benchmark.path=none", "no problem files"),
    ("run benchmark=invented benchmark.size=10", "size=10: give a whole number from 60 to 2500"),
    ("run benchmark=invented benchmark.depth=0", "depth=0"),
    ("run benchmark=invented benchmark.level=2 benchmark.depth=9", "depth=9: level=2 has 2"),
    ("run benchmark=invented benchmark.gap=3", "gap=3"),
    ("run benchmark=mattools_qa benchmark.path=nowhere.jsonl", "nowhere.jsonl: cannot be read"),
    ("run benchmark=mattools_qa benchmark.path=empty", "contains no question"),
    ("run benchmark=mattools_qa system=reflect", "system=reflect: writes and runs code"),
    ("run benchmark=mattools_qa ids=[400]", "ids=400: no such question"),
    ("run benchmark=mattools_qa benchmark.pth=x", "did you mean benchmark.path"),
    # grids, and what becomes of runs
    ("report .", "is not a run folder"),
    ("export --to atif", "run=...: must be given"),
    ("export runs --to csv", "to=csv: input should be 'inspect', 'atif' or 'every-eval-ever'"),
    (ATOMS, "answers=FILE"),
    (f"{ATOMS} answers=nowhere", "no such file"),
    (f"{ATOMS} answers=empty", "no answers in it"),
    (f"{ATOMS} answers=broken.jsonl", "line 1: must be JSON"),
    (f"{ATOMS} answers=deep.jsonl", "line 1: must be JSON"),
    (f"{ATOMS} answers=stranger.jsonl", "ids=x: no such question"),
    ("replay", "recorded=PATH: is required"),
    ("replay recorded=absent", "absent: no such file"),
    ("replay recorded=recorded.json benchmark.path=/nowhere", "no such folder"),
    ("agreement a.csv columns.csv", "needs the columns"),
    ("agreement a.csv nan.csv", "line 2: the mark"),
    ("agreement a.csv nothing.csv", "no marks"),
    ("agreement a.csv other.csv", "no mark in common"),
    ("agreement a.csv", ""),
    # documents
    ("docs package=absent folder=site out=x", "no Python source under"),
    ("docs package=brickwork folder=site out=x model=magic", "no such choice; choose from"),
    (f"{WALL} gold=absent.jsonl", "gold=absent.jsonl"),
    (f"{WALL} retrieval=llm_doc", "benchmark=NAME or gold=FILE must be given"),
    (f"{WALL} benchmark=mattools", "benchmark=mattools: path=FOLDER"),
    (f"{WALL} benchmark=mattools benchmark.level=goal", "benchmark.level: not known"),
    (f"{WALL} benchmark=live benchmark.level=word", "benchmark.level=word: choose one"),
    (f"{WALL} benchmark=live benchmark.split=half", "benchmark=live: split=half: choose one of"),
    (f"{WALL} gold=gold.jsonl retrieval=magic", "retrieval=magic: no such choice; choose from"),
    (f"{WALL} gold=gold.jsonl retrieval=none", "retrieves nothing"),
    (f"{WALL} gold=broken.jsonl", "line 1: not a query"),
    # questions
    ("questions tests=absent package=orchard out=full", "no test_*.py there"),
    ("questions tests=tests package=orchard out=full", "not written by an earlier build"),
    ("questions tests=tests package=orchard out=x env=./nowhere", "no environment in ./nowhere"),
    ("questions tests=tests out=x", "package=...: must be given"),
    ("folder prove mine", "there are: check"),
    ("folder check none", "benchmark.yaml: not found; write it by hand (docs/questions.md)"),
    ("folder check folder",
     "package: Field required; colour: Extra inputs are not permitted"),
    ("folder check bare", "questions: no folder with a task.yaml in it"),
    ("folder check mine ids=absent", "has heights"),
    *((f"folder check over{n}", "would see the golds") for n in range(3)),
    ("folder check over3", "packages: no package in there"),
    ("folder check ids=nonsense", "ids=nonsense: not there"),
    ("folder", ""),
    ("learn /nowhere/at/all", "no pyproject.toml there"),
    ("learn 'not a name!'", "neither a folder nor a distribution"),
    ("learn unheard check=.", "no library 'unheard'"),
    # models
    ("endpoint modle=openai", "modle: no such key"),
    ("endpoint model=nosuch", "no such choice"),
    ("endpoint model=openai model.temperature=hot", "model.temperature"),
    ("endpoint model=recorded", "no endpoint"),
    ("endpoint model=openai model.provider=nosuch model.base_url=http://127.0.0.1:9/v1",
     "model.provider", "'recorded'"),
    ("endpoint \x1b[2Jmodel", r"error: '\x1b[2Jmodel': write"),
]  # fmt: skip


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: re.sub(r"[^ -~]", "?", row[0]))
def test_a_mistake_is_one_line(row, tmp_path, monkeypatch, capsys):
    line, *words = row
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    write_package(tmp_path / "site", BRICKWORK)
    assert main(shlex.split(line)) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert [word for word in words if word not in said] == []
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "thesis.txt").read_text() == "keep me"
