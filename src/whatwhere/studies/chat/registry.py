"""The names for inspect-ai: ``whatwhere/one_hop_number``, ``one_hop_letter``, ``multi_hop_..``, and our providers.

A task is one block of questions: one size, one run. Its log keeps the reply, both readings of it and the tokens that it
cost, so that scoring can be repeated without asking again.

Our providers answer within this process: ``reference/NAME`` and ``whatwhere/NAME``. Reference solvers are known
mechanisms for comparison. ``reference/perfect`` always follows the rule. ``reference/guess`` names a random token of
the window. ``reference/counter`` is a positional solver: it goes to the right distance d, plus a Gaussian error of
standard deviation ``noise`` * d, rounded; outside the window, it guesses. Its accuracy falls with distance in both
tasks, as for any model that finds places rather than contents. Randomness depends only on the prompt and a seed, so
that a resumed run gives the same result.

``whatwhere/number`` or ``whatwhere/PATH-OF-A-RUN`` is one of our GPT-J models. It reads only the sequence in the
prompt, so it can be compared with chat models in one table.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ContentReasoning, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.tool import ToolChoice, ToolInfo

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.extraction import TOKENS, Verdict, is_single_token, read_answer
from whatwhere.studies.chat.one_hop import asked_sequence, digest, follow, multi_hop_examples, one_hop_examples, prompt
from whatwhere.studies.chat.tables import EXAMPLES, MAX_TOKENS
from whatwhere.studies.subject import TRAINED

VERSION = 1
"""Version of the tasks; it increases when sequences, prompts or scoring change, so that logs are not mixed."""
CUT_OFF = ("max_tokens", "model_length", "content_filter")

observers: list[Callable[[], None]] = []
"""Callbacks after each scored reply, for progress."""
SOLVERS = ("perfect", "guess", "counter")
NOISE = 0.04
_OF_EVERY_PROVIDER = ("base_url", "api_key", "config")


def _task(name: str) -> Callable[..., Task]:
    @task(name=name)
    def made(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
        """One block of questions.

        Args:
            size: tokens of the window, without the query; several hops need 16 or more.
            seed: the number of the run.
            examples: sequences.
            max_tokens: the most tokens of a reply.
        """
        kind, about = name.rsplit("_", 1)
        drawn = (one_hop_examples if kind == "one_hop" else multi_hop_examples)(about, size, seed, examples)
        samples = [
            Sample(id=number, input=prompt(name, one.sequence), target=one.answer, metadata={"distance": one.distance})
            for number, one in enumerate(drawn, start=1)
        ]
        return Task(
            dataset=MemoryDataset(samples),
            solver=generate(),
            scorer=reading(name, max_tokens),
            config=GenerateConfig(max_tokens=max_tokens),
            version=VERSION,
            metadata={"size": size, "seed": seed, "examples": len(drawn), "sequences": digest(drawn)},
        )

    return made


TASKS: dict[str, Callable[..., Task]] = {name: _task(name) for name in TOKENS}


@scorer(metrics={"strict": [mean(), stderr()], "lenient": [mean(), stderr()], "no_answer": [mean()]})
def reading(name: str, max_tokens: int) -> Scorer:
    """Reads each reply strictly and leniently, and keeps its cost.

    A reply of several words with ``max_tokens`` counts as cut off, because ``hf`` does not say why a reply ended.
    """

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output
        cost = _cost(output)
        single = is_single_token(output.completion)
        full = (cost["output_tokens"] or 0) >= max_tokens and not single
        read = read_answer(name, output.completion, truncated=full or output.stop_reason in CUT_OFF)
        strict, lenient = read.verdicts(target.text)
        for observe in observers:
            observe()
        return Score(
            value={
                "strict": strict is Verdict.RIGHT,
                "lenient": lenient is Verdict.RIGHT,
                "no_answer": strict is Verdict.NO_ANSWER,
            },
            answer=read.lenient,
            explanation=output.completion,
            metadata={
                "strict": str(strict),
                "lenient": str(lenient),
                "single_token": single,
                "stop_reason": output.stop_reason,
                **cost,
            },
        )

    return score


def _cost(output: ModelOutput) -> dict[str, int | bool | None]:
    """Tokens of one reply, None where the provider does not say; and whether the model reasoned before it."""
    names = ("input_tokens", "output_tokens", "reasoning_tokens")
    tokens = {name: getattr(output.usage, name, None) for name in names}
    shown = any(isinstance(part, ContentReasoning) for choice in output.choices for part in choice.message.content)
    return {**tokens, "reasoned": bool(tokens["reasoning_tokens"]) or shown}


class _Offline(ModelAPI):
    """Answers the sequence at the end of a prompt with one token."""

    @abstractmethod
    def answer(self, sequence: str) -> str:
        """The answer to one sequence."""

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answers, and reports its usage, because inspect-ai would download a vocabulary to count it."""
        del tools, tool_choice, config
        sequence = asked_sequence(input[-1].text)
        output = ModelOutput.from_content(self.model_name, self.answer(sequence))
        words = len(sequence.split())
        output.usage = ModelUsage(input_tokens=words, output_tokens=1, total_tokens=words + 1, reasoning_tokens=0)
        return output


class ReferenceSolver(_Offline):
    """One of :data:`SOLVERS`; ``noise`` is for ``counter``, ``others`` are inspect-ai's common arguments."""

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


modelapi(name="reference")(ReferenceSolver)


class TrainedModel(_Offline):
    """A shipped model (number, letter), a run directory (its last checkpoint, or that of a step) or a checkpoint."""

    def __init__(self, model_name: str, *, step: int | None = None, **others: Any) -> None:
        super().__init__(model_name, **others)
        self.model = TRAINED.open(model_name, step).item

    def answer(self, sequence: str) -> str:
        """The most likely token."""
        task = self.model.task
        return task.decode(np.asarray(self.model.predict(task.encode(sequence)[None])))


modelapi(name="whatwhere")(TrainedModel)
