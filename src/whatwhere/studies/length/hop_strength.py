"""The discrepancy of trained heads: by how much the right key leads, and the attention left on it (Section 3.5).

A path visits p_0 > p_1 > .. > p_h. A head may carry it on by one hop, from the query at p_r to the key at p_(r+1), or
by more (a shortcut). So there is a cell for each layer, head, number of hops *to go* (h - r) and *jump* (how many hops
ahead the key lies). In each cell and for each input

- the *margin* is the logit of the right key less the largest of any key that means something else: the discrepancy of
  that input. A key that holds the right token means the same, unless it is an integer, whose meaning depends on where
  it stands;
- the *mass* is the attention on the right key (and others of the same meaning).

Margins say whether hard attention would be right; the mass also feels softmax disperse over more keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.number import NumberTask
from whatwhere.tasks.task import Task

Cell = tuple[int, int, int, int]
"""A kind of hop in a head: layer, head, hops to go, jump."""
TOKENS_AT_ONCE = 1 << 13
"""Tokens traced at a time: 100 MB of keys and residuals for the paper's model."""


@dataclass(frozen=True, eq=False)
class HopStrength:
    """Margins and masses; NaN where an input has no such hop. Entry ``[.., s - 1, t - 1, ..]``: s to go, jump t."""

    margin: Float[np.ndarray, "layer head to_go jump n"]
    mass: Float[np.ndarray, "layer head to_go jump n"]
    right: Bool[np.ndarray, "answered"]
    """Whether the model's answer is right, for each input; empty where none was asked."""


@torch.no_grad()
def measure_hops(model: GPTJ, task: Task, batch: Batch) -> HopStrength:
    """Runs a model on some inputs of one length, and looks at every hop of every path in every layer."""
    length = batch.tokens.shape[1]
    some = max(1, TOKENS_AT_ONCE // length)
    parts = [_measure(model, task, batch[start : start + some]) for start in range(0, len(batch), some)]
    return HopStrength(
        margin=np.concatenate([part.margin for part in parts], -1),
        mass=np.concatenate([part.mass for part in parts], -1),
        right=np.concatenate([part.right for part in parts]),
    )


def _measure(model: GPTJ, task: Task, batch: Batch) -> HopStrength:
    length = batch.tokens.shape[1]
    first = length - task.context - 1  # pointers stand here and after
    trace = model.trace(batch.tokens, queries=range(first, length), residuals=True)
    assert trace.residuals is not None
    predicted = model.head(model.norm(trace.residuals[-1][:, -1])).argmax(-1).cpu().numpy()
    both = np.full((2, len(trace.layers), model.config.heads, task.max_hops, task.max_hops, len(batch)), np.nan)
    hops = list(path_hops(task, batch))
    for depth, layer in enumerate(trace.layers):
        logits = layer.logits()  # [batch, head, query, key]
        for to_go, jump, rows, queries, goals in hops:
            asked = logits[rows, :, queries - first]  # [some, head, key]
            both[:, depth, :, to_go - 1, jump - 1, rows] = lead(asked, same_meaning(task, batch.tokens[rows], goals))
    return HopStrength(both[0], both[1], predicted == batch.answers)


def lead(logits: Float[Tensor, "n head key"], right: Bool[np.ndarray, "n key"]) -> Float[np.ndarray, "n 2 head"]:
    """The margin of the right keys over the others, and the attention on them; keys out of sight have -inf."""
    here = torch.as_tensor(right, device=logits.device)[:, None]
    margin = logits.masked_fill(~here, -torch.inf).amax(-1) - logits.masked_fill(here, -torch.inf).amax(-1)
    mass = logits.softmax(-1).masked_fill(~here, 0).sum(-1)
    return torch.stack([margin, mass], 1).double().cpu().numpy()


def path_hops(
    task: Task, batch: Batch
) -> Iterator[tuple[int, int, Int[np.ndarray, "n"], Int[np.ndarray, "n"], Int[np.ndarray, "n"]]]:
    """Every kind of hop: to go, jump, the inputs that have it, where it starts and where it leads."""
    for to_go in range(1, task.max_hops + 1):
        (rows,) = np.nonzero(batch.hops >= to_go)
        start = batch.hops[rows] - to_go
        for jump in range(1, to_go + 1):
            if len(rows):
                yield to_go, jump, rows, batch.paths[rows, start], batch.paths[rows, start + jump]


def same_meaning(
    task: Task, tokens: Int[np.ndarray, "n seq"], goals: Int[np.ndarray, "n"]
) -> Bool[np.ndarray, "n seq"]:
    """Which keys mean the same as the one at ``goals``: those that hold the same token; an integer only itself."""
    goal = tokens[np.arange(len(tokens)), goals]
    itself = np.arange(tokens.shape[1]) == goals[:, None]
    if isinstance(task, NumberTask):
        return itself | ((tokens == goal[:, None]) & ~task.vocabulary.points(goal)[:, None])
    return tokens == goal[:, None]
