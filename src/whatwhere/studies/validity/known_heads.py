"""Heads whose nature is known: mixed from position and content in known shares, null heads, and the two limits.

A head is given by its content-by-position matrix M, ``[head, input, content, place]``, for a query at the last place.
If f depends on the place alone and g on the content alone, both with variance 1, then

    M[a, p] = scale * (sqrt(1 - s) f(p) + sqrt(s) g(a))

has the share s of its variance from content. The scale is chosen so that attention has a given entropy: heads of other
shares, and null heads of the same entropy, are then equally sharp.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from scipy.optimize import root_scalar
from torch import Tensor

from whatwhere.heads.entropy import entropy_of
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.trace.layer import LayerTrace

Matrices = Float[Tensor, "head input content place"]
TOKENS = 32
"""Kinds of token."""
PLANES = 8
"""Planes that a mixed rotary head uses, of the fastest for position and of the slowest for content."""
WIDTH = 128
"""Of the paper's heads: 64 planes, base 10,000."""
PEAK = 50.0
"""The lead of the key of a one-hot head: in float64 all other keys get no attention."""


def additive(share: float, heads: int, inputs: int, length: int, seed: int) -> Matrices:
    """A function of the place and one of the content, added; the same two functions at every share."""
    random = torch.Generator().manual_seed(seed)
    where = torch.randn(heads, 1, 1, length, generator=random, dtype=torch.float64)
    what = _contents(torch.randn(heads, TOKENS, generator=random, dtype=torch.float64), inputs, length, random)
    return math.sqrt(1 - share) * where + math.sqrt(share) * what[..., None]


def rotary(share: float, heads: int, inputs: int, length: int, seed: int) -> Matrices:
    """A rotary head: the share of its planes is slow and has a direction for each token, the rest is fast and has one.

    The keys of a fast plane are one vector, so that it tells places apart; a slow plane hardly turns along the input.
    """
    random = torch.Generator().manual_seed(seed)
    frequencies = rope_frequencies(WIDTH, 10_000.0)
    slow = round(share * PLANES)
    kinds = torch.rand(heads, TOKENS, PLANES, generator=random, dtype=torch.float64) * math.tau
    contents = _contents(kinds, inputs, length, random)  # [head, input, place, plane]
    phases = torch.rand(heads, PLANES, generator=random, dtype=torch.float64) * math.tau
    phases = phases[:, None, None].expand(-1, inputs, 1, -1)
    angles = torch.cat([torch.zeros_like(contents[..., slow:]), contents[..., :slow]], -1)
    turning = torch.cat([frequencies[: PLANES - slow], frequencies[len(frequencies) - slow :]])
    return _matrices(_directions(phases).transpose(0, 1), _directions(angles).transpose(0, 1), turning, 1.0)


def random_logits(heads: int, inputs: int, length: int, seed: int) -> Matrices:
    """A null head: a number of its own for every token at every place, so neither place nor content tells it."""
    random = torch.Generator().manual_seed(seed)
    table = torch.randn(heads, TOKENS, length, generator=random, dtype=torch.float64)
    return _contents(table, inputs, length, random)


def random_weights(heads: int, inputs: int, length: int, seed: int) -> Matrices:
    """A null head: a rotary head of the paper's size, all weights of its queries and keys drawn with variance 1.

    Weights of deviation sigma give sigma squared times these logits.
    """
    random = torch.Generator().manual_seed(seed)
    hidden = torch.randn(inputs, 1, length, WIDTH, generator=random, dtype=torch.float64)
    found = []
    for _ in range(heads):
        query, key = torch.randn(2, WIDTH, WIDTH, generator=random, dtype=torch.float64)
        frequencies = rope_frequencies(WIDTH, 10_000.0)
        found.append(_matrices(hidden[:, :, -1:] @ query, hidden @ key, frequencies, WIDTH**-0.5))
    return torch.cat(found)


def flat(heads: int, inputs: int, length: int) -> Matrices:
    """All logits equal."""
    return torch.zeros(heads, inputs, length, length, dtype=torch.float64)


def one_hot(share: float, heads: int, inputs: int, length: int, seed: int) -> Matrices:
    """All attention on one place (share 0), or on one content wherever it stands (share 1); never on the query."""
    random = torch.Generator().manual_seed(seed)
    sizes = (heads, inputs) if share else (heads, 1)
    peak = torch.randint(length - 1, sizes, generator=random)
    row = torch.nn.functional.one_hot(peak, length).double().expand(heads, inputs, -1) * PEAK
    return (row[..., None] if share else row[..., None, :]).expand(-1, -1, length, length)


def sharpened(matrices: Matrices, entropy_share: float) -> Matrices:
    """The same heads with all logits scaled so that their attention has, on average, this share of the most entropy."""
    logits = matrices.diagonal(dim1=-2, dim2=-1)
    most = math.log(logits.shape[-1])

    def excess(log_scale: float) -> float:
        return float(entropy_of((logits * math.exp(log_scale)).log_softmax(-1)).mean()) / most - entropy_share

    return matrices * math.exp(float(root_scalar(excess, bracket=(-10, 10), xtol=1e-6).root))


def _matrices(
    queries: Float[Tensor, "input head 1 d_head"],
    keys: Float[Tensor, "input head place d_head"],
    frequencies: Float[Tensor, "plane"],
    scale: float,
) -> Matrices:
    """M of a rotary head for the query at the last place."""
    length = keys.shape[2]
    everything = torch.ones(1, length, dtype=torch.bool)
    layer = LayerTrace(0, queries, keys, Rotation(frequencies), scale, torch.tensor([length - 1]), everything)
    return layer.content_by_position(0).transpose(0, 1)


def _contents(table: Tensor, inputs: int, length: int, random: torch.Generator) -> Tensor:
    """Random inputs, each token replaced by its row of the table of each head: ``[head, input, place, ...]``.

    The tokens of an input differ, so that a head of content alone can be as sharp as one of position alone.
    """
    tokens = torch.rand(inputs, TOKENS, generator=random).argsort(-1)[:, :length]
    return table[:, tokens]


def _directions(angles: Float[Tensor, "*any plane"]) -> Float[Tensor, "*any d_head"]:
    """Unit vectors in each plane, in half-split layout."""
    return torch.cat([angles.cos(), angles.sin()], -1)
