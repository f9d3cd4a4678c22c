"""All swaps of two keys at once: the closed form behind the positional and symbolic scores (Section "Scores").

Take a query, two keys i and j that it sees, and exchange their contents. Write M[a, p] for the logit of the content of
``a`` at place ``p`` (see :mod:`whatwhere.trace.layer`). On the pair, attention before and after the swap is the softmax
of two numbers, so it depends on their difference only,

    d = M[i, i] - M[j, j]    before,        d' = M[j, i] - M[i, j]    after,

and with ``r = tanh(d / 2)`` it is ``((1 + r) / 2, (1 - r) / 2)``; the rest of the softmax cancels in a cosine. Hence

    c_pos = (1 + r r') / sqrt((1 + r^2)(1 + r'^2))    after the swap attention stayed where it was,
    c_sym = (1 - r r') / sqrt((1 + r^2)(1 + r'^2))    it followed the contents.

The same as the cosh formulas, without logarithms, without overflow, and smooth. ``1 + r r'`` and ``1 - r r'`` cannot
both be small, which is the exclusion principle: ``c_pos^2 + c_sym^2 = 1 + sech(d) sech(d')``, between 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

TILE = 2**18
"""Numbers in the largest temporary; about a dozen of them live at once. They should fit the processor's cache."""


class Tile(NamedTuple):
    """Some swaps. Keys come first and rows (one per input and head) last, so that each swap is contiguous in memory."""

    i: Int[Tensor, "..."]
    """The first key of each swap; broadcasts against ``j``."""
    j: Int[Tensor, "..."]
    after: Float[Tensor, "... row"]
    """The logit difference d' of the two places after each swap."""


def swap_cosines(
    before: Float[Tensor, "*any"], after: Float[Tensor, "*any"]
) -> tuple[Float[Tensor, "*any"], Float[Tensor, "*any"]]:
    """The positional and the symbolic cosine of swaps, from the logit differences d and d'."""
    r, s = (before / 2).tanh(), (after / 2).tanh()
    norm, product = ((1 + r * r) * (1 + s * s)).rsqrt(), r * s
    return (1 + product) * norm, (1 - product) * norm


class Weights(NamedTuple):
    """One way of weighing swaps: by the softmax over swaps of ``|D_i - D_j| / tau``."""

    attention: Float[Tensor, "batch head key"]
    """D on the keys that are swapped, however normalised."""
    tau: float
    counted: Bool[Tensor, "key"]
    """Only swaps of two of these count."""


def weighted_cosines(
    logits: Float[Tensor, "batch head key"], weights: Sequence[Weights], tiles: Iterable[Tile]
) -> Float[Tensor, "way 2 batch head"]:
    """The positional and symbolic score of each input: cosines of swaps, weighted by the attention that they move.

    The largest exponent of the weights belongs to the most and the least attended key and is known beforehand, so one
    pass over the swaps suffices, for any number of ways to weigh them.

    Args:
        logits: of the keys that take part, before any swap.
        weights: the ways to weigh.
        tiles: every swap of two of these keys, once.
    """
    logit = logits.permute(2, 0, 1).flatten(1)  # [key, row]
    ways = [_Way(way) for way in weights]
    for tile in tiles:
        positional, symbolic = swap_cosines(logit[tile.i] - logit[tile.j], tile.after)  # [..., row]
        for way in ways:
            way.add(tile, positional, symbolic)
    return torch.stack([(way.total[1:] / way.total[0]).unflatten(1, logits.shape[:2]) for way in ways])


class _Way:
    """Sums of weights and of weighted cosines, so far."""

    def __init__(self, weights: Weights) -> None:
        mass = (weights.attention / weights.tau).permute(2, 0, 1).flatten(1)  # [key, row]
        counted = mass[weights.counted]
        # Both the largest exponent and what keeps keys that do not count below it carry no gradient.
        least = counted.amin(0).detach()
        self.largest = counted.amax(0).detach() - least
        self.some = None if bool(weights.counted.all()) else weights.counted
        self.mass = mass if self.some is None else torch.where(self.some[:, None], mass, least)
        self.total = torch.zeros(3, mass.shape[1], dtype=mass.dtype, device=mass.device)

    def add(self, tile: Tile, positional: Float[Tensor, "... row"], symbolic: Float[Tensor, "... row"]) -> None:
        weight = ((self.mass[tile.i] - self.mass[tile.j]).abs() - self.largest).exp()
        if self.some is not None:
            weight = weight * (self.some[tile.i] & self.some[tile.j])[..., None]
        sums = [part.flatten(0, -2).sum(0) for part in (weight, weight * positional, weight * symbolic)]
        self.total = self.total + torch.stack(sums)


def key_swaps(
    amplitudes: Float[Tensor, "batch head key wave"],
    waves: Float[Tensor, "wave key"],
    squash: Callable[[Tensor], Tensor] = lambda products: products,
) -> Iterator[Tile]:
    """Every swap of two keys, from blocks of M.

    A block of keys gives two tiles: the triangle of swaps within it, and the rectangle of swaps with later keys.

    Args:
        amplitudes: the contents of the keys, as :meth:`whatwhere.trace.layer.LayerTrace.amplitudes` gives them.
        waves: the places of the same keys, as :meth:`whatwhere.trace.layer.LayerTrace.waves` gives them.
        squash: from products to logits, entry by entry, as :meth:`whatwhere.trace.layer.LayerTrace.squash`.
    """
    contents = amplitudes.permute(2, 0, 1, 3).flatten(1, 2)  # [key, row, wave]
    places = waves.T.contiguous()  # [key, wave]
    keys, rows, _ = contents.shape
    block = max(1, TILE // (keys * rows))
    index = torch.arange(keys, device=places.device)
    for start in range(0, keys, block):
        own, later = slice(start, start + block), slice(start + block, keys)
        square = squash(_logits(contents[own], places[own]))
        i, j = torch.triu_indices(*square.shape[:2], offset=1, device=places.device)
        if len(i):
            yield Tile(start + i, start + j, square[i, j] - square[j, i])
        if start + block < keys:
            there = squash(_logits(contents[later], places[own]))
            back = squash(_logits(contents[own], places[later]))
            yield Tile(index[own, None], index[None, later], there - back.transpose(0, 1))


def _logits(
    contents: Float[Tensor, "content row wave"], places: Float[Tensor, "place wave"]
) -> Float[Tensor, "place content row"]:
    """A block of M, places first."""
    return (places @ contents.flatten(0, 1).T).unflatten(1, contents.shape[:2])
