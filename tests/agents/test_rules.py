"""The model without an LLM: it reads prompts, and only prompts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage

import agents.models.rules
from agents import prompts
from agents.answer import parse_answer
from agents.models.rules import RulesChatModel
from agents.models.rules.coder import share
from agents.models.rules.knowledge import compatible, element, plain, read_document, read_signature
from agents.models.rules.model import DECLINE, answer
from agents.models.rules.propose import Way
from agents.models.rules.reading import read
from agents.models.rules.words import agreement, stem
from agents.prompts import Attempt

# A library that does not exist: nothing can be known of it but what the documents say.
MODULE = Document(
    """orchard.press
kind: module
members:
  squeeze(fruit: Fruit, *, pressure: float) -> Juice [function]: Press a fruit.
  peel(fruit: Fruit, depth: float = 0.1) -> Fruit [function]: Take the skin off.
---
## What it does
Tools of a press.
""",
    metadata={"id": "1", "qualname": "orchard.press", "path": "orchard/press.py", "version": "1"},
)
JUICE = Document(
    """orchard.liquid.Juice
kind: class
signature: Juice(volume: float, sugar: float)
members:
  sugar_content -> float [property]: Mass of sugar per volume, in g/l.
  label -> str [property]: Text on the bottle.
  pour(glasses: int = 1) -> list[float] [method]: Volumes of the glasses.
  make_wine() -> None [method]: Ferment in place.
---
## What it does
A juice.
""",
    metadata={"id": "2", "qualname": "orchard.liquid.Juice", "path": "orchard/liquid.py"},
)
QUESTION = """Calculate:
- `juice_sugar_content`: Mass of sugar per volume, in g/l. Format: `float`.
- `bottle_label`: The text on the bottle. Format: `str`.

