"""Makes the recordings of this folder: a session in a terminal, its structure, and a notebook.

Nothing in them is written by hand: the question of ``question.md`` is asked with ``model=rules``
(no LLM, so that anybody gets the same answer), and what the terminal shows is drawn. Only the
code is shortened, with a line that says so.

    python docs/examples/make.py [FOLDER]
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from rich.console import Console
from rich.text import Text

import matsmith
from agents.assistant import Answer, Event
from agents.assistant.show import print_answer

HERE = Path(__file__).resolve().parent
WIDTH = 120
CODE = 1  # lines of the code that are shown
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # would be loaded from elsewhere


def record() -> tuple[Answer, list[Event]]:
    """Ask the question of this folder."""
    events: list[Event] = []
    with matsmith.open("model=rules", "sandbox=bubblewrap") as assistant:
        question = (HERE / "question.md").read_text(encoding="utf-8").strip()
        answer = assistant.ask(question, files=[HERE / "POSCAR"], listen=events.append)
    return answer, events


def session(answer: Answer, events: list[Event]) -> str:
    """The terminal of ``matsmith ask`` as SVG."""
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=WIDTH, color_system="standard")
    print_answer(answer, console)
    lines = printed.getvalue().splitlines()
    plain = [Text.from_ansi(line).plain for line in lines]
    start = plain.index(str(answer.code).splitlines()[0])
    end = next(i for i, line in enumerate(plain) if line.startswith("Sources")) - 1
    hidden = len(str(answer.code).rstrip().splitlines()) - CODE
    said = f"\x1b[2m... ({hidden} more lines of code)\x1b[0m"
    shown = [*lines[: start + CODE], said, *lines[end:]]
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="standard")
    screen.print(Text('$ matsmith ask model=rules --file POSCAR "$(cat question.md)"', "bold"))
    for event in events:
        if event.done:
            screen.print(Text(event.text, "dim"))
    for line in shown:
        screen.print(Text.from_ansi(line))
    return _FONT.sub("", screen.export_svg(title="matsmith ask (model=rules: no LLM)"))


def notebook() -> str:
    """An executed notebook about the same question."""
    question = (HERE / "question.md").read_text(encoding="utf-8").strip()
    markdown, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [
        markdown(
            "# matsmith in a notebook\n\n`model=rules` is not an LLM: it answers questions in this "
            "form only, and gives everybody the same answer. With a language model "
            "(`model.name=...`) a question is a sentence."
        ),
        code("import warnings\n\nwarnings.simplefilter('ignore')\n%load_ext matsmith"),
        code(f"%%ask model=rules files=POSCAR timeout=600\n{question}"),
        markdown("The same as a call; `answer` is shown like the one above."),
        code(
            "from pathlib import Path\n\nimport matsmith\n\n"
            "question = Path('question.md').read_text()\n"
            "answer = matsmith.ask(question, 'model=rules', files=['POSCAR'])\n"
            "answer['space_group'], answer['density']"
        ),
        code("[(source.name, source.version) for source in answer.sources][:5]"),
        markdown("The sandbox by itself:"),
        code(
            "with matsmith.Sandbox() as sandbox:\n"
            "    done = sandbox.run(\"def f():\\n    open('/etc/shadow')\", 'f')\n"
            "done.outcome, done.error.splitlines()[-1]"
        ),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same every time
    made = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(made, timeout=900, resources={"metadata": {"path": str(HERE)}},
                   record_timing=False).execute()  # fmt: skip
    made.metadata.pop("language_info", None)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def make(folder: Path) -> Answer:
    """Write ``session.svg``, ``structure.svg`` and ``example.ipynb``."""
    answer, events = record()
    (folder / "session.svg").write_text(session(answer, events), encoding="utf-8")
    (folder / "structure.svg").write_bytes(answer.figures[0].data)
    (folder / "example.ipynb").write_text(notebook(), encoding="utf-8")
    return answer


if __name__ == "__main__":
    print(make(Path(sys.argv[1]) if sys.argv[1:] else HERE))
