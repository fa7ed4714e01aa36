"""A turn as a script or a notebook that runs again without matsmith."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from agents.assistant.answers import Answer
from sandbox.command import UsageError
from sandbox.terminal import printable


def write(answer: Answer, path: Path) -> None:
    """Write a turn: a notebook where the name ends in ``.ipynb``, else a script.

    Raises
    ------
    UsageError
        When it has no code, or its place does not exist.
    """
    if answer.code is None:
        raise UsageError("this turn has no code to save")
    text = notebook(answer) if path.suffix == ".ipynb" else script(answer)
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def script(answer: Answer) -> str:
    """A script with the question, what it returned, and its versions for ``uv run``."""
    return "\n".join(
        [
            *_commented(_about(answer)),
            "",
            str(answer.code).strip("\n"),
            "",
            "",
            'if __name__ == "__main__":',
            "    import os",
            "    import pprint",
            "",
            '    os.makedirs("out", exist_ok=True)',
            f"    pprint.pprint({answer.entry}())",
            "",
            *_metadata(answer),
            "",
        ]
    )


def _about(answer: Answer) -> list[str]:
    said = ["Question:", *_lines(answer.question, "  ")]
    if answer.inputs:
        said.append("Input files, expected in the working directory:")
        said += [f"  {f.name}  sha256 {f.sha256}  (was {f.path})" for f in answer.inputs]
    said.append("Returned when it was answered:")
    for value in answer.values:
        unit = f" {value.unit}" if value.unit else ""
        said += _lines(f"{value.name}: {value.text}{unit}", "  ")
    said += [f"Note: {note}" for note in answer.notes]
    said.append(f"Model: {answer.model}. Versions: at the end of this file.")
    return said


def _lines(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" for line in printable(text).splitlines()]


def _commented(lines: list[str]) -> list[str]:
    return [f"# {part}".rstrip() for line in lines for part in (line.splitlines() or [""])]


def _metadata(answer: Answer) -> list[str]:
    """Inline script metadata (PEP 723): every package as it was installed."""
    pinned = [
        f'#   "{name}=={version}",'
        for name, version in sorted(answer.versions.items())
        if version and all(sign.isalnum() or sign in "._+!-" for sign in f"{name}{version}")
    ]
    return [
        f"# sha256 of the lock file: {answer.lock}",
        "# /// script",
        '# requires-python = ">=3.11"',
        "# dependencies = [",
        *pinned,
        "# ]",
        "# ///",
    ]


def notebook(answer: Answer) -> str:
    """A notebook (format 4) with the question, the code, and what it returned as its output."""
    pictures = [
        {"output_type": "display_data", "metadata": {},
         "data": {f.mime: base64.b64encode(f.data).decode(), "text/plain": [f.name]}}
        for f in answer.files if f.mime in {"image/png", "image/jpeg"}
    ]  # fmt: skip
    returned: dict[str, Any] = {
        "output_type": "execute_result",
        "execution_count": 2,
        "metadata": {},
        "data": {"text/plain": _source(answer.returned)},
    }
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": _source(_quoted(answer))},
        _code('import os\n\nos.makedirs("out", exist_ok=True)\n\n' + str(answer.code), 1, []),
        _code(f"{answer.entry}()", 2, [returned, *pictures]),
        {"cell_type": "raw", "metadata": {}, "source": _source("\n".join(_metadata(answer)))},
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"matsmith-{number}"
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def _quoted(answer: Answer) -> str:
    """The head of a notebook; indented, so that nothing in it is markup."""
    return "\n".join(f"    {line}" for line in _about(answer))


def _code(text: str, count: int, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": count,
        "metadata": {},
        "outputs": outputs,
        "source": _source(text),
    }


def _source(text: str) -> list[str]:
    return text.encode("utf-8", "backslashreplace").decode().splitlines(keepends=True)
