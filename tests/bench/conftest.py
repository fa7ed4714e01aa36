from tests.retrieval.conftest import package

__all__ = ["package"]
