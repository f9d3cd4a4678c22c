"""What a swap of two keys does to attention, and how much each swap counts (Section "Scores").

Take one query and two keys i and j that it sees, and swap their contents. Write M[a, p] for the logit of the content of
``a`` at place ``p`` (:mod:`whatwhere.trace.layer`). On the pair, attention before and after the swap is the softmax of
two numbers, so it depends on their difference only:

    d = M[i, i] - M[j, j]    before,        d' = M[j, i] - M[i, j]    after.

With ``r = tanh(d / 2)`` attention on the pair is ``((1 + r) / 2, (1 - r) / 2)``. The rest of the softmax cancels in a
cosine, hence

    c_pos = (1 + r r') / sqrt((1 + r^2)(1 + r'^2))    attention stayed at its place,
    c_sym = (1 - r r') / sqrt((1 + r^2)(1 + r'^2))    attention followed the contents.

This equals the cosh formulas, but cannot overflow. ``1 + r r'`` and ``1 - r r'`` cannot both be small: this is the
exclusion principle, ``c_pos^2 + c_sym^2 = 1 + sech(d) sech(d')``, between 1 and 2.

The weight of a swap is ``softmax(|D_i - D_j| / tau)`` over swaps, with D the attention. It is a product of one factor
per key: if ``D_i >= D_j``, then up to a constant

    weight = top_i * bottom_j,   top_i = exp((D_i - max D) / tau),   bottom_j = exp((min D - D_j) / tau),

and as ``top_j * bottom_i`` is smaller, the weight is the larger of the two products. So the sum of weights over many
swaps follows from sums over keys, and weightings that differ in tau alone share all but one exponential per swap.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from whatwhere.heads.weighting import Weighting
from whatwhere.model.kernel.build import SwapShape, kernels
from whatwhere.trace.layer import LayerTrace


def swap_cosines(
    before: Float[Tensor, "*any"], after: Float[Tensor, "*any"]
) -> tuple[Float[Tensor, "*any"], Float[Tensor, "*any"]]:
    """The positional and the symbolic cosine of swaps, from the logit differences d and d'."""
    r, s = (before / 2).tanh(), (after / 2).tanh()
    norm, product = ((1 + r * r) * (1 + s * s)).rsqrt(), r * s
    return (1 + product) * norm, (1 - product) * norm


class Factors(NamedTuple):
    """One weighting of swaps, as two factors per key; both are 0 for keys that take no part."""

    above: Float[Tensor, "row query key"]
    """``D - max D``; minus infinity for keys that take no part."""
    below: Float[Tensor, "row query key"]
    """``min D - D``; likewise."""
    tau: float

    @property
    def top(self) -> Float[Tensor, "row query key"]:
        """``exp((D - max D) / tau)``."""
        return (self.above / self.tau).exp()

    @property
    def bottom(self) -> Float[Tensor, "row query key"]:
        """``exp((min D - D) / tau)``."""
        return (self.below / self.tau).exp()


def factors(mass: Float[Tensor, "row query key"], tau: float, counted: Bool[Tensor, "query key"]) -> Factors:
    """The factors of the weights ``softmax(|D_i - D_j| / tau)`` of swaps of counted keys, with D the mass."""
    # The two ends shift all exponents of a query by the same amount, so they need no gradient.
    most = mass.detach().masked_fill(~counted, -torch.inf).amax(-1, keepdim=True)
    least = mass.detach().masked_fill(~counted, torch.inf).amin(-1, keepdim=True)
    return Factors(torch.where(counted, mass - most, -torch.inf), torch.where(counted, least - mass, -torch.inf), tau)


class Swaps(NamedTuple):
    """A list of swaps, the same for all rows. Entries are pairs of a query and one of its keys."""

    query: Int[Tensor, "entry"]
    key: Int[Tensor, "entry"]
    first: Int[Tensor, "swap"]
    """The entry of each swap's first key; the second entry belongs to the same query."""
    second: Int[Tensor, "swap"]


def all_swaps(counted: Bool[Tensor, "query key"]) -> Swaps:
    """Every swap of two counted keys, for every query."""
    query, key = counted.nonzero().T
    first, second = (query[:, None] == query).triu(1).nonzero().T
    return Swaps(query, key, first, second)


def weighted_means(
    before: Float[Tensor, "swap row"], after: Float[Tensor, "swap row"], swaps: Swaps, weightings: Sequence[Factors]
) -> Float[Tensor, "weighting 2 row query"]:
    """The positional and symbolic score of every query: cosines of swaps, averaged with each weighting.

    Rows come last here, so that picking the two keys of each swap copies whole rows of memory.
    """
    cosines = swap_cosines(before, after)
    queries = weightings[0].above.shape[1]
    into = torch.nn.functional.one_hot(swaps.query[swaps.first], queries).to(before).T  # [query, swap]
    means = []
    last, exponent = None, before
    for weighting in weightings:
        if weighting.above is not last:  # weightings that differ in tau alone share the exponents
            last = weighting.above
            above, below = (x[:, swaps.query, swaps.key].T.contiguous() for x in (last, weighting.below))
            one = above.index_select(0, swaps.first) + below.index_select(0, swaps.second)
            exponent = torch.maximum(one, above.index_select(0, swaps.second) + below.index_select(0, swaps.first))
        weight = (exponent / weighting.tau).exp()  # [swap, row]
        sums = [into @ weight, *(into @ (weight * cosine) for cosine in cosines)]
        means.append(mean_of(torch.stack(sums)).transpose(1, 2))
    return torch.stack(means)


