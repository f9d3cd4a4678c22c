"""Our own trained GPT-J models as an inspect-ai provider: ``whatwhere/number``, ``whatwhere/PATH-OF-A-RUN``.

Such a model reads the tokens of its task and no prose: the sequence is taken from the prompt, and the rest is left
unread. So trained-from-scratch and chat models answer the same multi-hop questions and stand in one table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from whatwhere.studies.chat.prompts import asked_sequence
from whatwhere.studies.chat.reference import replied
from whatwhere.studies.results import task_of
from whatwhere.zoo.load import load


class TrainedModel(ModelAPI):
    """A trained model.

    Args:
        model_name: a shipped model (number, letter), a run directory or a checkpoint file.
        base_url: of no use here.
        api_key: of no use here.
        config: of no use here.
        step: which checkpoint of a run; the last by default.
        model_args: none.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as inspect's own providers; it is not changed)
        step: int | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        del model_args
        self.model = load(model_name, step)
        self.task = task_of(self.model, model_name)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answers the sequence at the end of the prompt with the token that the model finds likeliest."""
        del tools, tool_choice, config
        sequence = asked_sequence(input[-1].text)
        answer = self.model.predict(self.task.encode(sequence)[None])
        return replied(self.model_name, sequence, self.task.decode(np.asarray(answer)))


@modelapi(name="whatwhere")
def trained() -> type[ModelAPI]:
    """The provider ``whatwhere/NAME``."""
    return TrainedModel
