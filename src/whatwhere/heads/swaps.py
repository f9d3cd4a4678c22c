"""All swaps of two keys at once: the closed form behind the positional and symbolic scores (Section "Scores").

Take a query, two keys i and j that it sees, and exchange their contents. Write M[a, p] for the logit of the content of
``a`` at place ``p`` (see :mod:`whatwhere.model.trace`). On the pair, attention before and after the swap is the softmax
of two numbers, so it depends on their difference only,

    d = M[i, i] - M[j, j]    before,        d' = M[j, i] - M[i, j]    after,

and with ``r = tanh(d / 2)`` it is ``((1 + r) / 2, (1 - r) / 2)``; the rest of the softmax cancels in a cosine. Hence

    c_pos = (1 + r r') / sqrt((1 + r^2)(1 + r'^2))    after the swap attention stayed where it was,
    c_sym = (1 - r r') / sqrt((1 + r^2)(1 + r'^2))    it followed the contents.

The same as the cosh formulas, without logarithms, without overflow, and smooth. ``1 + r r'`` and ``1 - r r'`` cannot
both be small, which is the exclusion principle: ``c_pos^2 + c_sym^2 = 1 + sech(d) sech(d')``, between 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.model.trace import LayerTrace

BLOCK_ELEMENTS = 2**20
"""Entries of the largest temporary, 8 bytes each; about a dozen live at once. Larger gains no speed."""


def swap_cosines(
    before: Float[Tensor, "*any"], after: Float[Tensor, "*any"]
) -> tuple[Float[Tensor, "*any"], Float[Tensor, "*any"]]:
    """The positional and the symbolic cosine of swaps, from the logit differences d and d'."""
    r, s = (before / 2).tanh(), (after / 2).tanh()
    norm = ((1 + r * r) * (1 + s * s)).rsqrt()
    return (1 + r * s) * norm, (1 - r * s) * norm


def swappable_keys(layer: LayerTrace, query: int) -> Int[Tensor, "place"]:
    """The keys that one query sees, itself excluded (the definition permutes the positions before the query)."""
    others = layer.key_positions != layer.query_positions[query]
    return (layer.visible[query] & others).nonzero().flatten()


def weighted_cosines(
    layer: LayerTrace, query: int, attention: Float[Tensor, "batch head key"], tau: float
) -> Float[Tensor, "2 batch head"]:
    """The positional and symbolic score of each input: cosines of all swaps, weighted by the attention they move.

    The weight of a swap is the softmax over swaps of ``|D_i - D_j| / tau``. Its largest exponent belongs to the most
    and the least attended key and is known beforehand, so one pass over blocks of M suffices.

    Args:
        layer: the trace, in the precision to compute in.
        query: an index into the trace's queries; it sees at least two keys besides itself.
        attention: the attention D of that query, however normalised.
        tau: temperature of the weights.
    """
    places = swappable_keys(layer, query)
    amplitudes = layer.amplitudes(query)[:, :, places]  # [batch, head, content, wave]
    waves = layer.waves(query)[:, places]  # [wave, place]
    logits = (amplitudes * waves.T).sum(-1)  # [batch, head, place]: the diagonal of M
    mass = attention[..., places] / tau
    largest = (mass.amax(-1) - mass.amin(-1)).detach()[..., None]  # cancels in the quotient, so carries no gradient

    total = torch.zeros(3, *logits.shape[:2], dtype=logits.dtype, device=logits.device)
    for i, j, after in _tiles(amplitudes, waves):
        r, s = ((logits[..., i] - logits[..., j]) / 2).tanh(), (after / 2).tanh()  # [batch, head, ...]
        weight = ((mass[..., i] - mass[..., j]).abs().flatten(2) - largest).exp()  # [batch, head, swap]
        even = weight * ((1 + r * r) * (1 + s * s)).rsqrt().flatten(2)
        odd = even * (r * s).flatten(2)
        total = total + torch.stack([weight.sum(-1), even.sum(-1), odd.sum(-1)])
    weight, even, odd = total
    return torch.stack([(even + odd) / weight, (even - odd) / weight])


def _tiles(
    amplitudes: Float[Tensor, "batch head content wave"], waves: Float[Tensor, "wave place"]
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Every swap i < j once, in tiles of bounded size: the keys i, the keys j (they broadcast), and d' of their swaps.

    A block of keys gives two tiles: the triangle of swaps within it, and the rectangle of swaps with later keys.
    """
    batch, head, keys, _ = amplitudes.shape
    rows = max(1, BLOCK_ELEMENTS // (batch * head * keys))
    index = torch.arange(keys, device=waves.device)
    for start in range(0, keys, rows):
        own, later = slice(start, start + rows), slice(start + rows, keys)
        square = amplitudes[:, :, own] @ waves[:, own]  # [batch, head, own, own]
        i, j = torch.triu_indices(*square.shape[-2:], offset=1, device=waves.device)
        if len(i):
            yield start + i, start + j, square[..., j, i] - square[..., i, j]
        if start + rows < keys:
            there = amplitudes[:, :, later] @ waves[:, own]  # [batch, head, later, own]
            back = amplitudes[:, :, own] @ waves[:, later]  # [batch, head, own, later]
            yield index[own, None], index[None, later], there.mT - back
