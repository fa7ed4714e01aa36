"""Answers without an LLM to the smaller prompts: search queries, choices by number, names."""

from __future__ import annotations

import re

from agents.models.rules.reading import Prompt
from agents.models.rules.words import covered, name_words, text_words

_END = "</question>"
_MOST = re.compile(r"\bat most (\d+)")
_CANDIDATE = re.compile(r"^(?:(\d+)\. )?([\w.]+): (.*)$", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from ([\w.]+) import ([^\n#;]+)", re.MULTILINE)
_CAMEL = re.compile(r"\b[A-Z][a-z0-9]+[A-Z]\w*\b")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?[\d.]*)+")
_MENTIONED = 3.0  # what a name in the question's own code is worth against words in common


def step(text: str, prompt: Prompt) -> str | None:
    """Answer a prompt that asks for queries, indices or names; ``None`` for any other."""
    asked = text[text.rfind(_END) :]
    limit = _MOST.search(asked)
    most = int(limit[1]) if limit else 5
    if "<queries>" in asked:
        return _tagged("queries", queries(prompt, most))
    if "<indices>" in asked:
        return f"<indices>{', '.join(map(str, ranked(prompt, asked, most)))}</indices>"
    if "<names>" in asked:
        return _tagged("names", names(prompt, asked, most))
    return None


def queries(prompt: Prompt, most: int) -> list[str]:
    """What the question imports, then its properties in equal groups."""
    found = []
    imports = imported(prompt)
    if imports:
        found.append(" ".join(imports))
    groups = max(1, most - len(found))
    texts = [f"{w.name.replace('_', ' ')} {w.description.strip()}" for w in prompt.wanted]
    texts = texts or [prompt.text]
    size = -(-len(texts) // groups)
    found += [" ".join(texts[start : start + size]) for start in range(0, len(texts), size)]
    return [" ".join(query.split()) for query in found][:most]


def ranked(prompt: Prompt, asked: str, most: int) -> list[int]:
    """Numbers of the candidates, those that share most with the question first."""
    scores = {
        int(number): _worth(prompt, name, about)
        for number, name, about in _CANDIDATE.findall(_candidates(asked))
        if number
    }
    return sorted(scores, key=lambda number: (-scores[number], number))[:most]


def names(prompt: Prompt, asked: str, most: int) -> list[str]:
    """What the question names itself, then the candidates that share most with it."""
    prose = re.sub(r"```.*?```", "", prompt.text, flags=re.DOTALL)
    candidates = [(n, about) for _, n, about in _CANDIDATE.findall(_candidates(asked))]
    best = sorted(candidates, key=lambda item: (-_worth(prompt, *item), item[0]))
    classes = [name for name in _CAMEL.findall(prose) if not _FORMULA.fullmatch(name)]
    found = [*imported(prompt), *classes, *(name for name, _ in best)]
    return list(dict.fromkeys(found))[:most]


def imported(prompt: Prompt) -> list[str]:
    """Dotted names that the question's code imports, masks left out."""
    found = []
    for block in prompt.blocks:
        for module, targets in _FROM.findall(block):
            for target in targets.strip("() ").split(","):
                name = target.split(" as ")[0].strip()
                if name.isidentifier() and not module.startswith("__"):
                    found.append(f"{module}.{name}")
    return list(dict.fromkeys(found))


def _candidates(asked: str) -> str:
    """The candidates of a prompt, one per line; empty when there are none."""
    section, closed, _ = asked.partition("<candidates>\n")[2].partition("\n</candidates>")
    return section if closed else ""


def _worth(prompt: Prompt, name: str, about: str) -> float:
    mentioned = re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", prompt.text) is not None
    wanted = [word for w in prompt.wanted for word in (*w.words, *w.about)]
    words = wanted or sorted(text_words(prompt.text))
    pool = {*name_words(name), *text_words(about)}
    return _MENTIONED * mentioned + covered(words, pool)


def _tagged(tag: str, lines: list[str]) -> str:
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])
