"""What to ask of a model, and what that will cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.extraction import TOKENS
from whatwhere.studies.chat.one_hop import EXAMPLES, RUNS, SIZES, one_hop_examples
from whatwhere.studies.chat.prompts import prompt
from whatwhere.studies.chat.providers import Provider

QUICK = {"sizes": (16, 32, 100), "runs": (1,), "examples": 40}
"""A quick look: 240 calls of a model instead of 22,000."""
MAX_TOKENS = 32
"""Room for an answer with a few words around it; what is cut off counts as no answer."""
ANSWER_TOKENS = 4
"""Output tokens of a reply, for the estimate: an answer is one to three, and the end of the message is one."""


@dataclass(frozen=True, order=True)
class Cell:
    """One inspect-ai task: one size in one run."""

    task: str
    size: int
    run: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that decides what one model is asked, and how; a plan's results can be told from those of another."""

    provider: Provider
    tasks: tuple[str, ...] = ("one_hop_letter", "one_hop_number")
    sizes: tuple[int, ...] = SIZES
    runs: tuple[int, ...] = RUNS
    examples: int = EXAMPLES
    model_args: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = MAX_TOKENS
    temperature: float = 0.0
    """Greedy by default; inspect-ai leaves it out where a provider does not take it."""
    reasoning: str | None = None
    """The effort asked for; None leaves the choice to the provider."""

    def __post_init__(self) -> None:
        for what, values, known in (
            ("tasks", self.tasks, TOKENS),
            ("sizes", self.sizes, None),
            ("runs", self.runs, None),
        ):
            if not values or len(set(values)) < len(values):
                raise WhatwhereError(f"{what} must be a list without repetitions, and {values} arrived.")
            if known is not None and (unknown := [value for value in values if value not in known]):
                raise WhatwhereError(f"the tasks are {', '.join(known)}, and {unknown[0]!r} arrived.")
        for what, value in (("sizes", min(self.sizes)), ("runs", min(self.runs)), ("examples", self.examples),
                            ("max_tokens", self.max_tokens)):  # fmt: skip
            if value < 1:
                raise WhatwhereError(f"{what} must be 1 or more, and {value} arrived.")

    @property
    def cells(self) -> list[Cell]:
        """Every cell; runs outermost, so that an interrupted measurement has whole runs."""
        return [Cell(task, size, run) for run in self.runs for size in self.sizes for task in self.tasks]

    @property
    def calls(self) -> int:
        """Questions in all."""
        return len(self.cells) * self.examples

    def settings(self) -> dict[str, Any]:
        """What must be the same for results to belong together; sizes and runs may be added later."""
        return {
            "model": self.provider.model,
            "base_url": self.provider.url,
            "model_args": dict(self.model_args),
            "examples": self.examples,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "reasoning": self.reasoning,
        }


@dataclass(frozen=True)
class Estimate:
    """What a plan will take, before a token is spent. Tokens are estimated within some 20 %; see docs/llm.md."""

    calls: int
    input_tokens: int
    output_tokens: int

    def dollars(self, price: tuple[float, float]) -> float:
        """The cost at some price: dollars for a million input and a million output tokens."""
        return (self.input_tokens * price[0] + self.output_tokens * price[1]) / 1e6


def estimate(plan: Plan, answered: Mapping[Cell, int]) -> Estimate:
    """Counts what is left to ask.

    Args:
        plan: what to ask.
        answered: how many questions of a cell have their answer already.
    """
    left = {cell: plan.examples - answered.get(cell, 0) for cell in plan.cells}
    calls = sum(left.values())
    tokens = sum(count * prompt_tokens(cell) for cell, count in left.items() if count)
    return Estimate(calls, tokens, calls * ANSWER_TOKENS)


def prompt_tokens(cell: Cell) -> int:
    """About how many tokens a prompt of a cell has; each word, mark, digit group and letter group counts as one."""
    kind, name = cell.task.rsplit("_", 1)
    example = one_hop_examples(name, cell.size, 0, 1)[0]
    return len(re.findall(r"[A-Za-z]+|\d+|[^\w\s]", prompt(kind, name, example.sequence)))
