"""A plug-in: a system, a benchmark and a source of documents."""

from dataclasses import dataclass
from pathlib import Path

from langchain_core.documents import Document

from matsmith.extend import System, Task, json_samples


@dataclass
class Stubborn(System):
    """Reads a document and gives one reply to everything.

    Parameters
    ----------
    letter
        The reply.
    """

    name = "stubborn"
    writes_code = False
    executes = False
    llm = False

    letter: str = "A"

    async def _steps(self, episode):
        await episode.retrieve(episode.question.query, 1)
        episode.reply = f"<answer>{self.letter}</answer>"
        return "answered" if episode.read() else "format_error"


class Ledger:
    """Notes about stones.

    Parameters
    ----------
    pages
        How many of them.
    """

    def __init__(self, *, pages: int = 1) -> None:
        self.pages = pages

    def __call__(self, packages, folder):
        return [
            Document(f"Page {n}: gabbro is a rock.") for n in range(1, self.pages + 1)
        ]


def stones(path: Path = Path(__file__).with_name("stones.jsonl")) -> Task:
    return Task(json_samples(path))
