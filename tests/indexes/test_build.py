from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from indexes.audit import audit, words
from indexes.build import main

SECRET = """wall = build(height=65.0, bond="stretcher", mortar=Mortar(thickness=12.5))
assert abs(wall.volume(courses=7) - 45500.0) < 1e-6 and wall.brick.height == 65.0
assert wall.brick.width == 100.0"""


def document(text: str, identifier: str = "d") -> Document:
    return Document(page_content=text, metadata={"id": identifier})


def test_a_leak_is_found_and_named() -> None:
    corpus = [document("harmless text", "a"), document(f"Example:\n{SECRET}\nend", "leak")]
    (overlap,) = audit(corpus, {"q": SECRET})
    assert overlap.share == 1.0
    assert overlap.documents == ("leak",)
    assert overlap.longest == " ".join(words(SECRET))


def test_ordinary_use_of_the_library_is_not_a_leak() -> None:
    (overlap,) = audit(
        [document("wall.volume(courses=7) gives the volume of a wall")], {"q": SECRET}
    )
    assert overlap.shared == 0
    assert overlap.longest == ""


@given(st.integers(0, 10), st.integers(13, 19))
def test_a_part_of_thirteen_words_is_enough(start: int, size: int) -> None:
    sequence = words(SECRET)
    part = sequence[start : start + size]
    (overlap,) = audit([document("zzz " + " ".join(part) + " zzz")], {"q": SECRET})
    assert overlap.shared == max(0, len(part) - 12)
    assert overlap.longest == (" ".join(part) if len(part) >= 13 else "")


def test_short_secrets_have_nothing_to_share() -> None:
    (overlap,) = audit([document("a b c")], {"q": "a b c"})
    assert (overlap.shared, overlap.total, overlap.share) == (0, 0, 0.0)


@pytest.mark.long
def test_command_builds_everything(
    package: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    common = ["packages=brickwork", f"folder={package}", "embedding=hashing"]
    arguments = ["lexical=tfidf,bm25", "dense=true", "graph=true"]
    assert main([*common, *arguments]) == 0
    printed = capsys.readouterr().out
    for part in ("brickwork-dist 1.2", "tfidf index:", "bm25 index:", "dense index:", "graph:"):
        assert part in printed
    kinds = {
        p.name.rpartition("-")[2] for p in (tmp_path / "cache/indexes").iterdir() if p.is_dir()
    }
    assert {"tfidf", "bm25"} <= kinds
    assert main([*common, "source=live"]) == 0
    assert "documents of brickwork" in capsys.readouterr().out
    assert main([*common, "source=code"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["source=magic"], "source=magic"),
        (["dense=true"], "embedding=openai or embedding=hashing"),
        (["source=llm_doc_semantic"], "embedding=openai or embedding=hashing"),
        (["source=code", "graph=true", "embedding=hashing"], "needs source=llm_doc"),
        (["packages=absent"], "no Python source under"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    package: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    assert main(["packages=brickwork", *arguments, f"folder={package}"]) == 2
    assert message in capsys.readouterr().err
