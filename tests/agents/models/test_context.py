"""A prompt beyond the model's window is a wrong answer, not a failed endpoint."""

from itertools import cycle

import pytest

from agents.models import ContextError, Message, ModelError, build_model
from tests.support.endpoint import Endpoint, config, status
from tests.support.samples import table

ASKED = [Message("user", "word " * 2000)]
SAYINGS = table("too_long")


@pytest.mark.parametrize(("saying", "code"), list(zip(SAYINGS, cycle([400, 413, 422]))))
async def test_what_endpoints_say_about_a_prompt_that_is_too_long(
    httpserver, saying, code
):
    model = build_model(config(Endpoint(httpserver).play(status(code, saying))))
    with pytest.raises(ContextError, match=saying.split(":", maxsplit=1)[0][:20]):
        await model.ask(ASKED, sample="0")


@pytest.mark.parametrize(
    ("saying", "code"),
    [
        (
            "'max_tokens' is too large: 90000. This model's maximum context length is 8192 tokens",
            400,
        ),
        ("the context is fine, the image is not", 400),
        ("Invalid value for 'temperature'", 400),
        ("Request too large: maximum context length in a minute", 429),  # no window
    ],
)
async def test_other_errors_are_still_failures(httpserver, saying, code):
    model = build_model(config(Endpoint(httpserver).play(status(code, saying))))
    with pytest.raises(ModelError) as caught:
        await model.ask(ASKED, sample="0")
    assert not isinstance(caught.value, ContextError)


async def test_beyond_the_configured_window_nothing_is_sent(httpserver):
    endpoint = Endpoint(httpserver)
    model = build_model(config(endpoint, context_tokens=1000))
    with pytest.raises(ContextError, match=r"model\.context_tokens=1000"):
        await model.ask(ASKED, sample="0")
    assert endpoint.bodies == []
    assert (await model.ask([Message("user", "short")], sample="0")).text == "hi"
