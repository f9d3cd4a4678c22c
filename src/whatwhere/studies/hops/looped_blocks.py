"""A model some of whose blocks are run again with the same weights, as a looped transformer does.

The residual stream after the last of the blocks goes through them once more, then on through the rest of the model.
It asks whether a block does one hop, whatever stands before it: then it could do the next one too. Blocks are run on
the residual stream, which only our own model gives; other models have no such loop here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.observation import go_on

Stretch = tuple[int, int]
"""The first and the last of some neighbouring blocks."""


def stretches(depth: int) -> list[Stretch]:
    """Each block alone, then each third of the model."""
    thirds = [(int(third[0]), int(third[-1])) for third in np.array_split(np.arange(depth), 3) if len(third)]
    single = [(block, block) for block in range(depth)]
    return [*single, *(third for third in thirds if third not in single)]


@torch.no_grad()
def looped_answers(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], loops: int, some: list[Stretch] | None = None
) -> Iterator[tuple[Stretch, int, Int[np.ndarray, "n"]]]:
    """What a model answers with blocks run again: the stretch, how often (1 .. loops), the answers.

    Args:
        model: one of ours.
        tokens: the inputs.
        loops: how often at most.
        some: which blocks; every block and every third by default.
    """
    states = list(model.residuals(model.check_tokens(tokens)))  # before the first block and after each
    blocks = list(model.layers())
    for first, last in stretches(len(blocks)) if some is None else some:
        state = states[last + 1]  # [n, seq, d_model]
        for again in range(1, loops + 1):
            for block in range(first, last + 1):
                state = blocks[block](state, *model.turns_of(block, tokens.shape[1]))
            yield (first, last), again, go_on(model, state, last + 1).argmax(-1).cpu().numpy()
