"""Direct logit attribution: the contribution of values to the logit of an answer.

The contribution of one key to a head's output is its attention times that key's value. The output matrix writes it to
the residual stream, and the final norm and the unembedding read it. The norm is treated as linear, with the size of the
residual stream at the end of the same run. So the contributions of all keys, heads, MLPs and of the token itself add up
to the logit.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from whatwhere.model.gptj import GPTJ, NORM_EPSILON


def answer_direction(
    model: GPTJ, end: Float[Tensor, "n d_model"], answers: Int[np.ndarray, "n"], possible: Int[np.ndarray, "values"]
) -> Float[Tensor, "n d_model"]:
    """The direction whose product with a part of the residual stream is its contribution to the answer's logit.

    The mean over the other possible answers is subtracted. ``end`` is the residual stream after the last layer, at the
    position that is read; ``possible`` are all tokens that may be answers.
    """
    rows = model.head.weight[torch.as_tensor(answers).long()]  # [n, d_model]
    total, others = model.head.weight[torch.as_tensor(possible).long()].sum(0), max(1, len(possible) - 1)
    read = (rows - (total - rows) / others) * model.norm.weight
    size = ((end - end.mean(-1, keepdim=True)).square().mean(-1, keepdim=True) + NORM_EPSILON).sqrt()
    return (read - read.mean(-1, keepdim=True)) / size


def values_of(model: GPTJ, layer: int, state: Float[Tensor, "n seq d_model"]) -> Float[Tensor, "n head seq d_head"]:
    """The values of a layer, from the residual stream before it."""
    block = list(model.layers())[layer]
    *_, w_value, _ = block.w_in.split(block.sizes)
    return block.split_heads(functional.linear(block.norm(state), w_value))


def logits_of_values(
    model: GPTJ, layer: int, values: Float[Tensor, "n head seq d_head"], direction: Float[Tensor, "n d_model"]
) -> Float[Tensor, "n head seq"]:
    """What each value would add to the answer's logit under full attention."""
    block = list(model.layers())[layer]
    written = direction @ block.w_out[:, : direction.shape[1]]  # [n, d_model]: along what each head attends to
    return torch.einsum("nhsd,nhd->nhs", values, written.unflatten(-1, (block.heads, -1)))
