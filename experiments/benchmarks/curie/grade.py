"""Reads and compares the texts of answers; runs inside the verification sandbox only.

Its source is what is executed there, so it imports nothing of this project.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from typing import Any

MAX_ANSWER = 1_000_000  # characters
MAX_LAX = 50_000  # characters that the lax parsers see, which are slow
MAX_DEPTH = 40
#: An answer this many times longer than the gold has no score to speak of, and is not compared.
LONGEST = 20
ALIGNED = 4_000_000  # cells of an alignment that is shown
FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)


def judge(answer: str, form: str, clean: str, record: Any) -> dict[str, Any]:
    """Read an answer, and compare it with two references.

    Parameters
    ----------
    answer
        The whole reply, or the text that code has returned.
    form
        ``json``, ``code``, ``box``, ``fasta`` or ``text``.
    clean
        What was asked for, as text.
    record
        What the authors compare with: the whole record without its ids.

    Returns
    -------
    dict
        ``value`` and ``status`` of what was read (``None`` and ``error``: nothing), ``rouge`` and
        ``rouge_published`` between 0 and 1, ``error`` for an answer that is not compared.
    """
    if not answer.strip():
        return {"error": "empty"}
    if len(answer) > MAX_ANSWER:
        return {"error": "too_long"}
    value, status = read(answer, form)
    said: dict[str, Any] = {"value": value, "status": status, "error": None}
    if form in {"box", "fasta"}:
        return said
    published = dumps5(record)
    words = len(_words(answer))
    if words > LONGEST * max(len(_words(clean)), len(_words(published)), 50):
        return said | {"error": "too_long", "rouge": 0.0, "rouge_published": 0.0}
    text = value if isinstance(value, str) else compact(value)
    # What cannot be read is no answer; the authors compare whatever it is.
    ours = rouge(clean, text) if status != "error" else 0.0
    return said | {"rouge": ours, "rouge_published": rouge(published, answer)}


def read(answer: str, form: str) -> tuple[Any, str]:
    """The value of an answer and how it was found: ``strict``, ``repaired`` or ``error``."""
    if form in {"json", "box"}:
        return read_json(answer)
    if form == "code":
        blocks = [body for language, body in FENCE.findall(answer) if language in {"python", "py"}]
        blocks = blocks or [body for _, body in FENCE.findall(answer)]
        return ("\n".join(blocks), "strict") if blocks else (answer, "repaired")
    if form == "text":
        blocks = [body for _, body in FENCE.findall(answer)]
        return (blocks[0], "repaired") if len(blocks) == 1 else (answer.strip(), "strict")
    return answer, "strict"


def read_json(answer: str) -> tuple[Any, str]:
    """JSON as models write it; nothing is evaluated."""
    blocks = [body for _, body in FENCE.findall(answer)]
    starts = [place for place in (answer.find("["), answer.find("{")) if place >= 0]
    candidates = [*blocks[::-1], answer, *([answer[min(starts) :]] if starts else [])]
    candidates = [text.strip() for text in candidates if text.strip()[:1] in ("[", "{")]
    for number, text in enumerate(candidates):
        value = parse(text)
        if value is not None:
            return value, "strict" if number == 0 else "repaired"
    for text in candidates:
        value = parse(cut(text))
        if value is not None:
            return value, "repaired"
    return None, "error"


def parse(text: str) -> Any:
    """A list or dict, by strict JSON, JSON5 or as a Python literal; ``None`` for anything else."""
    if deep(text):
        return None
    for parser in (json.loads, _json5, ast.literal_eval):
        if parser is not json.loads and len(text) > MAX_LAX:
            return None
        try:
            value = parser(text)
        except Exception:  # noqa: BLE001, S112 -- whatever a hostile text makes of a parser
            continue
        if isinstance(value, list | dict):
            return plain(value)
    return None


def plain(value: Any) -> Any:
    """A value in which all is JSON."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)


def deep(text: str) -> bool:
    """Whether brackets are nested deeper than any answer needs."""
    depth = 0
    for bracket in re.findall(r"[\[\]{}()]", text):
        depth += 1 if bracket in "[{(" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def cut(text: str) -> str:
    """A text that ends too early, or has more behind it, up to its last complete element."""
    stack: list[str] = []
    end, quote, escaped = 0, "", False
    for place, letter in enumerate(text):
        if quote:
            if not escaped and letter == quote:
                quote = ""
            escaped = letter == "\\" and not escaped
            continue
        if letter == '"':
            quote = letter
        elif letter in "[{":
            stack.append("]" if letter == "[" else "}")
        elif letter in "]}":
            if not stack or stack.pop() != letter:
                break
            if not stack:
                return text[: place + 1]
            if len(stack) == 1:
                end = place + 1
        elif letter == "," and len(stack) == 1:
            end = place
    return text[:end] + ("]" if text[:1] == "[" else "}") if end else ""


def _json5(text: str) -> Any:
    import json5  # noqa: PLC0415 -- only where strict JSON does not do

    return json5.loads(text)


def dumps5(record: Any) -> str:
    """The authors' reference: what their JSON5 writer makes of a record, all in ASCII."""
    import json5  # noqa: PLC0415

    return str(json5.dumps(record))


def compact(value: Any) -> str:
    """A value as one text, with letters of all alphabets as they are."""
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge(reference: str, prediction: str) -> float:
    """ROUGE-Lsum, F1 between 0 and 1, without stemming; sentences end at " . "."""
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415

    if not prediction.strip():
        return 0.0
    scorer = RougeScorer(["rougeLsum"], use_stemmer=False)
    one, two = (text.replace(" . ", " .\n") for text in (reference, prediction))
    return float(scorer.score(one, two)["rougeLsum"].fmeasure)


