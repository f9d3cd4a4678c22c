"""Models that answer within this process, as inspect-ai providers: ``reference/NAME`` and ``whatwhere/NAME``.

Reference solvers are known mechanisms to read the figure against. ``reference/perfect`` always follows the rule.
``reference/guess`` names a token of the window at random. ``reference/counter`` is a positional solver: it goes to the
right distance d, plus a Gaussian error of standard deviation ``noise`` * d, rounded; if that leaves the window, it
guesses. Its accuracy falls with distance in both tasks, as for any model that finds places rather than contents.
Randomness depends on the prompt and a seed alone, so that a resumed run is the same run.

``whatwhere/number`` or ``whatwhere/PATH-OF-A-RUN`` is a GPT-J model of ours. It reads the tokens of its task and no
prose: the sequence is taken from the prompt, the rest is left unread. So it stands in one table with chat models.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import asked_sequence, follow
from whatwhere.studies.subject import TRAINED

SOLVERS = ("perfect", "guess", "counter")
NOISE = 0.04
_OF_EVERY_PROVIDER = ("base_url", "api_key", "config")


class _Offline(ModelAPI):
    """Answers the sequence at the end of a prompt with one token."""

    @abstractmethod
    def answer(self, sequence: str) -> str:
        """The answer to one sequence."""

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answers; it states its usage itself, because inspect-ai would count with a vocabulary that it downloads."""
        del tools, tool_choice, config
        sequence = asked_sequence(input[-1].text)
        output = ModelOutput.from_content(self.model_name, self.answer(sequence))
        words = len(sequence.split())
        output.usage = ModelUsage(input_tokens=words, output_tokens=1, total_tokens=words + 1, reasoning_tokens=0)
        return output


class ReferenceSolver(_Offline):
    """One of :data:`SOLVERS`.

    Args:
        model_name: which one.
        noise: for ``counter``, the standard deviation of the error at distance 1; 0 is perfect.
        seed: of the randomness.
        others: what inspect-ai gives to every provider.
    """

    def __init__(self, model_name: str, *, noise: float | str = NOISE, seed: int = 0, **others: Any) -> None:
        unknown = next((name for name in others if name not in _OF_EVERY_PROVIDER), None)
        if unknown is not None:
            raise WhatwhereError(f"expected the arguments noise and seed of a reference solver, got {unknown!r}.")
        super().__init__(model_name, **others)
        if model_name not in SOLVERS:
            raise WhatwhereError(f"expected a reference solver of {', '.join(SOLVERS)}, got {model_name!r}.")
        if not isinstance(noise, int | float) or not 0 <= noise < float("inf"):
            raise WhatwhereError(f"expected a noise of 0 or more, got {noise!r}.")
        self.noise, self.seed = noise, seed

    def answer(self, sequence: str) -> str:
        """The solver's answer to one sequence."""
        tokens = sequence.split()
        window = len(tokens) - 1
        digest = hashlib.sha256(f"{self.model_name} {self.seed} {sequence}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        distance = window - follow(sequence)[-1]
        if self.model_name == "counter":
            distance += round(rng.normal(0, self.noise * distance))
        if self.model_name == "guess" or not 1 <= distance <= window:
            distance = rng.integers(1, window + 1)
        return tokens[window - distance]


@modelapi(name="reference")
def reference() -> type[ModelAPI]:
    """The provider ``reference/NAME``."""
    return ReferenceSolver


class TrainedModel(_Offline):
    """A trained model.

    Args:
        model_name: a shipped model (number, letter), a run directory or a checkpoint file.
        step: which checkpoint of a run; the last by default.
        others: what inspect-ai gives to every provider.
    """

    def __init__(self, model_name: str, *, step: int | None = None, **others: Any) -> None:
        super().__init__(model_name, **others)
        self.model = TRAINED.open(model_name, step).item

    def answer(self, sequence: str) -> str:
        """The token that the model finds likeliest."""
        task = self.model.task
        return task.decode(np.asarray(self.model.predict(task.encode(sequence)[None])))


@modelapi(name="whatwhere")
def trained() -> type[ModelAPI]:
    """The provider ``whatwhere/NAME``."""
    return TrainedModel