```python
from orchard.fruit import Fruit
from orchard.press import [MASK]
apple = Fruit("apple")
juice = [MASK](apple, pressure=3.0)
```
"""


def code_for(*documents: Document, attempts: tuple[Attempt, ...] = ()) -> str:
    reply = answer(prompts.generate(QUESTION, documents, attempts))
    parsed = parse_answer(reply, strict=True)
    assert parsed is not None, reply
    ast.parse(parsed.code)
    return parsed.code


def ways(code: str, name: str) -> list[str]:
    line = next(line for line in code.splitlines() if f"answers['{name}']" in line)
    return re.findall(r"lambda: ([^,]+?)(?=, lambda|\)$)", line)


def test_a_mask_is_filled_by_the_signature_that_takes_the_call():
    code = code_for(MODULE)
    assert "juice = squeeze(apple, pressure=3.0)" in code
    assert "from orchard.press import squeeze" in code
    assert 'Fruit("apple")' in code.replace("'", '"')


def test_without_documents_the_mask_stays_open_and_the_rest_is_kept():
    code = code_for()
    assert "apple = Fruit('apple')" in code
    assert "squeeze" not in code
    assert "MASK" not in code


def test_properties_are_members_of_the_right_type():
    code = code_for(MODULE, JUICE)
    assert ways(code, "juice_sugar_content")[0] == "juice.sugar_content"
    assert ways(code, "bottle_label")[0] == "juice.label"
    assert "make_wine" not in code


def test_feedback_brings_the_next_candidate_and_keeps_what_was_right():
    first = code_for(MODULE, JUICE)
    attempt = Attempt(
        number=1,
        code=first,
        outcome="ok",
        returned="'juice_sugar_content': None (NoneType)\n'bottle_label': 'cider' (str)",
        checks=("`juice_sugar_content` is None",),
    )
    second = code_for(MODULE, JUICE, attempts=(attempt,))
    assert ways(second, "bottle_label") == ways(first, "bottle_label")
    assert not set(ways(second, "juice_sugar_content")) & set(ways(first, "juice_sugar_content"))


def test_a_mask_that_failed_is_filled_otherwise():
    first = code_for(MODULE)
    failed = re.search(r"# \[(MASK_\w+)\] -> squeeze", first)
    assert failed
    attempt = Attempt(
        number=1,
        code=first,
        outcome="ok",
        printed=f"{failed[1]} failed: TypeError: no",
        checks=("`juice_sugar_content` is None",),
    )
    assert "= squeeze(" not in code_for(MODULE, attempts=(attempt,))


def test_types_that_a_draft_printed_are_used():
    question = "- `sugar_content`: g/l. Format: `float`.\n```python\nthing = open_bottle()\n```\n"
    attempt = Attempt(
        number=1,
        code="x = 1",
        outcome="ok",
        printed="probe thing: orchard.liquid.Juice",
        checks=("`sugar_content` is None",),
    )
    reply = answer(prompts.generate(question, [JUICE], [attempt]))
    assert "lambda: thing.sugar_content" in reply


def test_the_critic_asks_for_what_is_not_documented():
    attempt = Attempt(
        number=1,
        code=code_for(MODULE),
        outcome="ok",
        printed="probe juice: orchard.liquid.Juice",
        checks=("`juice_sugar_content` is None",),
    )
    reply = answer(prompts.criticise(QUESTION, [MODULE], [attempt]))
    query = re.search(r"<query>(.*?)</query>", reply, re.DOTALL)
    assert query
    assert "orchard.liquid.Juice" in query[1]
    assert "orchard.press" not in query[1].split()


def test_a_path_of_the_question_is_bound_to_the_name_that_stands_for_it():
    question = (
        "- `a`: x. Format: `int`.\nThe file is `inputs/case/cell.vasp`.\n"
        "```python\nsize = len(open(file_path / 'cell.vasp').read())\n```\n"
    )
    reply = answer(prompts.generate(question))
    assert "file_path = Path('inputs/case')" in reply


@pytest.mark.parametrize(
    ("bullet", "kind", "inner"),
    [
        ("- `a`: How many there are (int).", "int", ""),
        ("- `a`: The charge (int, in units of e).", "int", ""),
        ("- `a` (`bool`): Whether it is so.", "bool", ""),
        ("- `a`: The energy, a float value in eV.", "float", ""),
        ("- `a`: The positions, a list of float values.", "list", "float"),
        ("- `a`: The labels (list of strings), in LaTeX format.", "list", "str"),
        ("- `a`: The charges as a tuple of integers.", "tuple", "int"),
        ("- `a`: The order of the group. Format: int.", "int", ""),
    ],
)
def test_a_type_needs_no_word_format(bullet: str, kind: str, inner: str):
    prompt = read(prompts.generate(f"Calculate:\n{bullet}\n")[0].text)
    assert prompt is not None
    assert [(w.name, w.kind, w.inner) for w in prompt.wanted] == [("a", kind, inner)]


@pytest.mark.parametrize(
    "bullet", ["- `a`: The charge (in e).", "- `a`: A cell (set to 3).", "- `a`: A set of sites."]
)
def test_a_type_is_not_guessed(bullet: str):
    prompt = read(prompts.generate(f"Calculate:\n{bullet}\n")[0].text)
    assert prompt is not None
    assert prompt.wanted == ()


def test_what_is_no_prompt_of_the_bench_is_declined_in_words():
    model = RulesChatModel()
    for text in ("What is the band gap of silicon?", "", "<question>\nno list\n</question>"):
        assert model.invoke([SystemMessage("s"), HumanMessage(text)]).content == DECLINE
    assert "without an LLM" in DECLINE


def test_same_prompt_same_answer():
    assert code_for(MODULE, JUICE) == code_for(MODULE, JUICE)


@pytest.mark.parametrize("level", ["scaffold", "goal"])
def test_every_live_question_gets_code_that_parses(level: str):
    from experiments.benchmarks.live.benchmark import LiveBenchmark

    for task in LiveBenchmark(level=level).load():  # type: ignore[arg-type]
        reply = answer(prompts.generate(task.question.prompt))
        parsed = parse_answer(reply, strict=True)
        assert parsed is not None, task.question.id
        ast.parse(parsed.code)
        assert all(repr(name) in parsed.code for name in task.question.formats)


def test_the_rules_know_no_question_property_or_answer():
    """No id, no property name and no compound name of a library stands in their source."""
    source = "\n".join(p.read_text() for p in Path(agents.models.rules.__path__[0]).glob("*.py"))
    words = set(re.findall(r"\w+", source))
    folder = Path(__file__).parents[2] / "experiments/benchmarks/live/questions"
    for path in folder.glob("*/task.yaml"):
        names = [p["name"] for p in yaml.safe_load(path.read_text())["properties"]]
        compound = {name for name in [path.parent.name, *names] if "_" in name}
        assert not compound & words, path.parent.name


def test_signatures_are_read_with_defaults_and_annotations():
    signature = read_signature("Cell.make(a: float, b: int | None = None, *, c: str) -> list[Cell]")
    assert [(p.name, p.required) for p in signature.parameters] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    assert element(signature.returns) == "Cell"
    assert signature.accepts(1, ["c"])
    assert not signature.accepts(1, [])
    assert not signature.accepts(1, ["c", "d"])


def test_documents_in_the_fixed_layout_are_read():
    symbol = read_document("orchard.liquid.Juice", JUICE.page_content)
    assert symbol is not None
    assert (symbol.kind, symbol.summary) == ("class", "A juice.")
    assert [(m.name, m.callable) for m in symbol.members][:3] == [
        ("sugar_content", False),
        ("label", False),
        ("pour", True),
    ]
    assert read_document("x", "prose without facts") is None


def test_types_and_formats():
    assert plain("Optional[collections.abc.Sequence]") == "Sequence"
    assert plain("'Structure' | None".replace("'", "")) == "Structure"
    assert compatible("float", "float | None") == 1.0
    assert compatible("float", "int") == 0.5
    assert compatible("float", "dict[str, float]") == -1.0
    assert compatible("float", "") == 0.0


def test_words():
    assert stem("symmetries") == stem("symmetry")
    assert agreement(("vac",), ("vacancy",)) > 0.7
    assert agreement(("volum",), ("charg",)) == 0.0


def test_an_expression_goes_to_the_property_it_suits_best():
    ranked = {
        "a": [Way("x.volume", 0.9), Way("x.density", 0.5)],
        "b": [Way("x.volume", 0.7), Way("x.charge", 0.4)],
    }
    shared = share(ranked, set())
    assert shared["a"][0].expression == "x.volume"
    assert [way.expression for way in shared["b"]] == ["x.charge", "x.volume"]


@given(st.from_regex(r"[a-z][a-z0-9]{0,8}(_(in|is|for|103|[a-z]{2,9})){1,4}", fullmatch=True))
def test_no_property_name_makes_code_that_is_no_python(name: str):
    question = f"- `{name}`: about. Format: `int`.\n```python\ncell = make()\n```\n"
    parsed = parse_answer(answer(prompts.generate(question)), strict=True)
    assert parsed is not None
    ast.parse(parsed.code)


@given(st.text(max_size=300))
def test_no_question_makes_the_rules_raise(text: str):
    question = f"- `a`: about. Format: `float`.\n```python\n{text}\n```\n{text}"
    assert answer(prompts.generate(question))
