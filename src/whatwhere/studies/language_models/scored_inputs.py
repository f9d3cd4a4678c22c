"""The inputs on which heads are scored (sequences of a task, or windows of texts), and the choice of heads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.passages import names_of
from whatwhere.studies.language_models.tables import (
    TASK_INPUTS,
    TASK_QUERIES,
    TEXT_QUERIES,
    TEXT_WINDOWS,
    HeadsSettings,
)
from whatwhere.studies.language_models.token_windows import cut_windows, query_positions, require_text_model, spell
from whatwhere.tasks import make_task
from whatwhere.trace.own import OwnModel
from whatwhere.trace.traceable import Traceable

_QUARTERS = 4


@dataclass(frozen=True, eq=False)
class ScoredInputs:
    """Inputs of one kind, with what is known about them."""

    ids: Int[Tensor, "input seq"]
    queries: list[int]
    """Positions from 0."""
    vocabulary: int
    """The number of token ids."""
    source: str
    """The task, or the names of the texts."""
    is_text: bool
    begins: str
    """What stands before the text in each window."""
    windows: Mapping[str, Sequence[int]]
    """Names and positions of the windows within which keys may be swapped."""
    spell: Callable[[Sequence[int]], list[str]]
    """From the ids of an input to the text of each token."""


def inputs_of(model: Traceable, settings: HeadsSettings) -> ScoredInputs:
    """Inputs for a model.

    Raises:
        WhatwhereError: a model of ours has no task or got a text, a language model got no text or has no tokenizer, or
            the text does not serve.
    """
    return _of_task(model, settings) if isinstance(model, OwnModel) else _of_text(model, settings)


def _of_task(model: OwnModel, settings: HeadsSettings) -> ScoredInputs:
    for name in ("text", "template"):
        if getattr(settings, name):
            raise WhatwhereError(
                f"expected no {name} for a model of whatwhere, which knows its task's tokens only; leave {name} out."
            )
    task = model.model.task if settings.task is None else make_task(settings.task)
    if task is None:
        raise WhatwhereError(
            "expected a model that says which task it was trained on, got one that does not; name the task with --task "
            "number or --task letter."
        )
    batch = task.sample(TASK_INPUTS if settings.inputs is None else settings.inputs, seed=settings.seed)
    ids = torch.as_tensor(batch.tokens, dtype=torch.long)
    return ScoredInputs(
        ids=ids,
        queries=query_positions(settings.queries or TASK_QUERIES, ids.shape[1]),
        vocabulary=task.vocab_size,
        source=f"the {task.name} task",
        is_text=False,
        begins="",
        windows=task.windows,
        spell=lambda row: [task.decode(token) for token in row],
    )


def _of_text(model: Traceable, settings: HeadsSettings) -> ScoredInputs:
    name = Path(model.name).name
    for option, given in (("task", settings.task is not None), ("level tokens", settings.level == "tokens")):
        if given:
            raise WhatwhereError(f"expected {option} for a model of whatwhere only, got it for {name}; leave it out.")
    rotary = require_text_model(model, settings)
    cut = cut_windows(
        settings.passages, rotary.tokenizer, tokens=settings.window,
        windows=TEXT_WINDOWS if settings.inputs is None else settings.inputs, template=settings.template,
    )  # fmt: skip
    seq = cut.ids.shape[1]
    quarters = torch.arange(seq).tensor_split(_QUARTERS)
    return ScoredInputs(
        ids=cut.ids,
        queries=query_positions(settings.queries or TEXT_QUERIES, seq),
        vocabulary=int(rotary.config.vocab_size),
        source=names_of(settings.passages),
        is_text=True,
        begins=cut.begins,
        windows={f"{part[0]}-{part[-1]}": part.tolist() for part in quarters if len(part)},
        spell=lambda row: spell(rotary.tokenizer, row),
    )


def choose_heads(
    only: str | None, depth: int, heads: int, attending: Sequence[int] | None = None
) -> dict[int, list[int]]:
    """Heads by layer, from a list such as ``3,5.2,7-9``; by default those of all layers that attend."""
    every = list(range(heads))
    if only is None:
        return dict.fromkeys(range(depth) if attending is None else attending, every)
    chosen: dict[int, set[int]] = {}
    for item in only.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})|\.(\d{1,9}))?", item.strip(), re.ASCII)
        if match is None:
            raise WhatwhereError(f"expected layers and heads as 3,5.2,7-9, got {item.strip()!r:.80}.")
        first, last, head = match.groups()
        layers = range(int(first), int(last or first) + 1)
        if not layers:
            raise WhatwhereError(f"expected layers from the lower to the higher, got {item.strip()!r}.")
        if layers[-1] >= depth:
            raise WhatwhereError(f"expected a layer from 0 to {depth - 1}, got {layers[-1]}.")
        if head is not None and int(head) >= heads:
            raise WhatwhereError(f"expected a head of layer {first} from 0 to {heads - 1}, got {head}.")
        for layer in layers:
            chosen.setdefault(layer, set()).update(every if head is None else [int(head)])
    return {layer: sorted(some) for layer, some in sorted(chosen.items())}
