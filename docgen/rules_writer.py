"""Documentation without a model: the sections of a prompt, rearranged.

Deterministic. It says what docstring, signature and call graph say and invents nothing; where
the source has no docstring it says so.
"""

from __future__ import annotations

import ast
import re
from textwrap import dedent

from docgen.prompts import read_prompt
from docgen.signatures import annotation_text

_HEADING = re.compile(
    r"^(Constructor|Args|Arguments|Parameters|Params|Attributes|Returns?|Yields?|Raises|Notes?|"
    r"Examples?|References?|Warnings?|See Also|Keyword Args|Other Parameters):?[ \t]*$",
    re.IGNORECASE,
)
_INLINE = re.compile(r"^(Returns?|Args|Raises|Notes?|Yields?):[ \t]+(\S.*)$")
_SPHINX = re.compile(r"^:(param|type|returns?|rtype|raises?)\s*([^:]*):\s*(.*)$")
_IMPORT = re.compile(r"^import: (.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
NAME = "rules"  # of this writer; what it wrote is never kept, as it costs nothing
_LINE, _LINES = 160, 8  # characters and lines of a definition that are shown
_TARGET = {
    "args": "Parameters", "arguments": "Parameters", "parameters": "Parameters",
    "params": "Parameters", "attributes": "Parameters", "keyword args": "Parameters",
    "other parameters": "Parameters", "param": "Parameters", "type": "Parameters",
    "return": "Returns", "returns": "Returns", "yield": "Returns", "yields": "Returns",
    "rtype": "Returns", "raises": "Raises", "raise": "Raises",
    "example": "Example", "examples": "Example", "constructor": "Details",
}  # fmt: skip


def write(prompt: str) -> str:
    """Documentation of the symbols that a documentation prompt shows.

    Raises
    ------
    ValueError
        When ``prompt`` is not a documentation prompt.
    """
    symbols = read_prompt(prompt)
    if not symbols:
        raise ValueError("not a documentation prompt: sections <symbol> and <facts> are missing")
    if len(symbols) == 1:
        return _document(symbols[0])
    return "\n".join(f"# {s['symbol'].strip()}\n{_document(s)}" for s in symbols)


def _document(sections: dict[str, str]) -> str:
    qualname = sections["symbol"].strip()
    facts = sections["facts"]
    kind = _fact(facts, "kind")
    parts = _docstring_parts(sections.get("docstring", ""))
    out = [("What it does", _summary(qualname, kind, parts))]
    out.append(
        ("Attributes" if kind in {"class", "module"} else "Parameters", parts.get("Parameters", ""))
    )
    out.append(("Returns", parts.get("Returns", "") or _return_type(sections)))
    out.append(("Raises", parts.get("Raises", "") or _fact(facts, "raises")))
    out.append(("Details", parts.get("Details", "") or _defined(kind, sections.get("code", ""))))
    out.append(("Relations", _relations(sections)))
    out.append(("Notes", parts.get("Notes", "")))
    out.append(("Example", parts.get("Example", "") or _example(qualname, kind, sections)))
    return "\n\n".join(f"## {title}\n{body}" for title, body in out if body) + "\n"


def _summary(qualname: str, kind: str, parts: dict[str, str]) -> str:
    if parts.get("Summary"):
        return parts["Summary"]
    *_, owner, name = ("", *qualname.split("."))
    words = " ".join(_WORD.findall(name)).lower()
    inside = kind in {"method", "property", "attribute"}
    place = f" of {owner}" if inside else f" in {owner}" if owner else ""
    return f"{words.capitalize()}{place} (from its name; the source has no docstring)."


def _docstring_parts(docstring: str) -> dict[str, str]:
    """Google, numpy and Sphinx docstrings by section; what precedes them is the summary."""
    blocks: dict[str, list[str]] = {"Details": []}
    current = "Details"
    lines = docstring.splitlines()
    for position, line in enumerate(lines):
        heading = _HEADING.match(line.strip()) if not line.startswith("        ") else None
        inline = _INLINE.match(line.strip())
        sphinx = _SPHINX.match(line.strip())
        if heading:
            current = _TARGET.get(heading[1].lower(), "Notes")
        elif re.fullmatch(r"\s*[-=]{3,}\s*", line) and position:
            continue
        elif inline and not line.startswith("    "):
            current = _TARGET.get(inline[1].lower(), "Notes")
            blocks.setdefault(current, []).append(inline[2])
        elif sphinx:
            current = _TARGET.get(sphinx[1].lower(), "Notes")
            label = f"{sphinx[2].strip()}: " if sphinx[2].strip() else ""
            blocks.setdefault(current, []).append(f"{label}{sphinx[3]}")
        elif line.startswith("Constructor: "):
            current = "Details"
            blocks[current] += ["", line.removeprefix("Constructor: ")]
        else:
            blocks.setdefault(current, []).append(line)
    text = {name: dedent("\n".join(content)).strip() for name, content in blocks.items()}
    summary, _, details = text["Details"].partition("\n\n")
    return {**text, "Summary": " ".join(summary.split()), "Details": details.strip()}


def _fact(facts: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*)$", facts, re.MULTILINE)
    return found[1].strip() if found else ""


def _definition(sections: dict[str, str]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Parameters and return type: of a class in its facts, else in the code."""
    signature = _fact(sections["facts"], "signature")
    text = f"def {signature}: ..." if "(" in signature else sections.get("code", "")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return next((n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)


def _return_type(sections: dict[str, str]) -> str:
    node = _definition(sections)
    if node is None or node.returns is None or ast.unparse(node.returns) == "None":
        return ""
    owner = sections["symbol"].strip().split(".")[-2:-1]
    return re.sub(r"\bSelf\b", "".join(owner), annotation_text(node.returns))


def _required(sections: dict[str, str]) -> list[str]:
    """Names of the parameters without a default."""
    node = _definition(sections)
    if node is None:
        return []
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    facts = sections["facts"]
    static = "staticmethod" in _fact(facts, "modifiers").split(", ")
    bound = _fact(facts, "kind") == "method" and not static
    named = [a.arg for a in positional[: len(positional) - len(spec.defaults)]]
    keyword = [a.arg for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is None]
    return [*named[bound:], *keyword]


def _relations(sections: dict[str, str]) -> str:
    lines: list[str] = []
    for name, label in (("bases", "Built on"), ("callees", "Uses"), ("callers", "Used by")):
        for line in sections.get(name, "").splitlines():
            head, dash, told = line.partition(" — ")
            if line.startswith("and "):
                lines.append(f"- {line}")
            elif dash:
                symbol = re.split(r"[( ]", head, maxsplit=1)[0]
                told = told.partition(" Returns: ")[0].partition(" Raises: ")[0]
                note = f": {told}" if name != "callers" and told else ""
                lines.append(f"- {label} `{symbol}`{note}")
    return "\n".join(lines)


def _defined(kind: str, code: str) -> str:
    """How a constant comes about; its first lines, when it is a table."""
    if kind not in {"constant", "attribute"} or not code:
        return ""
    lines = code.splitlines()
    shown = "\n".join(line[:_LINE] for line in lines[:_LINES])
    more = f"\n... ({len(lines) - _LINES} more lines)" if len(lines) > _LINES else ""
    return f"```python\n{shown}{more}\n```"


def _example(qualname: str, kind: str, sections: dict[str, str]) -> str:
    """A call with the required parameters as placeholders."""
    if kind == "module":
        return ""
    parent, _, name = qualname.rpartition(".")
    facts = sections["facts"]
    call = f"{name}({', '.join(_required(sections))})"
    imported = _IMPORT.search(facts)
    line = imported[1] if imported else f"from {parent} import {name}"
    if kind == "class":
        body = [line, f"{_variable(name)} = {call}"]
    elif kind == "constant":
        body = [line, f"value = {name}"]
    elif kind == "function":
        body = [line, f"result = {call}"]
    else:
        owner = parent.rpartition(".")[2]
        static = {"classmethod", "staticmethod"} & set(_fact(facts, "modifiers").split(", "))
        receiver = owner if static or name.isupper() else _variable(owner)
        read = kind in {"property", "attribute"}
        body = [f"result = {receiver}.{name if read else call}"]
    return "```python\n" + "\n".join(body) + "\n```"


def _variable(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower() or name.lower()
