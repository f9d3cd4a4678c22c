"""Where a changed hop travels: activation patching between two inputs that differ in one pointer.

The model runs on an input, but at one layer and one position of the path it gets what it computed on the other input.
If its answer becomes that of the other input, this place carries the changed hop. Two things are patched:

- ``state``: the residual stream after a layer, all that the position knows by then;
- ``heads``: only what the heads of that layer write there, so what the layer moved.

The changed pointer is at p_(hop-1). Its effect must reach p_0 through the pointers between, and those positions, common
to the two paths, are patched. (:class:`whatwhere.trace.interventions.Patch` replaces a head at all positions.)
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.estimate import share
from whatwhere.model.gptj import GPTJ, Edit
from whatwhere.studies.mechanism.observation import AT_ONCE, record
from whatwhere.studies.mechanism.paths import change_one_hop
from whatwhere.studies.mechanism.tables import Patched
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task

WHAT = ("state", "heads")


def patch(model: GPTJ, task: Task, pairs: int, seed: int = 0, progress: Progress = no_progress) -> list[Patched]:
    """Patches inputs of the most hops, for a change in each of their hops.

    For each hop there are up to ``pairs`` pairs of inputs; only pairs are used of which the model solves both.
    """
    hops = task.max_hops
    rows: list[Patched] = []
    for hop in range(1, hops + 1):
        progress("patching activations", hop * (hop - 1), hops * (hops + 1))
        plain, changed = change_one_hop(task, task.sample(2 * pairs, hops=hops, seed=seed + hop), hop, seed)
        solved = (model.predict(plain.tokens) == plain.answers) & (model.predict(changed.tokens) == changed.answers)
        plain, changed = plain[solved][:pairs], changed[solved][:pairs]
        same_hops = int((plain.hops == changed.hops).sum())
        for (what, layer, position), flips in np.ndenumerate(count_flips(model, plain, changed, hop)):
            flipped = share(int(flips), len(plain))
            rows.append(Patched(hops, hop, WHAT[what], layer, position, flipped, same_hops))
    progress("patching activations", 1, 1)
    return rows


@torch.no_grad()
def count_flips(model: GPTJ, plain: Batch, changed: Batch, positions: int) -> Int[np.ndarray, "what layer position"]:
    """How many answers to ``plain`` become those of ``changed``, for each place that is patched: p_0, p_1, .."""
    flips = np.zeros((len(WHAT), model.config.layers, positions), np.int64)
    for start in range(0, len(plain), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        states, _ = record(model, plain.tokens[part])
        their_states, their_heads = record(model, changed.tokens[part])
        for layer, position in np.ndindex(flips.shape[1:]):
            at = torch.as_tensor(plain.paths[part, position]).long()
            after = _patched(states[layer + 1], theirs=their_states[layer + 1], at=at)
            moved = partial(_patched, theirs=their_heads[layer], at=at)
            found = answers_from(model, after, layer + 1), answers_from(model, states[layer], layer, moved)
            flips[:, layer, position] += [(answers == changed.answers[part]).sum() for answers in found]
    return flips


@torch.no_grad()
def answers_from(
    model: GPTJ, state: Float[Tensor, "n seq d_model"], layer: int, edit: Edit | None = None
) -> Int[np.ndarray, "n"]:
    """What the model answers when it goes on from the residual stream before ``layer``.

    An edit changes what the heads of that layer write, at every position. Behind the last layer the answer is read out.
    """
    blocks = list(model.layers())
    for index in range(layer, len(blocks)):
        change = edit if index == layer else None
        last_only = index == len(blocks) - 1 and change is None  # an edit wants to see every position
        state = blocks[index](state, *model.turns_of(index, state.shape[1]), last_only=last_only, edit=change)
    return model.head(model.norm(state[:, -1])).argmax(-1).numpy(force=True)


def _patched(ours: Tensor, theirs: Tensor, at: Int[Tensor, "n"]) -> Tensor:
    """Ours, but at one position of each input theirs."""
    patched = ours.clone()
    rows = torch.arange(len(at))
    patched[rows, at] = theirs[rows, at]
    return patched
