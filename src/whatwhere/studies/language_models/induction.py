"""The usual detector of induction heads, for comparison: random tokens, twice.

In the second copy an induction head attends to the token that followed the same token in the first copy. Its attention
there, averaged over the second copy, is its induction mass. (The usual detector of previous-token heads is the
attention to the token before: the column ``previous`` of the table.)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import Traceable

LENGTH = 48
INPUTS = 4


@torch.no_grad()
def induction(
    model: Traceable, vocabulary: int, *, layers: Sequence[int] | None = None, length: int = LENGTH,
    inputs: int = INPUTS, seed: int = 0,
) -> Float[Tensor, "layer head"]:  # fmt: skip
    """The induction mass of each head, on inputs of ``length`` tokens, drawn evenly from the vocabulary, twice."""
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(vocabulary, (inputs, length), generator=generator)
    asked = range(length, 2 * length)

    def mass(layer: LayerTrace) -> Float[Tensor, "head"]:
        return layer.attention_back(length - 1).double().mean((0, 2))  # to what followed the last time

    return torch.stack(model.stream(torch.cat([half, half], 1), mass, layers=layers, queries=asked))
