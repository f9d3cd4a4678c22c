"""Margins at any length, foretold from inputs of the training length alone.

The theory asks what longer inputs do to a head whose contents stay as they are: further keys appear, farther away. That
can be computed for a trained head too. Its keys and queries are traced at the training length; the keys of the input's
own target window, those that nobody points at, are then put before it at every further distance, and what RoPE makes of
them there is the rival of the right key. No longer input is run. Where such a forecast is wrong, it is the contents of
keys or queries that changed with length (in layers above the first), not the geometry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.length.hop_strength import Cell, HopStrength, path_hops, same_meaning
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.letter import LetterTask
from whatwhere.tasks.task import Task
from whatwhere.trace.layer import LayerTrace


@torch.no_grad()
def foretell_hops(
    model: GPTJ, task: Task, batch: Batch, lengths: Sequence[int], cells: Collection[Cell], seed: int = 0
) -> dict[int, HopStrength]:
    """What :func:`~whatwhere.studies.length.hop_strength.measure_hops` would find at each length, if contents stayed.

    Args:
        model: what was trained.
        task: its task.
        batch: inputs of the training length.
        lengths: from the training length on.
        cells: the hops of interest; the others stay undefined.
        seed: of the draw of further keys.

    Returns:
        Per length the margins and masses; ``right`` is empty, as nothing is answered.
    """
    trained, longest = batch.tokens.shape[1], max(lengths)
    trace = model.trace(
        batch.tokens, layers=sorted({layer for layer, *_ in cells}), queries=range(task.target, trained)
    )
    drawn = further_keys(task, batch, longest - trained, seed)
    shape = (model.config.layers, model.config.heads, task.max_hops, task.max_hops, len(batch))
    found = {length: np.full((2, *shape), np.nan) for length in lengths}
    for layer in trace.layers:
        near = layer.logits()  # [batch, head, query, key]
        wanted = {(head, to_go, jump) for depth, head, to_go, jump in cells if depth == layer.layer}
        for to_go, jump, rows, starts, goals in path_hops(task, batch):
            heads = [head for head in range(model.config.heads) if (head, to_go, jump) in wanted]
            for start in np.unique(starts) if heads else ():
                some = rows[starts == start]
                query = int(start) - task.target
                asked = near[some, :, query]  # [some, head, key]
                here = torch.as_tensor(
                    same_meaning(task, batch.tokens[some], goals[starts == start]), device=near.device
                )[:, None]
                far = _far_logits(layer, query, some, drawn[some])  # [some, head, further]
                best, others = asked.masked_fill(~here, -torch.inf), asked.masked_fill(here, -torch.inf)
                rival = torch.cat([others.amax(-1, keepdim=True), far], -1).cummax(-1).values
                wrong = torch.cat([others.logsumexp(-1, keepdim=True), far], -1).logcumsumexp(-1)
                for length in lengths:
                    margin = best.amax(-1) - rival[..., length - trained]
                    mass = (best.logsumexp(-1) - wrong[..., length - trained]).sigmoid()
                    both = torch.stack([margin, mass], 1).double().cpu().numpy()  # [some, 2, head]
                    for head in heads:
                        found[length][:, layer.layer, head, to_go - 1, jump - 1, some] = both[..., head].T
    nothing = np.zeros(0, dtype=bool)
    return {length: HopStrength(both[0], both[1], nothing) for length, both in found.items()}


def further_keys(task: Task, batch: Batch, count: int, seed: int) -> Int[np.ndarray, "n further"]:
    """Which position of the target window lends its content to each further key: any that could be an extra token's.

    The answer could not, nor, in the letter task, could a token that something points at.
    """
    free = batch.tokens[:, : task.target] != batch.answers[:, None]
    if isinstance(task, LetterTask):
        left = task.vocabulary.left(batch.tokens[:, : task.target])
        right = task.vocabulary.right(batch.tokens[:, task.target :])
        free &= ~(left[:, :, None] == right[:, None]).any(-1)
    scores = np.random.default_rng(seed).random((len(batch), count, task.target), dtype=np.float32)
    return np.where(free[:, None], scores, -1.0).argmax(-1)


def _far_logits(
    layer: LayerTrace, query: int, rows: Int[np.ndarray, "n"], drawn: Int[np.ndarray, "n further"]
) -> Float[Tensor, "n head further"]:
    """The logits of one query on further keys, the nearest first: contents of the window, one step before another."""
    further = drawn.shape[1]
    asked = layer.queries[rows, :, query]  # [n, head, d_head]
    distances = int(layer.query_positions[query]) + 1 + torch.arange(further, device=asked.device)
    contents = torch.as_tensor(drawn, device=asked.device)
    keys = layer.keys[rows]  # [n, head, key, d_head]
    window = int(contents.max()) + 1 if contents.numel() else 0
    turned = layer.rotation.turn(asked[:, :, None], distances)  # [n, head, further, d_head]
    table = torch.einsum("nhfd,nhcd->nhfc", turned, keys[:, :, :window]) * layer.scale
    return table.take_along_dim(contents[:, None, :, None], -1).squeeze(-1)
