"""What inspect-ai finds by name: ``whatwhere/one_hop_number``, ``one_hop_letter``, ``multi_hop_..``, and our providers.

A task is one block of questions: one size, one run. Its log keeps the reply, both readings of it and the tokens that it
cost, so that scoring can be repeated without asking again.
"""

from __future__ import annotations

from collections.abc import Callable

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ContentReasoning, GenerateConfig, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from whatwhere.studies.chat.extraction import TOKENS, Verdict, is_single_token, read_answer
from whatwhere.studies.chat.offline import reference, trained
from whatwhere.studies.chat.one_hop import digest, multi_hop_examples, one_hop_examples, prompt
from whatwhere.studies.chat.tables import EXAMPLES, MAX_TOKENS

__all__ = ["TASKS", "reference", "trained"]

VERSION = 1
"""Of the tasks; raised whenever sequences, prompts or scoring change, so that old and new logs are not mixed."""
CUT_OFF = ("max_tokens", "model_length", "content_filter")

observers: list[Callable[[], None]] = []
"""Called after each scored reply; a running benchmark counts its progress with it."""


def _task(name: str) -> Callable[..., Task]:
    @task(name=name)
    def made(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
        """One block of questions.

        Args:
            size: tokens of the window, without the query; several hops need 16 or more.
            seed: the number of the run.
            examples: sequences.
            max_tokens: room for a reply.
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
    """Reads each reply strictly and leniently, and keeps what it cost.

    Args:
        name: the task, one of :data:`whatwhere.studies.chat.extraction.TOKENS`.
        max_tokens: the room that a reply has. One of several words that fills it counts as cut off, because ``hf``
            does not say why a reply ended.
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
