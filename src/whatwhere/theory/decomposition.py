"""Section 3.2: both tasks are one function per hop, and then Reflexive for the layers that remain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import index, reflexive, retrieval
from whatwhere.tasks.task import Task
from whatwhere.theory.check import Check

LAYERS = 12
"""Of the paper's models."""


def number_decomposition(inputs: int = 10_000) -> Check:
    """f_Num = Reflexive^(l-h) Index^h, at the last token."""
    task = NumberTask()
    return _decomposes(task, lambda tokens: index(tokens, task.whole), "Index", inputs)


def letter_decomposition(inputs: int = 10_000) -> Check:
    """f_Let = Reflexive^(l-h) Retrieval^h, at the last token."""
    task = LetterTask()
    return _decomposes(task, lambda tokens: retrieval(tokens, task.whole), "Retrieval", inputs)


def _decomposes(task: Task, function: Callable[[np.ndarray], np.ndarray], name: str, inputs: int) -> Check:
    """An input counts as an error if h applications do not give its answer, or if one fewer already does."""
    batch = task.sample(inputs, seed=0)
    tokens, errors = batch.tokens, np.zeros(inputs, dtype=bool)
    for layer in range(LAYERS):
        right = tokens[:, -1] == batch.answers
        errors |= np.where(batch.hops <= layer, ~right, (batch.hops == layer + 1) & right)
        tokens = function(tokens) if layer < task.max_hops else reflexive(tokens)
    errors |= tokens[:, -1] != batch.answers
    claim = f"{name} once per hop, then Reflexive to layer {LAYERS}, gives the answers of the {task.name} task"
    return Check(claim, inputs, int(errors.sum()), "one application fewer never does")
