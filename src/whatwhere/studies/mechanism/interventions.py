"""Changing what a model computes, and seeing what it answers: the parts that ablation and patching share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ, Edit


@torch.no_grad()
def record(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"]
) -> tuple[Float[Tensor, "depth n seq d_model"], Float[Tensor, "layer n seq head d_head"]]:
    """The residual stream before the first layer and after each, and what each layer's heads attended to."""
    attended: list[Tensor] = []

    def keep(values: Tensor) -> Tensor:
        attended.append(values)
        return values

    ids = model.check_tokens(tokens)
    states = list(model.residuals(ids, edits=dict.fromkeys(range(model.config.layers), keep)))
    return torch.stack(states), torch.stack(attended)


@torch.no_grad()
def answers_from(
    model: GPTJ, state: Float[Tensor, "n seq d_model"], layer: int, edit: Edit | None = None
) -> Int[np.ndarray, "n"]:
    """What the model answers when it goes on from a residual stream.

    Args:
        model: the model.
        state: the residual stream before ``layer``, possibly changed.
        layer: where to go on; the number of layers only reads the answer out.
        edit: a change of what the heads of ``layer`` attended to, at every position.
    """
    blocks = list(model.layers())
    for index in range(layer, len(blocks)):
        change = edit if index == layer else None
        end_only = index == len(blocks) - 1 and change is None  # an edit wants to see every position
        state = blocks[index](state, *model.turns_of(index, state.shape[1]), None, end_only, change)
    return model.head(model.norm(state[:, -1])).argmax(-1).numpy(force=True)


def chunks(n: int, size: int) -> Sequence[slice]:
    """The inputs 0 .. n-1 in parts of a size."""
    return [slice(start, start + size) for start in range(0, n, size)]
