"""Reads and compares the texts of answers; runs inside the verification sandbox only.

Its source is what is executed there, so it imports nothing of this project.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any

MAX_ANSWER = 1_000_000  # characters
MAX_LAX = 50_000  # characters that the lax parsers see, which are slow
MAX_DEPTH = 40
#: An answer this many times longer than the gold has no score to speak of, and is not compared.
LONGEST = 20
ALIGNED = 4_000_000  # cells of an alignment that is shown
#: Variables and classes by which the authors' script finds structures and settings.
_CUT = {
    "dft_s": ("structure_metadata_", "StructureMetadata"),
    "dft_p": ("dft_params_", "DFTParameters"),
}
FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)


def judge(answer: str, form: str, clean: str, record: Any, task: str) -> dict[str, Any]:
    """Read an answer, and compare it with what was asked for and with what the authors take.

    ``value`` and ``status`` say what was read (``None`` and ``error``: nothing); ``rouge`` and
    ``rouge_published`` are between 0 and 1 (``None``: the authors leave the paper out); ``error``
    is why an answer is not compared.
    """
    if not answer.strip():
        return {"error": "empty"}
    if len(answer) > MAX_ANSWER:
        return {"error": "too_long"}
    value, status = read(answer, form)
    verdict: dict[str, Any] = {"value": value, "status": status, "error": None}
    if form in {"box", "fasta"}:
        return verdict
    published = published_reference(record, task)
    words = len(_words(answer))
    if words > LONGEST * max(len(_words(clean)), len(_words(published or "")), 50):
        return verdict | {"error": "too_long", "rouge": 0.0, "rouge_published": 0.0}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # What cannot be read is no answer; the authors compare whatever it is.
    ours = rouge(clean, text) if status != "error" else 0.0
    theirs = None if published is None else rouge(published, answer)
    return verdict | {"rouge": ours, "rouge_published": theirs}


def read(answer: str, form: str) -> tuple[Any, str]:
    """The value of an answer and how it was found: ``strict``, ``repaired`` or ``error``."""
    if form in {"json", "box"}:
        return read_json(answer)
    fences = FENCE.findall(answer)
    blocks = [body for _, body in fences]
    if form == "code":
        blocks = [body for name, body in fences if name in {"python", "py"}] or blocks
        return ("\n".join(blocks), "strict") if blocks else (answer, "repaired")
    if form == "text":
        return (
            (blocks[0], "repaired") if len(blocks) == 1 else (answer.strip(), "strict")
        )
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
    import json5  # noqa: PLC0415 -- in the sandbox

    if deep(text):
        return None
    for parser in (json.loads, json5.loads, ast.literal_eval):
        if parser is not json.loads and len(text) > MAX_LAX:
            return None
        try:
            value = parser(text)
            if isinstance(value, list | dict):
                return json.loads(
                    json.dumps(value, default=str), parse_constant=lambda _: None
                )
        except Exception:  # noqa: BLE001, S112 -- whatever a hostile text makes of a parser
            continue
    return None


def deep(text: str) -> bool:
    """Whether brackets are nested deeper than any answer needs."""
    brackets = re.findall(r"[\[\]{}()]", text)
    depths = accumulate(1 if bracket in "[{(" else -1 for bracket in brackets)
    return max(depths, default=0) > MAX_DEPTH


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


def published_reference(record: Any, task: str) -> str | None:
    """What the authors compare with: the record as ASCII JSON5.

    Of papers about calculations their script cuts structures or settings out of that text, in
    which quotes and line ends are escaped: what it finds are mostly texts with backslashes, and
    each is there twice where the record holds its program twice. ``None`` where it finds nothing,
    or stops with an exception.
    """
    import json5  # noqa: PLC0415

    text = str(json5.dumps(record))
    if task not in _CUT:
        return text
    mark, kind = _CUT[task]
    literals: list[Any] = []
    for piece in text.split(mark)[1:]:
        head, *rest = piece.split("parse_raw(")
        if not rest or kind not in head:
            continue
        end = next((end for end in ("')", "'\n)") if end in rest[0]), ")")
        quoted = rest[0].split(end)[0].split("'")
        if len(quoted) < 2:
            return None
        plain = quoted[1].replace("NaN", '"NaN"')
        try:
            literals.append(ast.literal_eval(plain))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            literals.append(plain)
    return str(literals) if literals else None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge(reference: str, prediction: str) -> float:
    """ROUGE-Lsum, F1 between 0 and 1, without stemming; sentences end at " . " or a line's end.

    The score of rouge-score 0.1.2 (Lin 2004, section 3.2), bit by bit instead of cell by cell.
    """
    wanted, given = (
        [_words(line) for line in text.replace(" . ", " .\n").split("\n")]
        for text in (reference, prediction)
    )
    wanted_left = Counter(word for sentence in wanted for word in sentence)
    given_left = Counter(word for sentence in given for word in sentence)
    wanted_total = wanted_left.total()
    given_total = given_left.total()
    if not wanted_total or not given_total:
        return 0.0
    sentences = [Sentence(words) for words in dict.fromkeys(map(tuple, given))]
    hits = 0
    for words in wanted:
        for place in sorted(_matched(words, sentences, given_left.keys())):
            word = words[place]
            if given_left[word] > 0 and wanted_left[word] > 0:  # none counts twice
                hits += 1
                given_left[word] -= 1
                wanted_left[word] -= 1
    recall = hits / wanted_total
    precision = hits / given_total
    return 2 * precision * recall / (precision + recall) if hits else 0.0


class Sentence:
    """A sentence of an answer; ``places`` has a bit for each place of a word."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.places: dict[str, int] = {}
        for place, word in enumerate(words):
            self.places[word] = self.places.get(word, 0) | 1 << place


