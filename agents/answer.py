"""Reading a reply: the answer contract, strictly or with recorded repairs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from docgen.reading import after_tag, fences, spoken, tagged, unclosed_fence

MAX_CODE_CHARACTERS = 200_000
MAX_NEED = 1000
MAX_WORDS = 20_000
MAX_BLOCKS = 50  # the last ones of an answer without tags

# The contract in two halves, so that neither is tried at every character in between.
_STRICT_HEAD = re.compile(r"<answer>\s*+<code>\s*+```(?:python)?[ \t]*+\n")
_STRICT_TAIL = re.compile(
    r"```\s*+</code>\s*+<name>\s*+([A-Za-z_]\w*+)\s*+</name>\s*+</answer>"
)
_NEED = re.compile(
    r"[\s>*_`#]{0,20}needs[ _]input[*_`]{0,3}\s?:[*_`]{0,3}", re.IGNORECASE
)
_WORDS = re.compile(
    r"[\s>*_`#]{0,20}in[ _]words[*_`]{0,3}\s?:[*_`]{0,3}", re.IGNORECASE
)
_CODE = re.compile(
    r"<answer>.*?</answer>|<code>.*?</code>|<name>.*?</name>|```.*?(?:```|\Z)",
    re.DOTALL,
)
_NAME = re.compile(r"`?([A-Za-z_]\w*)(?:\(\))?`?")
_PYTHON = frozenset({"", "py", "python", "python3"})
#: Where code ends that no tag or fence ends.
_END = re.compile(r"(?m)^[ \t]*</?(?:answer|name|code)>")
#: What begins a line of any program that could be run; words in brackets are none.
_STATEMENT = re.compile(
    r"(?m)^[ \t]*(?:def|class|import|from|return|with|for|if|try)\b|="
)
_PLACEHOLDER = re.compile(r"[(<\[][^\n]{3,200}[)>\]]|\.\.\.")


@dataclass(frozen=True)
class CodeAnswer:
    """Code and the function to call in it; ``status`` says how it was read.

    ``rule`` is what of the reply was read: ``contract``, ``code tag``, ``fence``, ...
    """

    code: str
    entry: str
    status: Literal["strict", "repaired"]
    rule: str = field(default="", compare=False)


class UnreadableError(ValueError):
    """No code can be read from a reply; says what is missing in one sentence."""


def read_answer(reply: str, *, strict: bool = False) -> CodeAnswer:
    """Read code and entry point from a reply; `UnreadableError` where there are none.

    Thoughts are not read. Of several answers the last complete one counts; the code blocks of one
    answer belong together. The entry is the function named, else the last one that can be called
    without arguments. With ``strict`` only the tag contract counts, as in the published benchmark:
    the first match, wherever it stands.
    """
    contract = _strict(reply)
    if strict:
        if contract is None:
            raise UnreadableError("it does not keep the form of the answer")
        return contract
    text = spoken(reply)
    whole = next(
        (part for part in reversed(tagged(text, "answer")) if has_code(part)), None
    )
    last = _strict(f"<answer>{whole}</answer>")
    # Several blocks in one <code> keep the contract to the letter, with fences amid the code.
    if last is not None and (_tree(last.code) or "\n```" not in last.code):
        last = _callable(replace(last, code=_program(last.code)))
        return last if last == contract else replace(last, status="repaired")
    scope = text if whole is None else whole
    blocks, rule = _blocks(scope, together=whole is not None)
    if sum(map(len, blocks)) > MAX_CODE_CHARACTERS:
        raise UnreadableError(
            f"its code is longer than {MAX_CODE_CHARACTERS} characters"
        )
    code = _program(_joined(blocks))
    named = [
        match[1]
        for part in tagged(scope, "name")
        if (match := _NAME.fullmatch(part.strip()))
    ]
    entry = _entry(code, named[-1] if named else "")
    return CodeAnswer(code, entry, "repaired", rule)


def named_answer(code: str, entry: str) -> CodeAnswer:
    """Code and the function to call in it, as a tool is given them; may be `UnreadableError`."""
    tree = _tree(code)
    if tree is None:
        raise UnreadableError("the code has a syntax error, or is too long")
    if entry not in _entries(tree):
        raise UnreadableError(
            f"the code has no top-level function {entry!r} without arguments"
        )
    return CodeAnswer(code, entry, "strict")


def read_need(reply: str) -> str | None:
    """What a reply without code says is missing (``needs input: ...``); ``None``: nothing."""
    return None if has_code(reply) else _after(_NEED, reply, MAX_NEED)


def read_words(reply: str) -> str | None:
    """What a reply without code says that answers in words (``in words: ...``)."""
    return _after(_WORDS, reply, MAX_WORDS)


def _after(mark: re.Pattern[str], reply: str, most: int) -> str | None:
    words = spoken(reply).strip()
    match = mark.match(words)
    if match is None or "<code>" in words.lower():
        return None
    return words[match.end() :].strip(" *_`\n")[:most] or None


def spoken_beside(reply: str) -> str:
    """What a reply says beside its code, without thoughts and tags; empty for a bare answer."""
    text = spoken(reply)
    return re.sub(r"\n{3,}", "\n\n", _CODE.sub("", text)).strip()


def has_code(reply: str) -> bool:
    """Whether a reply shows any code, in whatever form."""
    text = spoken(reply)
    return "```" in text or "<code>" in text.lower()


def same_code(code: str, other: str) -> bool:
    """Whether two drafts differ in nothing but comments, blank lines and spaces."""
    if code.strip() == other.strip():
        return True
    first, second = _tree(code), _tree(other)
    try:
        return bool(first and second and ast.dump(first) == ast.dump(second))
    except RecursionError:
        return False


def _strict(reply: str) -> CodeAnswer | None:
    """The published contract, kept to the letter with code in it."""
    head = _STRICT_HEAD.search(reply)
    tail = _STRICT_TAIL.search(reply, head.end()) if head else None
    if head is None or tail is None:
        return None
    code = reply[head.end() : tail.start()].rstrip(" \t").removesuffix("\n")
    if not code.strip() or len(code) > MAX_CODE_CHARACTERS:
        return None
    return CodeAnswer(code, tail[1], "strict", "contract")


def _blocks(text: str, *, together: bool) -> tuple[list[str], str]:
    """Blocks of Python and the rule that found them.

    Those in ``<code>`` (in all of them, or the last, which may not be closed), else the fenced
    ones, else a last fence that is not closed and holds a whole program.
    """
    inside = tagged(text, "code")
    if not inside and (opened := after_tag(text, "code")) is not None:
        inside = [_END.split(opened, maxsplit=1)[0]]
    if inside:
        parts = inside if together else inside[-1:]
        return [block for part in parts for block in _in_tag(part)], "code tag"
    fenced = _fenced(text)[-MAX_BLOCKS:]
    if sum(map(len, fenced)) > MAX_CODE_CHARACTERS:
        fenced = fenced[-1:]
    blocks = [block for block in fenced if "def " in block or _tree(block) is not None]
    open_fence = unclosed_fence(text)
    if blocks or open_fence is None:
        return blocks, "fence"
    language, content = open_fence
    content = _END.split(content, maxsplit=1)[0]
    whole = language in _PYTHON and "def " in content and _tree(content) is not None
    return ([content] if whole else []), "open fence"


def _fenced(text: str) -> list[str]:
    return [block for language, block in fences(text) if language in _PYTHON]


def _in_tag(part: str) -> list[str]:
    """The code in one ``<code>``: in its fences, or behind one that is not closed, or bare."""
    if blocks := _fenced(part):
        return blocks
    open_fence = unclosed_fence(part)
    return [open_fence[1]] if open_fence else [part.strip("`\n")]


def _callable(answer: CodeAnswer) -> CodeAnswer:
    """The answer with a function to call that it has, where it names one that it has not."""
    tree = _tree(answer.code)
    names = _entries(tree) if tree else []
    defined = (
        {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} if tree else ()
    )
    if not names or answer.entry in defined:
        return answer
    return replace(answer, entry=names[-1], status="repaired")


def _program(code: str) -> str:
    """The code as it is to run; `UnreadableError` where it is none, as a copied placeholder is."""
    code = _without_mark(code)
    if not code.strip():
        raise UnreadableError("it holds no code")
    if _tree(code) is None and not _STATEMENT.search(code):
        raise UnreadableError("it holds words in place of code")
    return code


def _without_mark(code: str) -> str:
    """The code without a language, or a placeholder of the form, as its first line."""
    first, _, rest = code.lstrip("\n").partition("\n")
    mark = first.strip().lower()
    if mark in _PYTHON - {""} and rest.strip():
        return rest
    placeholder = _PLACEHOLDER.fullmatch(first.strip())
    if placeholder and _tree(code) is None and _tree(rest) is not None:
        return rest
    return code


def _joined(blocks: Sequence[str]) -> str:
    """Blocks in order, without those of which a later one defines a function anew."""
    needed: list[str] = []
    later: set[str] = set()
    for block in reversed(blocks):
        body = tree.body if (tree := _tree(block)) else []
        defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        if not defined & later:
            needed.insert(
                0, block.removesuffix("\n") if len(blocks) == 1 else block.strip("\n")
            )
        later |= defined
    return "\n\n".join(needed)


def _entry(code: str, named: str) -> str:
    """The function to call; `UnreadableError` where there is none."""
    tree = _tree(code)
    if tree is None:  # will fail when it is run, which tells the model more than we can
        if not named:
            raise UnreadableError(
                "its code has a syntax error and no <name> says what to call"
            )
        return named
    entries = _entries(tree)
    if not entries:
        raise UnreadableError("its code has no top-level function without arguments")
    return named if named in entries else entries[-1]


def _entries(tree: ast.Module) -> list[str]:
    """The functions that can be called without arguments."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            positional = [*node.args.posonlyargs, *node.args.args]
            if (
                len(positional) == len(node.args.defaults)
                and None not in node.args.kw_defaults
            ):
                names.append(node.name)
    return names


@lru_cache(maxsize=64)
def _tree(code: str) -> ast.Module | None:
    """The code as a tree; ``None`` for a syntax error, or for too much of it."""
    if len(code) > MAX_CODE_CHARACTERS:
        return None
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