def fasta(answer: str, *, published: bool = False) -> str:
    """The sequence of an answer; the authors read only the first line behind the first header."""
    blocks = [body for _, body in FENCE.findall(answer)]
    lines = (answer if published or not blocks else blocks[-1]).strip().splitlines()
    start = next((n for n, line in enumerate(lines) if line.lstrip().startswith(">")), None)
    if start is None:
        # A bare sequence is one; prose is none.
        joined = "".join("".join(lines).split())
        return joined.upper() if joined.isupper() and joined.isalpha() else ""
    found = []
    for line in lines[start + 1 :]:
        if published or not line.strip() or line.lstrip().startswith(">"):
            found += [line] if published else []
            break
        found.append(line)
    return re.sub(r"[^A-Z]", "", "".join(found).upper())


def sequence(gold: str, answer: str) -> dict[str, Any]:
    """Identity of a sequence: 2 modes, and the aligned rows where they are short enough."""
    full, first = fasta(answer)[: 10 * len(gold)], fasta(answer, published=True)[: 10 * len(gold)]
    rows = aligned(gold, full) if full and len(gold) * len(full) <= ALIGNED else None
    return {
        "identity": identity(gold, full),
        "identity_published": identity(gold, first),
        "rows": rows,
        "error": None if full else "unreadable",
    }


def identity(gold: str, found: str) -> float:
    """Identities over the length of an alignment with gaps that cost nothing.

    With L identities of sequences of n and m residues the shortest alignment that has them is
    n + m - L long, whichever of the best ones a library lists first.
    """
    if not found:
        return 0.0
    same = float(_aligner().score(gold, found))
    return same / (len(gold) + len(found) - same)


def aligned(gold: str, found: str, gap: float = 0.0) -> list[str]:
    """The rows of the first best alignment."""
    best = _aligner(gap).align(gold, found)[0]
    return [str(best[0]), str(best[1])]


def _aligner(gap: float = 0.0) -> Any:
    from Bio.Align import PairwiseAligner  # noqa: PLC0415

    aligner = PairwiseAligner(mode="global", match_score=1.0, mismatch_score=0.0)
    # Said aloud: its default was 0 in Biopython 1.84 and is -1 since.
    aligner.open_gap_score = aligner.extend_gap_score = gap
    return aligner


def terms(latex: str) -> Counter[str]:
    r"""The terms of a Hamiltonian, each with its sign, whatever their order and spacing.

    Splits at signs outside of all brackets and averages; products are compared as sorted factors.
    """
    # A definition after "where" has an equals sign of its own; sums may have one in their indices.
    body = re.split(r"\bwhere\b", latex)[0]
    body = re.sub(r"^[^=+\-]*=", "", body)
    body = re.sub(r"\\(?:left|right|big|Big|bigg|Bigg|,|;|!|:|quad|cdot)(?![A-Za-z])", "", body)
    for one, two in ((r"\dag", r"\dagger"), (r"\daggerger", r"\dagger"), (r"\text{h.c.}", "h.c."),
                     (r"\mathrm{h.c.}", "h.c."), ("H.c.", "h.c."), (r"\lvert", "|"),
                     (r"\rvert", "|"), ("\N{MINUS SIGN}", "-")):  # fmt: skip
        body = body.replace(one, two)
    body = re.sub(
        r"[\s$.`~]|\\\\|\\begin\{\w+\*?\}|\\end\{\w+\*?\}|&", "", body.replace("h.c.", "hc")
    )
    found: Counter[str] = Counter()
    depth, term = 0, ""
    for letter in re.findall(r"\\langle|\\rangle|\\[A-Za-z]+|.", body + "+"):
        if letter in {"+", "-"} and depth == 0:
            if term.strip("+-"):
                found[normal(term)] += 1
            term = letter
            continue
        depth += letter in {"(", "{", "[", r"\langle"}
        depth -= letter in {")", "}", "]", r"\rangle"}
        term += letter
    return found


def normal(term: str) -> str:
    """A term with its sign first, indices without braces around single letters."""
    sign = "-" if term.startswith("-") else "+"
    bare = re.sub(r"([_^])\{(\\?[A-Za-z0-9]+)\}", r"\1\2", term.lstrip("+-"))
    return sign + bare


def shared_terms(gold: str, answer: Any) -> dict[str, float]:
    """F1 of the terms of two Hamiltonians."""
    one, two = terms(gold), terms(str(answer))
    both = sum((one & two).values())
    return {"terms": 2 * both / (sum(one.values()) + sum(two.values())) if both else 0.0}


def shared_steps(gold: list[dict[str, Any]], answer: Any) -> dict[str, float | None]:
    """Mean of `shared_terms` over steps; ``None`` for a gold that does not number its steps."""
    wanted, found = ({str(step.get("step")): str(step.get("answer")) for step in steps
                      if isinstance(step, dict)} if isinstance(steps, list) else {}
                     for steps in (gold, answer))  # fmt: skip
    if not wanted or "None" in wanted:
        return {"terms": None}
    each = [shared_terms(text, found.get(step, ""))["terms"] for step, text in wanted.items()]
    return {"terms": sum(each) / len(each)}


def judge_sequence(gold: str, answer: str) -> dict[str, Any]:
    """As `sequence`, for any text."""
    if len(answer) > MAX_ANSWER:
        return {"identity": 0.0, "identity_published": 0.0, "rows": None, "error": "too_long"}
    return sequence(gold, answer)
