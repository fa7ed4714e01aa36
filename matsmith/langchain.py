"""The documents and the tools for people who build with LangChain.

>>> from matsmith.langchain import DocumentRetriever, tools
>>> retriever = DocumentRetriever(k=3)  # doctest: +SKIP
>>> agent = create_agent(model, tools())  # doctest: +SKIP
"""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import PrivateAttr

from agents.toolbox.box import Toolbox
from matsmith.library import Assistant, Retriever, wait
from sandbox.base import Execution, Mount


class DocumentRetriever(BaseRetriever):
    """Documents of symbols, found as ``settings`` choose (``"retrieval=llm_doc"``).

    Attributes
    ----------
    settings
        Words of the command line; none: what the assistant uses.
    k
        Documents per query.
    """

    settings: tuple[str, ...] = ()
    k: int = 5
    _retriever: Retriever = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings; the first query opens what they describe."""
        super().model_post_init(context)
        self._retriever = Retriever(*self.settings)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 -- LangChain's
    ) -> list[Document]:
        return list(self._retriever.search(query, k=self.k))

    def close(self) -> None:
        """Stop what the first query opened. Idempotent."""
        self._retriever.close()


def tools(*settings: str) -> list[BaseTool]:
    """Search, look-up and execution as LangChain tools, with the schemas that our agents see.

    They share one set of documents and one sandbox, opened by this call and closed when the
    process ends. No model is needed.
    """
    parts = Assistant("model=none", *settings)._opened()
    sandbox, timeout = parts.sandbox, parts.runtime.timeout

    async def run(code: str, entry: str, mounts: list[Mount]) -> Execution:
        return await sandbox.run(code, entry, timeout=timeout, mounts=mounts)

    retriever = parts.runtime.retriever
    box = Toolbox(retriever, run, answers=False)  # type: ignore[arg-type]
    return [_tool(box, schema["function"]) for schema in box.schemas()]


def _tool(box: Toolbox, function: dict[str, Any]) -> BaseTool:
    def call(**arguments: Any) -> str:
        return wait(partial(box.call, function["name"], arguments))

    return StructuredTool(
        name=function["name"],
        description=function["description"],
        args_schema=function["parameters"],
        func=call,
    )
