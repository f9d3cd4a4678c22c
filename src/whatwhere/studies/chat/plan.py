"""The questions for a model, and their estimated cost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.manifest import fingerprint
from whatwhere.studies.chat.logs import Block, read_logs
from whatwhere.studies.chat.one_hop import MULTI_HOP, prompt
from whatwhere.studies.chat.providers import PAPER, Provider
from whatwhere.studies.chat.redaction import check_arguments, check_kept, secrets, without
from whatwhere.studies.chat.tables import ChatSettings
from whatwhere.studies.results import Results
from whatwhere.studies.study import Cost
from whatwhere.studies.subject import TRAINED

LOGS = "logs"
"""The folder of the logs, beside the tables."""
ANSWER_TOKENS = 4
"""Output tokens of a reply, for the estimate: an answer is one to three, and the end of the message is one."""
BASE_SIZE = 16
"""The size at which the paper's screening tests whether a model can do the task at all."""
LONG = 100
"""From this size on the screening requires single-token replies."""


@dataclass(frozen=True)
class Plan:
    """The model, the tasks and the settings of the questions."""

    provider: Provider
    tasks: tuple[str, ...]
    arguments: Mapping[str, Any]
    """Of the provider; environment variables by their names."""
    settings: ChatSettings

    @property
    def blocks(self) -> list[Block]:
        """Every block; runs outermost, so that an interrupted measurement has complete runs."""
        settings = self.settings
        return [
            Block(task, size, run)
            for run in settings.runs
            for size in settings.sizes
            for task in self.tasks
            if size >= smallest(task)
        ]

    @property
    def screening(self) -> list[Block]:
        """What decides the screening: letters at the base size, and the shortest long size, in one run."""
        long = sorted(size for size in self.settings.sizes if size >= LONG)[:1]
        return [
            block
            for block in self.blocks
            if block.run == min(self.settings.runs)
            and ((block.task, block.size) == ("one_hop_letter", BASE_SIZE) or block.size in long)
        ]

    @property
    def effort(self) -> str | None:
        """The requested reasoning effort."""
        return self.provider.effort(self.settings.reasoning)

    @property
    def temperature(self) -> float | None:
        """Of sampling, unless greedy decoding is an argument of the model."""
        chosen = self.settings.temperature
        return None if self.provider.greedy_by_argument and chosen == 0 else chosen

    @property
    def folder(self) -> str:
        """The folder of its logs: plans that differ only in sizes, runs or tasks share it."""
        settings = self.settings
        return fingerprint(
            [self.provider.model, self.provider.url, self.arguments, self.effort, settings.examples,
             settings.temperature, settings.max_tokens]
        )  # fmt: skip


def make_plan(model: str, settings: ChatSettings) -> Plan:
    """The plan for a model; the default task of our own models is the one that they were trained on.

    Raises:
        WhatwhereError: there is nothing to ask, or an API key would be stored with the results.
    """
    check_kept(model, settings.base_url or "")
    check_arguments(arguments := _arguments(settings.model_args))
    provider = Provider(model, settings.base_url)
    tasks = settings.task_names
    if tasks is None and provider.name == "whatwhere":
        tasks = (f"multi_hop_{TRAINED.open(provider.rest).item.task.name}",)
    plan = Plan(provider, tasks or ("one_hop_letter", "one_hop_number"), arguments, settings)
    if not plan.blocks:
        least = min(map(smallest, plan.tasks))
        raise WhatwhereError(f"expected a size of {least} or more for {plan.tasks[0]}, got {max(settings.sizes)}.")
    return plan


def smallest(task: str) -> int:
    """The smallest window that a task has."""
    kind, name = task.rsplit("_", 1)
    return 1 if kind == "one_hop" else MULTI_HOP[name].length - 1


def _arguments(text: str) -> dict[str, Any]:
    """KEY=VALUE words, whose values may be JSON without spaces; or one JSON object."""
    if text.lstrip().startswith("{"):
        made = _json(text)
        if not isinstance(made, dict):
            raise WhatwhereError("expected model arguments as KEY=VALUE words or one JSON object, got broken JSON.")
        return made
    pairs = [word.partition("=") for word in text.split()]
    bad = next(("".join(pair) for pair in pairs if not all(pair[:2])), None)
    if bad is not None:
        raise WhatwhereError(
            f"expected model arguments as KEY=VALUE, such as noise=0.1, got {without(bad, secrets())!r:.80}."
        )
    return {name: _json(value) for name, _, value in pairs}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return text


def cost(subject: str | Path, settings: ChatSettings, results: Results) -> Cost:
    """The estimated cost of the remaining questions; tokens are right within about 20 % (docs/chat.md)."""
    if isinstance(subject, Path) or subject == PAPER:
        return Cost(f"{subject}: nothing is asked, its numbers are there", {"calls": 0}, paid=False)
    plan = make_plan(subject, settings)
    plan.provider.check_known()
    logs = [] if results.manifest is None else read_logs([results.directory / LOGS / plan.folder])
    there = {log.block: len(log.samples) for log in logs}
    left = {block: max(0, settings.examples - there.get(block, 0)) for block in plan.blocks}
    calls = sum(left.values())
    done = len(plan.blocks) * settings.examples - calls
    read = sum(count * prompt_tokens(block) for block, count in left.items())
    written = calls * ANSWER_TOKENS
    text = (
        f"{subject}: {calls:,} calls{f' ({done:,} answered already)' if done else ''}, about {read:,} input and "
        f"{written:,} output tokens"
    )
    numbers: dict[str, float] = {"calls": calls, "input_tokens": read, "output_tokens": written}
    if settings.input_price is not None and settings.output_price is not None:
        numbers["dollars"] = (read * settings.input_price + written * settings.output_price) / 1e6
        text += f", about ${numbers['dollars']:,.2f}"
    elif plan.provider.paid:
        text += "; --input-price and --output-price (dollars per million tokens) give the cost"
    if plan.effort not in (None, "none"):
        text += f"; reasoning effort {plan.effort}: the paper measured with reasoning off"
    return Cost(text, numbers, paid=plan.provider.paid and calls > 0)


def prompt_tokens(block: Block) -> int:
    """Estimated tokens of a prompt: each word, mark, digit group and letter group counts as one."""
    words = len(re.findall(r"[A-Za-z]+|\d+|[^\w\s]", prompt(block.task, "")))
    return words + block.size * (2 if block.task.endswith("letter") else 1) + 1
