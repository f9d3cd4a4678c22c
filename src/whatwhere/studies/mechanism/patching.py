"""Where a changed hop travels: activation patching between two inputs that differ in one pointer.

The model runs on an input, but at one layer and one position of the path it gets what it computed on the other input.
If its answer becomes that of the other input, this place carries the changed hop. Two things are patched:

- ``state``: the residual stream after a layer, all that the position knows by then;
- ``heads``: only what the heads of that layer attended to from there, so what the layer moved.

The changed pointer stands at p_(hop-1); its effect must reach p_0 through the pointers between, and those positions,
common to the two paths, are patched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.intervals import wilson_interval
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.interventions import answers_from, chunks, record
from whatwhere.studies.mechanism.observation import AT_ONCE, Progress, silent
from whatwhere.studies.mechanism.paths import change_one_hop
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task

KINDS = ("state", "heads")


@dataclass(frozen=True)
class Patch:
    """How often a patch turns the answer into that of the other input."""

    hops: int
    changed_hop: int
    """From 1: the first hop starts at the last token."""
    kind: str
    layer: int
    position: int
    """Steps along the path: 0 is the last token."""
    share: float
    low: float
    high: float
    count: int
    """Pairs of inputs, both solved by the model."""
    same_hops: int
    """Pairs whose hop counts are equal; in the others the path gets shorter."""


def patch(model: GPTJ, task: Task, pairs: int, seed: int = 0, progress: Progress = silent) -> list[Patch]:
    """Patches inputs of the most hops, for a change in each of them."""
    hops = task.max_hops
    rows: list[Patch] = []
    for hop in range(1, hops + 1):
        plain, changed = change_one_hop(task, task.sample(2 * pairs, hops=hops, seed=seed + hop), hop, seed)
        solved = (model.predict(plain.tokens) == plain.answers) & (model.predict(changed.tokens) == changed.answers)
        plain, changed = plain[solved][:pairs], changed[solved][:pairs]
        same_hops = int((plain.hops == changed.hops).sum())
        flips = count_flips(model, plain, changed, hop)
        for (kind, layer, position), hits in np.ndenumerate(flips):
            share = int(hits) / len(plain) if len(plain) else float("nan")
            ends = wilson_interval(int(hits), len(plain))
            rows.append(Patch(hops, hop, KINDS[kind], layer, position, share, *ends, len(plain), same_hops))
        progress("patching activations", hop * (hop + 1), hops * (hops + 1))
    return rows


def count_flips(model: GPTJ, plain: Batch, changed: Batch, positions: int) -> Int[np.ndarray, "kind layer position"]:
    """How many answers to ``plain`` become those of ``changed``, for each place that is patched.

    Args:
        model: the model.
        plain: the inputs that it runs on.
        changed: the inputs that the patches come from, with the answers to look for.
        positions: steps of the path to patch: p_0 .. p_(positions-1).
    """
    flips = np.zeros((len(KINDS), model.config.layers, positions), np.int64)
    for part in chunks(len(plain), AT_ONCE):
        ours, theirs = record(model, plain.tokens[part]), record(model, changed.tokens[part])
        for layer in range(model.config.layers):
            for position in range(positions):
                at = torch.as_tensor(plain.paths[part, position]).long()
                flips[:, layer, position] += _flips(model, ours, theirs, layer, at, changed.answers[part])
    return flips


Record = tuple[Float[Tensor, "depth n seq d_model"], Float[Tensor, "layer n seq head d_head"]]


def _flips(
    model: GPTJ, ours: Record, theirs: Record, layer: int, at: Int[Tensor, "n"], wanted: Int[np.ndarray, "n"]
) -> list[int]:
    """How many answers become the other input's, for each kind of patch."""
    state = _patched(ours[0][layer + 1], theirs[0][layer + 1], at)
    after = answers_from(model, state, layer + 1)

    def edit(attended: Tensor) -> Tensor:
        return _patched(attended, theirs[1][layer], at)

    moved = answers_from(model, ours[0][layer], layer, edit)
    return [int((after == wanted).sum()), int((moved == wanted).sum())]


def _patched(ours: Tensor, theirs: Tensor, at: Int[Tensor, "n"]) -> Tensor:
    """Ours, but at one position of each input theirs."""
    patched = ours.clone()
    rows = torch.arange(len(at))
    patched[rows, at] = theirs[rows, at]
    return patched
