"""TF-IDF over texts, on identifier-aware tokens, saved without pickle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from indexes import RetrievalError
from indexes.corpus import Corpus, index_folder, indexed_texts
from indexes.pages.words import tokens

_FORMAT = 2  # of the indexed texts and tokens


async def lexical_index(corpus: Corpus) -> TfidfIndex:
    """The lexical index of a corpus, loaded when it fits, else built and stored."""
    async with index_folder(corpus, "tfidf", _FORMAT) as place:
        if place.marked:
            return TfidfIndex.load(place.path)
        texts = indexed_texts(corpus)
        if not any(map(tokens, texts)):
            packages = ", ".join(corpus.manifest.packages)
            raise RetrievalError(f"{packages}: no document holds a word to index")
        index = TfidfIndex.build(texts)
        index.save(place.path)
        place.mark()
        return index


class TfidfIndex:
    """Cosine of TF-IDF vectors with damped term counts."""

    def __init__(self, vectorizer: TfidfVectorizer, matrix: sp.csr_matrix) -> None:
        self._vectorizer = vectorizer
        self._matrix = matrix

    @classmethod
    def build(cls, texts: Sequence[str]) -> TfidfIndex:
        """Index ``texts``, in their order."""
        vectorizer = _vectorizer(None)
        matrix = sp.csr_matrix(vectorizer.fit_transform(texts), dtype=np.float32)
        return cls(vectorizer, matrix)

    @classmethod
    def load(cls, folder: Path) -> TfidfIndex:
        """Read what :meth:`save` wrote."""
        vocabulary = json.loads(
            (folder / "tfidf-vocabulary.json").read_text(encoding="utf-8")
        )
        weights = np.load(folder / "tfidf-idf.npy", allow_pickle=False)
        matrix = sp.load_npz(folder / "tfidf-matrix.npz")
        if len(vocabulary) != len(weights) or matrix.shape[1] != len(weights):
            raise ValueError("vocabulary, weights and matrix do not belong together")
        vectorizer = _vectorizer({term: i for i, term in enumerate(vocabulary)})
        vectorizer.idf_ = weights
        return cls(vectorizer, sp.csr_matrix(matrix))

    def save(self, folder: Path) -> None:
        """Write the index into an existing folder."""
        terms = [str(term) for term in self._vectorizer.get_feature_names_out()]
        (folder / "tfidf-vocabulary.json").write_text(
            json.dumps(terms), encoding="utf-8"
        )
        np.save(folder / "tfidf-idf.npy", self._vectorizer.idf_, allow_pickle=False)
        sp.save_npz(folder / "tfidf-matrix.npz", self._matrix)

    async def scores(self, query: str) -> NDArray[np.float32]:
        """Cosine with every text, shape ``(texts,)``, in [0, 1]."""
        vector = self._vectorizer.transform([query])
        return np.asarray((self._matrix @ vector.T).toarray().ravel(), dtype=np.float32)


def _vectorizer(vocabulary: dict[str, int] | None) -> TfidfVectorizer:
    return TfidfVectorizer(
        analyzer=tokens,
        sublinear_tf=True,
        norm="l2",
        dtype=np.float32,
        vocabulary=vocabulary,
    )