def mean_of(sums: Float[Tensor, "3 *any"]) -> Float[Tensor, "2 *any"]:
    """Weighted means from the sum of weights and the two sums of weighted cosines; NaN where nothing has a weight."""
    nothing = sums[0] == 0
    return (sums[1:] / sums[0].masked_fill(nothing, 1)).masked_fill(nothing, torch.nan)


class ShortInputs:
    """All swaps of all queries of short, uniform inputs at once, from the whole of M.

    The layer says where queries and keys stand; ``counted`` are the keys that take part in swaps, under any weighting.
    """

    def __init__(self, layer: LayerTrace, counted: Bool[Tensor, "query key"]) -> None:
        self.counted, self.places, self.frequencies = counted, layer.query_positions, layer.rotation.frequencies
        away = layer.query_positions[:, None] - layer.key_positions  # [query, key]
        self.angle = away[..., None] * layer.rotation.frequencies.to(away.device)  # [query, key, plane]
        self.turns = torch.stack([self.angle.cos(), self.angle.sin()], -2)  # [query, key, 2, plane]

    @cached_property
    def swaps(self) -> Swaps:
        """All of them."""
        return all_swaps(self.counted)

    @cached_property
    def turn(self) -> Shaped[Tensor, "entry plane"]:
        """The angles between queries and places, as complex numbers."""
        angle = self.angle[self.swaps.query, self.swaps.key]
        return torch.polar(torch.ones_like(angle), angle)

    def fits(self, layer: LayerTrace, counted: Bool[Tensor, "query key"]) -> bool:
        """Whether another layer has the same queries, keys and frequencies."""
        theirs = layer.query_positions, counted, layer.rotation.frequencies
        return all(map(torch.equal, (self.places, self.counted, self.frequencies), theirs))

    def compiled(
        self, layer: LayerTrace, weightings: Sequence[Weighting]
    ) -> Float[Tensor, "weighting 4 batch head query"] | None:
        """Both scores, entropy and attention to itself by ``swaps.c``, an order of magnitude faster than by torch.

        None where that cannot be: without a compiler, for gradients, GPUs, squashed logits and attention sinks.
        """
        library, rotation = kernels().library, layer.rotation
        asked, contents = layer.queries * layer.scale, layer.keys
        if library is None or layer.cap is not None or layer.sink is not None:
            return None
        if asked.requires_grad or contents.requires_grad or contents.device.type != "cpu":
            return None
        batch, heads, queries, width = asked.shape
        rows, keys = batch * heads, contents.shape[2]
        shape = SwapShape(rows, queries, keys, width, rotation.width // 2, len(weightings))
        if not library.swaps_fit(ctypes.byref(shape)):
            return None

        def halves(x: Float[Tensor, "batch head at d_head"]) -> Float[Tensor, "batch head at d_head"]:
            turning = rotation.planes(x).transpose(-1, -2).flatten(-2)
            return torch.cat([turning, x[..., rotation.width :]], -1)

        given = [part.double() for part in (halves(asked), halves(contents), self.turns)]
        given += [layer.query_positions, layer.visible, torch.stack([one.counted(layer) for one in weightings])]
        given += [torch.tensor([one.renormalised for one in weightings])]
        given += [torch.tensor([one.tau for one in weightings], dtype=torch.float64)]
        given = [part.contiguous() for part in given]  # compiled code believes what it is told
        found = torch.empty(len(weightings), 4, batch, heads, queries, dtype=torch.float64)
        library.swap_scores(ctypes.byref(shape), *(part.data_ptr() for part in given), found.data_ptr())
        return found

    def scores(
        self, layer: LayerTrace, logits: Float[Tensor, "row query key"], weightings: Sequence[Factors]
    ) -> Float[Tensor, "weighting 2 row query"]:
        """The scores of some inputs by torch; a row is one head on one input."""
        swaps, width = self.swaps, layer.keys.shape[2]
        matrix = layer.squash(self._products(layer)).permute(1, 2, 0).flatten(0, 1)  # [entry * key, row]

        def logit(place: Int[Tensor, "swap"], content: Int[Tensor, "swap"]) -> Float[Tensor, "swap row"]:
            return matrix.index_select(0, place * width + swaps.key[content])

        first, second = swaps.first, swaps.second
        plain = logits[:, swaps.query, swaps.key].T.contiguous()  # [entry, row]: the diagonal of M
        before = plain.index_select(0, first) - plain.index_select(0, second)
        return weighted_means(before, logit(first, second) - logit(second, first), swaps, weightings)

    def _products(self, layer: LayerTrace) -> Float[Tensor, "row entry key"]:
        """M: each query's logits of all contents at each of its places. Planes are complex numbers here."""
        rotation = layer.rotation
        asked, keys = (layer.queries * layer.scale).flatten(0, 1), layer.keys.flatten(0, 1)
        planes = torch.complex(*rotation.planes(asked).unbind(-1))  # [row, query, plane]
        at_place = torch.view_as_real(planes.index_select(1, self.swaps.query) * self.turn).flatten(-2)
        products = at_place @ rotation.planes(keys).flatten(-2).transpose(1, 2)
        if rotation.width < keys.shape[2]:  # coordinates that do not turn
            still = asked[..., rotation.width :] @ keys[..., rotation.width :].transpose(1, 2)
            products = products + still.index_select(1, self.swaps.query)
        return products
