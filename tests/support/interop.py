"""A model of inspect_ai whose replies are written in a test; needs the extra ``interop``."""

from inspect_ai.model import Model, ModelAPI, ModelOutput, get_model, modelapi


@modelapi(name="said")
class Said(ModelAPI):
    """Replies by a word that stands in the question."""

    def __init__(
        self, model_name, base_url=None, api_key=None, config=None, replies=None
    ):
        super().__init__(model_name, base_url, api_key)
        self.replies = replies

    async def generate(self, input, tools, tool_choice, config):  # noqa: A002
        asked = next(message.text for message in input if message.role == "user")
        text = next(reply for word, reply in self.replies.items() if word in asked)
        return ModelOutput.from_content(self.model_name, text)

    async def count_text_tokens(self, text):
        return len(text) // 4  # the default fetches a tokenizer


def said(replies) -> Model:
    return get_model("said/model", replies=dict(replies), memoize=False)
