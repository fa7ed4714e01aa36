"""``graphrag``: retrieve from a knowledge graph of the package, one prompt.

The graph (LightRAG) is a mode of retrieval; generation and answer contract are those of ``rag``,
so that a comparison of the two compares what the graph retrieves.
"""

from __future__ import annotations

from agents.rag import Rag


class GraphRag(Rag):
    """``rag`` over a graph: whatever source is configured is retrieved from in mode ``graph``."""

    name = "graphrag"
    retrieval_mode = "graph"
