"""Documentation without a model: the sections of a prompt, rearranged.

Deterministic. It says what docstring, signature and call graph say and invents nothing; where
the source has no docstring it says so.
"""

from __future__ import annotations

import re
from textwrap import dedent

from docgen.prompts import read_sections

_HEADING = re.compile(
    r"^(Constructor|Args|Arguments|Parameters|Params|Attributes|Returns?|Yields?|Raises|Notes?|"
    r"Examples?|References?|Warnings?|See Also|Keyword Args|Other Parameters):?[ \t]*$",
    re.IGNORECASE,
)
_INLINE = re.compile(r"^(Returns?|Args|Raises|Notes?|Yields?):[ \t]+(\S.*)$")
_SPHINX = re.compile(r"^:(param|type|returns?|rtype|raises?)\s*([^:]*):\s*(.*)$")
_SIGNATURE = re.compile(r"^signature: (.*)$", re.MULTILINE)
_IMPORT = re.compile(r"^import: (.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
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
    """Documentation of the symbol that a documentation prompt shows.

    Raises
    ------
    ValueError
        When ``prompt`` is not a documentation prompt.
    """
    sections = read_sections(prompt)
    if "symbol" not in sections or "facts" not in sections:
        raise ValueError("not a documentation prompt: sections <symbol> and <facts> are missing")
    qualname = sections["symbol"].strip()
    facts = sections["facts"]
    kind = _fact(facts, "kind")
    parts = _docstring_parts(sections.get("docstring", ""))
    out = [("What it does", _summary(qualname, kind, parts))]
    out.append(
        ("Attributes" if kind in {"class", "module"} else "Parameters", parts.get("Parameters", ""))
    )
    out.append(("Returns", parts.get("Returns", "") or _return_type(facts)))
    out.append(("Raises", parts.get("Raises", "") or _fact(facts, "raises")))
    out.append(("Details", parts.get("Details", "") or _defined(kind, sections.get("code", ""))))
    out.append(("Relations", _relations(sections)))
    out.append(("Notes", parts.get("Notes", "")))
    out.append(("Example", parts.get("Example", "") or _example(qualname, kind, facts)))
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


def _return_type(facts: str) -> str:
    signature = _SIGNATURE.search(facts)
    if not signature or " -> " not in signature[1]:
        return ""
    returned = signature[1].rpartition(" -> ")[2]
    return "" if returned == "None" else returned


def _relations(sections: dict[str, str]) -> str:
    lines: list[str] = []
    for name, label in (("bases", "Built on"), ("callees", "Uses"), ("callers", "Used by")):
        for line in sections.get(name, "").splitlines():
            symbol, _, rest = line.partition(" ")
            if symbol == "and":
                lines.append(f"- {line}")
                continue
            summary = rest.rpartition("): ")[2] if "): " in rest else rest.rpartition(": ")[2]
            note = f": {summary}" if name != "callers" and summary and summary != rest else ""
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


def _example(qualname: str, kind: str, facts: str) -> str:
    """A call with the required parameters as placeholders."""
    if kind == "module":
        return ""
    parent, _, name = qualname.rpartition(".")
    signature = _SIGNATURE.search(facts)
    call = f"{name}({', '.join(_required(signature[1] if signature else ''))})"
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


def _required(signature: str) -> list[str]:
    """Names of the parameters without a default, from a signature's text."""
    inner = signature.partition("(")[2]
    names: list[str] = []
    depth, current = 0, ""
    for char in inner + ",":
        depth += (char in "([{") - (char in ")]}")
        if depth < 0 or (char == "," and depth == 0):
            name = current.strip().partition(":")[0]
            if name and "=" not in current and not name.startswith(("*", "/")):
                names.append(name)
            current = ""
            if depth < 0:
                break
        else:
            current += char
    return names
