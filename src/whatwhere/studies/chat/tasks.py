"""The benchmark as inspect-ai tasks: ``whatwhere/one_hop_number``, ``whatwhere/one_hop_letter``, and of several hops.

A task is one cell of the table: one size, one run. Its log keeps the reply, both readings of it and the tokens that it
cost, so that scoring can be repeated without asking again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ContentReasoning, GenerateConfig, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.extraction import Verdict, is_single_token, read_answer
from whatwhere.studies.chat.one_hop import EXAMPLES, Example, digest, one_hop_examples
from whatwhere.studies.chat.plan import MAX_TOKENS
from whatwhere.studies.chat.prompts import prompt
from whatwhere.tasks import make_task

VERSION = 1
"""Of the tasks; raised whenever sequences, prompts or scoring change, so that old and new logs are not mixed."""
CUT_OFF = ("max_tokens", "model_length", "content_filter")

observers: list[Callable[[], None]] = []
"""Called after each scored reply; a running benchmark counts its progress with it."""


@task
def one_hop_number(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
    """The paper's one-hop number task: count back as many places as the last token says.

    Args:
        size: tokens of the window, without the query.
        seed: the number of the run.
        examples: sequences.
        max_tokens: room for a reply.
    """
    return _task("one_hop", "number", size, seed, one_hop_examples("number", size, seed, examples), max_tokens)


@task
def one_hop_letter(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
    """The paper's one-hop letter task: find the token that begins with the second letter of the last one.

    Args:
        size: tokens of the window, without the query.
        seed: the number of the run.
        examples: sequences.
        max_tokens: room for a reply.
    """
    return _task("one_hop", "letter", size, seed, one_hop_examples("letter", size, seed, examples), max_tokens)


@task
def multi_hop_number(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
    """The number task of Section 2.1 with one to four hops, in words for a chat model and in tokens for ours.

    Args:
        size: tokens before the query; from 16, where the paper trains.
        seed: the number of the run.
        examples: sequences, in equal numbers for each hop count.
        max_tokens: room for a reply.
    """
    return _task("multi_hop", "number", size, seed, multi_hop_examples("number", size, seed, examples), max_tokens)


@task
def multi_hop_letter(size: int = 16, seed: int = 1, examples: int = EXAMPLES, max_tokens: int = MAX_TOKENS) -> Task:
    """The letter task of Section 2.1 with one to four hops, in words for a chat model and in tokens for ours.

    Args:
        size: tokens before the query; from 16, where the paper trains.
        seed: the number of the run.
        examples: sequences, in equal numbers for each hop count.
        max_tokens: room for a reply.
    """
    return _task("multi_hop", "letter", size, seed, multi_hop_examples("letter", size, seed, examples), max_tokens)


TASKS: dict[str, Callable[..., Task]] = {
    made.__name__: made for made in (one_hop_number, one_hop_letter, multi_hop_number, multi_hop_letter)
}


def multi_hop_examples(name: str, size: int, seed: int, count: int) -> list[Example]:
    """Sequences of the multi-hop tasks as text; longer ones have extra target tokens, as in Section 3.6.

    Raises:
        WhatwhereError: the size is below that of the task.
    """
    made = make_task(name)
    if size < made.length - 1:
        raise WhatwhereError(
            f"the multi-hop {name} task has {made.length - 1} tokens before the query or more, and size {size} arrived."
        )
    batch = made.sample(count, seed=seed, extra_target=size - (made.length - 1))
    return [
        Example(made.decode(tokens), made.decode(answer[None]), int(size - path[hops]))
        for tokens, answer, path, hops in zip(batch.tokens, batch.answers, batch.paths, batch.hops, strict=True)
    ]


def _task(kind: str, name: str, size: int, seed: int, examples: Sequence[Example], max_tokens: int) -> Task:
    samples = [
        Sample(
            id=number,
            input=prompt(kind, name, example.sequence),
            target=example.answer,
            metadata={"distance": example.distance},
        )
        for number, example in enumerate(examples, start=1)
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=reading(f"{kind}_{name}", max_tokens),
        config=GenerateConfig(max_tokens=max_tokens),
        version=VERSION,
        metadata={"size": size, "seed": seed, "examples": len(examples), "sequences": digest(examples)},
    )


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
    usage = output.usage
    thought = usage.reasoning_tokens if usage else None
    shown = any(
        isinstance(part, ContentReasoning)
        for choice in output.choices
        if isinstance(choice.message.content, list)
        for part in choice.message.content
    )
    return {
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "reasoning_tokens": thought,
        "reasoned": bool(thought) or shown,
    }
