"""Predicts a model's answers to longer inputs, from inputs of the training length only.

:mod:`whatwhere.studies.length.prediction` keeps the contents of keys and queries as they are at the training length.
Above the first layer they change: what a layer reads from additional keys changes the inputs of the next one. Here each
layer attends to its own keys and to additional ones, and passes the result on. The model never runs on an additional
token. Its key and value in each layer are those of the same token in the target window of one of the inputs, moved to
the larger distance. So every state belongs to a sequence of the training length, and only RoPE and softmax see more
keys, at larger distances.

At the first layer, where contents depend on the token only, this is exact. Above it, one effect is missing: far tokens
see fewer keys before them than those of the window do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.forward import AttentionCall, Changes, Edit
from whatwhere.trace.interventions import Intervention
from whatwhere.trace.own import OwnModel


@torch.no_grad()
def right_if_longer(
    model: GPTJ, task: Task, batch: Batch, further: Int[np.ndarray, "n further"],
    interventions: Sequence[Intervention] = (), seed: int = 0,
) -> Bool[np.ndarray, "n"]:  # fmt: skip
    """Whether the answer to each input would be right with additional target tokens before it.

    The additional tokens of each input are those of :meth:`~whatwhere.tasks.task.Task.extra`. Their contents are taken
    from equal tokens of all inputs of the batch; the seed chooses among them.
    """
    own = OwnModel(model)
    inputs = own.inputs(batch.tokens)
    changes = Changes(own, inputs, interventions)
    (n, seq), added = batch.tokens.shape, further.shape[1]
    lent = _lenders(batch.tokens[:, : task.target], further, seed)  # [n, further], counted through all windows
    lent = lent // task.target * seq + lent % task.target  # numbered across all inputs
    whole = torch.as_tensor(np.hstack([lent, np.arange(n * seq).reshape(n, seq)]))  # [n, further + seq]
    near, places = torch.arange(seq), torch.arange(added, added + seq)

    def longer(contents: Tensor) -> Tensor:
        """The contents of additional tokens, then an input's own: ``[n, head, key, d]`` with more keys."""
        return contents.transpose(1, 2).flatten(0, 1)[whole].transpose(1, 2)

    def visit(call: AttentionCall) -> Edit:
        layer = call.read(near)
        visible = torch.arange(added + seq) <= places[:, None]  # [query, key]
        layer = changes.attend(replace(layer, keys=longer(layer.keys), query_positions=places, visible=visible))
        attended = layer.attention() @ longer(call.values())  # [n, head, query, d_head]
        return lambda _: attended.transpose(1, 2)

    answers = own.forward(inputs, visit, range(own.depth))[:, -1].argmax(-1)
    return answers.numpy() == batch.answers


def _lenders(
    window: Int[np.ndarray, "n target"], further: Int[np.ndarray, "n further"], seed: int
) -> Int[np.ndarray, "n further"]:
    """Which token of all windows (numbered across inputs) gives its content: an equal token, or any if there is none.

    Number inputs have 120 symbols, so a small batch may lack one; another symbol's content is used then.
    """
    pool = window.ravel()
    order = np.argsort(pool, kind="stable")
    first, last = (np.searchsorted(pool[order], further, side=side) for side in ("left", "right"))
    first, last = np.where(first == last, 0, first), np.where(first == last, len(pool), last)
    pick = np.random.default_rng(seed).random(further.shape) * (last - first)
    return order[first + pick.astype(np.int64)]