def _matched(
    words: Sequence[str], sentences: Sequence[Sentence], vocabulary: Collection[str]
) -> set[int]:
    """Places of words in a longest common subsequence with any of the sentences."""
    possible = {place for place, word in enumerate(words) if word in vocabulary}
    matched: set[int] = set()
    for sentence in sentences:
        if matched == possible:
            break
        matched.update(common_places(words, sentence))
    return matched


def common_places(words: Sequence[str], sentence: Sentence) -> list[int]:
    """Places in ``words`` of a longest common subsequence: the one that rouge-score takes.

    A row of the table of lengths is one integer, whose bits say where lengths grow (Hyyrö 2004,
    "Bit-parallel LCS-length computation revisited"). Words that the sentence lacks leave the row
    before as it is, and are left out.
    """
    places = [place for place, word in enumerate(words) if word in sentence.places]
    every = (1 << len(sentence.words)) - 1
    flat = every
    rows = [0]  # bits where the length grows, for the first 0, 1, 2, ... of the places
    for place in places:
        shared = flat & sentence.places[words[place]]
        flat = ((flat + shared) | (flat - shared)) & every
        rows.append(every ^ flat)
    common = []
    row, column = len(places), len(sentence.words)
    while row and column:
        if words[places[row - 1]] == sentence.words[column - 1]:
            common.append(places[row - 1])
            row, column = row - 1, column - 1
            continue
        left = (rows[row] & ((1 << (column - 1)) - 1)).bit_count()
        above = (rows[row - 1] & ((1 << column) - 1)).bit_count()
        if left > above:
            column -= 1
        else:
            row -= 1
    return common


def fasta(answer: str, *, published: bool = False) -> str:
    """The sequence of an answer; the authors read only the first line behind the first header."""
    blocks = [body for _, body in FENCE.findall(answer)]
    lines = (answer if published or not blocks else blocks[-1]).strip().splitlines()
    start = next(
        (n for n, line in enumerate(lines) if line.lstrip().startswith(">")), None
    )
    if start is None:
        # A bare sequence is one; prose is none.
        joined = "".join("".join(lines).split())
        return joined.upper() if joined.isupper() and joined.isalpha() else ""
    parts = []
    for line in lines[start + 1 :]:
        if published or not line.strip() or line.lstrip().startswith(">"):
            parts += [line] if published else []
            break
        parts.append(line)
    return re.sub(r"[^A-Z]", "", "".join(parts).upper())


def judge_sequence(gold: str, answer: str) -> dict[str, Any]:
    """Identity of a sequence: 2 modes, and the aligned rows where they are short enough."""
    if len(answer) > MAX_ANSWER:
        return {"error": "too_long"}
    full, first = (
        fasta(answer)[: 10 * len(gold)],
        fasta(answer, published=True)[: 10 * len(gold)],
    )
    aligned = full and len(gold) * len(full) <= ALIGNED
    best = _aligner().align(gold, full)[0] if aligned else None
    return {
        "identity": identity(gold, full),
        "identity_published": identity(gold, first),
        "rows": best and [str(best[0]), str(best[1])],
        "error": None if full else "unreadable",
    }


def identity(gold: str, answer: str) -> float:
    """Identities over the length of an alignment with gaps that cost nothing.

    With L identities of sequences of n and m residues the shortest alignment that has them is
    n + m - L long, whichever of the best ones a library lists first.
    """
    if not answer:
        return 0.0
    same = float(_aligner().score(gold, answer))
    return same / (len(gold) + len(answer) - same)


def _aligner() -> Any:
    from Bio.Align import PairwiseAligner  # noqa: PLC0415

    aligner = PairwiseAligner(mode="global", match_score=1.0, mismatch_score=0.0)
    # Said aloud: its default was 0 in Biopython 1.84 and is -1 since.
    aligner.open_gap_score = aligner.extend_gap_score = 0.0
    return aligner
