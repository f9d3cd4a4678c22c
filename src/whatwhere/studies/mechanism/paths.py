"""Any text as an input, and inputs that differ in one hop."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task


def as_batch(task: Task, tokens: Int[np.ndarray, "seq"]) -> Batch:
    """One sequence with its answer and path.

    Raises:
        WhatwhereError: it has no answer, or no hop to follow.
    """
    if len(tokens) == 0:
        raise WhatwhereError("expected an input of at least two tokens, got an empty one.")
    if not task.vocabulary.points(tokens[-1:])[0]:
        raise WhatwhereError(
            f"expected an input whose last token points, got {task.decode(tokens[-1:])!r} at its end; the path starts "
            f"there, so end it with {task.vocabulary.pointer}."
        )
    answers = task.solve(tokens[None])
    paths, _ = task.follow(tokens[None])
    return Batch(tokens[None].astype(np.int32), answers, _hops(paths), paths)


def change_one_hop(task: Task, batch: Batch, hop: int, seed: int = 0) -> tuple[Batch, Batch]:
    """Pairs of inputs that differ in one token: the pointer of one hop, so that the answer changes.

    A change that keeps the hop count, so that both inputs ask for the same work, is preferred; an alphabet of 8 letters
    often has none, and then the count may change within the task's classes. Inputs that allow neither are left out.

    Hops count from 1: the pointer at p_(hop-1) is exchanged. One more than the hops of the batch: the answer itself is
    exchanged, and the path stays. The seed is that of the choice among the tokens that serve.

    Returns:
        The inputs for which there is a change, and the changed inputs.
    """
    rows = np.arange(len(batch))
    position = batch.paths[:, hop - 1]
    if of_answer := hop > int(batch.hops.min()):
        options = np.repeat(task.answer_ids.astype(np.int32)[:, None], len(batch), 1)  # [option, n]
    else:
        options = task.vocabulary.alternatives(batch.tokens[rows, position])
    liking = np.zeros(options.shape)  # 0: does not serve, 1: another hop count, 2: the same
    for option, token in enumerate(options):
        tokens = batch.tokens.copy()
        tokens[rows, position] = token
        paths, answered = task.follow(tokens)
        hops = _hops(paths)
        answers = tokens[rows, np.take_along_axis(paths, hops[:, None], 1)[:, 0]]
        serves = answered & (answers != batch.answers) & (hops <= task.max_hops)
        if of_answer:
            serves &= (hops == batch.hops) & (np.take_along_axis(paths, hops[:, None], 1)[:, 0] == position)
        liking[option] = np.where(serves, 1 + (hops == batch.hops), 0)
    (some,) = np.nonzero(liking.max(0) > 0)
    chosen = (liking + np.random.default_rng(seed).random(liking.shape)).argmax(0)
    tokens = batch.tokens.copy()
    tokens[rows, position] = options[chosen, rows]
    tokens = tokens[some]
    paths, _ = task.follow(tokens)
    return batch[some], Batch(tokens, task.solve(tokens), _hops(paths), paths)


def _hops(paths: Int[np.ndarray, "n visited"]) -> Int32[np.ndarray, "n"]:
    return (paths >= 0).sum(1, dtype=np.int32) - np.int32(1)
