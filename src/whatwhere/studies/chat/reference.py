"""Offline reference solvers as inspect-ai models: known mechanisms to read the figure against.

``reference/perfect`` always follows the rule. ``reference/guess`` names a token of the window at random. And
``reference/counter`` is a positional solver: it goes to the right distance d, plus a Gaussian error of standard
deviation ``noise`` * d, rounded; if that leaves the window, it guesses. Its accuracy falls with distance in both tasks,
as that of a model would that finds places rather than contents. Randomness depends on the prompt and a seed alone, so
that a resumed run is the same run.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import follow
from whatwhere.studies.chat.prompts import asked_sequence

SOLVERS = ("perfect", "guess", "counter")
NOISE = 0.04


class ReferenceSolver(ModelAPI):
    """One of :data:`SOLVERS`.

    Args:
        model_name: which one.
        base_url: of no use here.
        api_key: of no use here.
        config: of no use here.
        noise: for ``counter``, the standard deviation of the error at distance 1; 0 is perfect.
        seed: of the randomness.
        model_args: none.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as inspect's own providers; it is not changed)
        noise: float = NOISE,
        seed: int = 0,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in SOLVERS:
            raise WhatwhereError(f"the reference solver must be one of {', '.join(SOLVERS)}; {model_name!r} arrived.")
        if model_args:
            raise WhatwhereError(f"reference solvers have the arguments noise and seed, and {[*model_args]} arrived.")
        if noise < 0:
            raise WhatwhereError(f"noise must be 0 or more, and {noise} arrived.")
        self.noise = noise
        self.seed = seed

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answers the sequence at the end of the prompt."""
        del tools, tool_choice, config
        sequence = asked_sequence(input[-1].text)
        return replied(self.model_name, sequence, self.answer(sequence))

    def answer(self, sequence: str) -> str:
        """The solver's answer to one sequence."""
        tokens = sequence.split()
        window = len(tokens) - 1
        rng = self._random(sequence)
        distance = window - follow(sequence)[-1]
        if self.model_name == "counter":
            distance += round(rng.normal(0, self.noise * distance))
        if self.model_name == "guess" or not 1 <= distance <= window:
            distance = rng.integers(1, window + 1)
        return tokens[window - distance]

    def _random(self, sequence: str) -> np.random.Generator:
        digest = hashlib.sha256(f"{self.model_name} {self.seed} {sequence}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))


@modelapi(name="reference")
def reference() -> type[ModelAPI]:
    """The provider ``reference/NAME``."""
    return ReferenceSolver


def replied(model: str, sequence: str, answer: str) -> ModelOutput:
    """A reply of one token. It states its usage itself; inspect would count with a vocabulary that it downloads."""
    output = ModelOutput.from_content(model, answer)
    words = len(sequence.split())
    output.usage = ModelUsage(input_tokens=words, output_tokens=1, total_tokens=words + 1, reasoning_tokens=0)
    return output
