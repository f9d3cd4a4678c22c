"""Margins at any length, predicted from inputs of the training length alone.

The theory asks how longer inputs affect a head whose contents do not change: additional keys appear, farther away. This
can be computed for a trained head too. Its keys and queries are traced at the training length. Contents of the input's
own target window that could be extra tokens are then placed before it at every larger distance, where RoPE makes them
rivals of the right key. The model does not run on longer inputs. If such a prediction is wrong, the contents of keys or
queries changed with length (in layers above the first), not the geometry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.length.hop_strength import HopStrength, path_hops
from whatwhere.studies.length.tables import Cell
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.interventions import Intervention
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import traceable

CELLS_AT_ONCE = 1 << 23
"""Logits of additional keys in memory at a time."""


@torch.no_grad()
def predict_hops(
    model: GPTJ, task: Task, batch: Batch, lengths: Sequence[int], cells: Collection[Cell], seed: int = 0,
    interventions: Sequence[Intervention] = (),
) -> dict[int, HopStrength]:  # fmt: skip
    """Predicts :func:`~whatwhere.studies.length.hop_strength.measure_hops` at each length, if contents do not change.

    The batch has the training length, and ``lengths`` begin there. Hops of other cells stay undefined. The seed draws
    the additional keys. ``right`` is empty, because there are no answers.
    """
    trained, further = batch.tokens.shape[1], max(lengths) - batch.tokens.shape[1]
    drawn = further_keys(task, batch, further, seed)
    shape = (model.config.layers, model.config.heads, task.max_hops, task.max_hops, len(batch))
    found = {length: np.full((2, *shape), np.nan) for length in lengths}
    at = torch.tensor([length - trained for length in lengths])
    size = max(1, CELLS_AT_ONCE // (task.target * model.config.heads * (further + 1)))

    def look(layer: LayerTrace) -> None:
        near = layer.logits()  # [batch, head, query, key]
        wanted = {(head, to_go, jump) for depth, head, to_go, jump in cells if depth == layer.layer}
        for to_go, jump, rows, starts, goals in path_hops(task, batch):
            heads = [head for head in range(model.config.heads) if (head, to_go, jump) in wanted]
            for start in np.unique(starts) if heads else ():
                (same,) = np.nonzero(starts == start)
                for some in np.split(same, range(size, len(same), size)):
                    right = task.vocabulary.same_meaning(batch.tokens[rows[some]], goals[some])
                    far = _far_logits(layer, int(start) - task.target, rows[some], drawn[rows[some]])
                    both = _lead(near[rows[some], :, int(start) - task.target], right, far)[..., at].cpu().numpy()
                    for index, length in enumerate(lengths):
                        for head in heads:
                            place = found[length][:, layer.layer, head, to_go - 1, jump - 1]
                            place[:, rows[some]] = both[:, :, head, index]

    layers, queries = sorted({layer for layer, *_ in cells}), range(task.target, trained)
    traceable(model).stream(batch.tokens, look, layers=layers, queries=queries, interventions=interventions)
    return {length: HopStrength(*both, right=np.zeros(0, bool)) for length, both in found.items()}


def further_keys(task: Task, batch: Batch, count: int, seed: int) -> Int[np.ndarray, "n further"]:
    """Which position of the target window gives its content to each additional key: any possible extra token."""
    free = task.fillers(batch)  # [n, target]
    first = np.argsort(~free, axis=1, kind="stable")  # the positions that are free, first
    pick = np.random.default_rng(seed).random((len(batch), count)) * free.sum(1)[:, None]
    return np.take_along_axis(first, pick.astype(np.int64), 1)


def _far_logits(
    layer: LayerTrace, query: int, rows: Int[np.ndarray, "n"], drawn: Int[np.ndarray, "n further"]
) -> Float[Tensor, "n head further"]:
    """The logits of one query on additional keys, the nearest first, with contents of the window."""
    window = int(drawn.max(initial=-1)) + 1
    keys, visible = layer.keys[rows, :, :window], layer.visible[..., :window]
    some = replace(layer, queries=layer.queries[rows], keys=keys, visible=visible)
    distances = int(layer.query_positions[query]) + 1 + torch.arange(drawn.shape[1], dtype=torch.float64)
    angles = layer.rotation.frequencies.cpu()[:, None] * distances  # [plane, further]
    still = torch.ones(int(layer.rotation.width < layer.keys.shape[-1]), len(distances))
    waves = torch.cat([angles.cos(), angles.sin(), still]).to(layer.keys)  # [wave, further]
    table = layer.squash(some.amplitudes(query) @ waves)  # [n, head, content, further]
    return table.take_along_dim(torch.as_tensor(drawn, device=table.device)[:, None, None], 2).squeeze(2)


def _lead(
    near: Float[Tensor, "n head key"], right: np.ndarray, far: Float[Tensor, "n head further"]
) -> Float[Tensor, "2 n head further_and_none"]:
    """Margin and mass of the right keys with 0, 1, 2, .. additional keys."""
    here = torch.as_tensor(right, device=near.device)[:, None]
    best, others = near.masked_fill(~here, -torch.inf), near.masked_fill(here, -torch.inf)
    rival = torch.cat([others.amax(-1, keepdim=True), far], -1).cummax(-1).values
    wrong = torch.cat([others.logsumexp(-1, keepdim=True), far], -1).double().logcumsumexp(-1)
    mass = (best.double().logsumexp(-1, keepdim=True) - wrong).sigmoid()
    return torch.stack([(best.amax(-1, keepdim=True) - rival).double(), mass])
