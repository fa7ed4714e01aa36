"""The model without an LLM on multiple-choice questions: only the words of the text decide."""

import itertools

import pytest

from agents.models import ModelConfig, build_model
from agents.models.rules import choice

CODE = """In `lib/cells.py`, one name is replaced by [MASK]. Which name is it?
```python
def density(self):
    \"\"\"Mass per volume.\"\"\"
    total = 0
    volume = self.lattice.[MASK]
    return self.mass / volume
```"""


def prompt(question, choices):
    listed = "\n".join(
        f"<choice>{letter}. {text}</choice>"
        for letter, text in zip("ABCD", choices, strict=True)
    )  # fmt: skip
    return (
        f"Answer.\n<question>{question}</question>\n<answer_choices>\n{listed}\n"
        "</answer_choices>\nReply with\n<answer>letter</answer>"
    )


QUESTIONS = {
    CODE: ("cell_volume", "to_json", "get_angles", "write"),
    "Which method of `lib.Cell` is for this: Rotate all sites around an axis.": (
        "rotate_sites", "to_json", "get_angles", "write",
    ),
    "What is `lib.Cell.get_space_group` for?": (
        "Find the space group.", "Write a file.", "Return the mass.", "Plot a spectrum.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_words_decide_wherever_the_choice_stands(question):
    choices = QUESTIONS[question]
    for order in itertools.permutations(choices):
        right = "ABCD"[order.index(choices[0])]
        assert choice.answer(prompt(question, order)) == f"<answer>{right}</answer>"


def test_without_a_hint_the_same_text_is_chosen_wherever_it_stands():
    chosen = set()
    for order in itertools.permutations("1234"):
        reply = choice.answer(prompt("Which?", order))
        chosen.add(order["ABCD".index(reply[len("<answer>")])])
    assert len(chosen) == 1


@pytest.mark.parametrize(
    "text", ["", "<question>x</question>", "<answer_choices></answer_choices>"]
)
def test_other_prompts_are_left_to_the_others(text):
    assert choice.answer(text) is None


async def test_the_model_answers_like_any_other():
    from langchain_core.messages import HumanMessage

    client = build_model(ModelConfig(provider="rules", name="rules"))
    question, choices = next(iter(QUESTIONS.items()))
    reply = await client.ask([HumanMessage(prompt(question, choices))], sample="0")
    assert reply.text == "<answer>A</answer>"
