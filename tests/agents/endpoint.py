"""A scripted OpenAI-compatible endpoint on loopback, for commands that run as processes."""

from __future__ import annotations

import json

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response


def scripted(server: HTTPServer, *texts: str) -> list[str]:
    """Reply with the texts in order, the last one for ever; returns the prompts that came."""
    prompts: list[str] = []

    def handler(request: Request) -> Response:
        sent = json.loads(request.get_data())
        prompts.append("\n".join(str(message["content"]) for message in sent["messages"]))
        message = {"role": "assistant", "content": texts[min(len(prompts), len(texts)) - 1]}
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
        return Response(json.dumps(body), content_type="application/json")

    server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(handler)
    return prompts
