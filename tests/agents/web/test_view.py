"""The crystals of an answer in the frame that a notebook shows, in a browser."""

from pathlib import Path

import matsmith
from agents.assistant.answers import Answer
from agents.assistant.files import drawn
from tests.support import chromium

SALT = {
    "cell": [[0, 2.82, 2.82], [2.82, 0, 2.82], [2.82, 2.82, 0]],
    "species": ["Na", "Cl"],
    "fractions": [[0, 0, 0], [0.5, 0.5, 0.5]],
}
HOSTILE = '"></iframe><script>document.title = "out"</script>'


def test_an_answer_without_a_crystal_has_none():
    assert matsmith.view(Answer("?", "answered")) is None


@chromium.needed
def test_the_frame_of_a_notebook(tmp_path: Path):
    figure = drawn(HOSTILE, SALT)
    assert figure is not None
    view = matsmith.view(Answer("?", "answered", figures=(figure,)))
    assert view is not None
    page = tmp_path / "notebook.html"
    page.write_text(f"<title>notebook</title>{view._repr_html_()}", encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(view.page, encoding="utf-8")
    with chromium.browser(tmp_path / "profile", "--enable-unsafe-swiftshader") as tab:
        tab.open(page.as_uri())
        assert tab.evaluate("document.title") == "notebook"
        # Its own origin: the notebook cannot be reached from the frame, nor it from the notebook.
        assert tab.evaluate("document.querySelector('iframe').contentDocument") is None
        tab.open(frame.as_uri())
        tab.wait("document.querySelectorAll('div.drawn canvas').length === 1")
        legend = "document.querySelector('.legend').textContent"
        assert tab.evaluate(legend) == "Na 4Cl 4"
        assert tab.complaints() == []
