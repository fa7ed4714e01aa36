"""``rag``: retrieve with the question, one prompt; ``graphrag``: the same from a knowledge graph.

The graph (LightRAG) is a mode of retrieval, so that a comparison of the two compares what the graph
retrieves.
"""

from __future__ import annotations

from agents import prompts
from agents.base import StopReason
from agents.episode import Episode, Retrieving


class Rag(Retrieving):
    """Single retrieval-augmented generation."""

    name = "rag"
    writes_code = False  # answers in whatever form a question wants
    executes = False
    reads_files = False

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        documents = await episode.retrieve(question.query, self.documents)
        return await episode.conclude(prompts.request_answer(question, documents))


class GraphRag(Rag):
    """``rag`` over a graph: whatever source is configured is retrieved from in mode ``graph``."""

    name = "graphrag"
    retrieval_mode = "graph"
