"""Scores of long inputs from few swaps: exact to a certified bound, because most swaps have negligible weight.

A query of n keys has n^2 / 2 swaps. With the factors of :mod:`whatwhere.heads.swaps`, a swap weighs
``top_i * bottom_j``, and at a small tau ``top`` is negligible for all keys but the most attended. So choose keys S and
take only swaps with at least one key in S, of n swaps each. With m keys that count and x the top key's own ``bottom``,

    S = {i : top_i > eps (sum_j bottom_j - x) / (m sum_j bottom_j)}.

A swap that is left out has both keys outside S, so all of them together weigh at most
``sum_(i not in S) top_i * sum_j bottom_j <= eps (sum_j bottom_j - x)``; and ``sum_j bottom_j - x`` is what the swaps
with the top key alone weigh. So the share of the weight that is left out is at most eps, and as cosines lie in
[0, 1], a score is wrong by at most eps. The same holds with ``top`` and ``bottom`` exchanged; the smaller S is taken.

Where S would be half of the keys or more (flat attention, large tau) all swaps are taken, block by block; or, on
request, a sample of them, drawn exactly by weight, whose mean has Hoeffding's error bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.heads.swaps import Factors, mean_of, swap_cosines
from whatwhere.trace.layer import LayerTrace

EPSILON = 1e-9
"""The share of the weight of all swaps that may be left out."""
TILE = 2**18
"""Numbers in the largest temporary; about a dozen exist at once and should fit in the processor's cache."""
_BLOCKS = 8
"""The least number of blocks for all swaps of a query; swaps within a block are computed twice."""


def swappable_keys(weighting: Factors) -> Bool[Tensor, "row query key"]:
    """The keys whose swaps can have a positive weight: for the others, both factors are 0 or underflow to 0."""
    return (weighting.top > 0) | (weighting.bottom > 0)


def important_keys(weighting: Factors, epsilon: float = EPSILON) -> Bool[Tensor, "row query key"]:
    """The set S: all swaps without a key in it share at most ``epsilon`` of the weight. All counted keys, if many."""
    counted = swappable_keys(weighting)
    count = counted.sum(-1, keepdim=True)
    top, bottom = weighting.top, weighting.bottom
    own = bottom.masked_fill(~counted, torch.inf).amin(-1, keepdim=True)  # of the top key, in both factors
    chosen, size = counted, torch.div(count, 2, rounding_mode="floor")
    for one, other in ((top, bottom), (bottom, top)):
        total = other.sum(-1, keepdim=True)
        some = one > epsilon * (total - own) / (count * total)
        fewer = some.sum(-1, keepdim=True) < size
        chosen = torch.where(fewer, some, chosen)
        size = torch.where(fewer, some.sum(-1, keepdim=True), size)
    return chosen


def long_scores(
    layer: LayerTrace,
    logits: Float[Tensor, "row query key"],
    weightings: Sequence[Factors],
    samples: int | None = None,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "weighting 2 row query"]:
    """The positional and symbolic score of every query of long inputs.

    Args:
        layer: of uniform inputs, in float64; a row is one head on one input.
        logits: of its queries.
        weightings: of swaps.
        samples: if all swaps of a query would be needed, draw this many of them instead.
        generator: of the draws.
    """
    long = _LongInputs(layer, logits, weightings, samples, generator)
    sums = torch.stack([long.row(row) for row in range(len(long.keys))], 2)  # [3, weighting, row, query]
    return mean_of(sums).transpose(0, 1)


@lru_cache(maxsize=1)  # all layers of a model and all inputs of one length share it
def _waves(frequencies: tuple[float, ...], places: int) -> Float[Tensor, "wave place"]:
    """The cosine and the sine of each plane at each place, then 1 for coordinates that are not rotated."""
    angle = torch.tensor(frequencies, dtype=torch.float64)[:, None] * torch.arange(places)  # [plane, place]
    return torch.cat([angle.cos(), angle.sin(), torch.ones(1, places, dtype=torch.float64)])


class _LongInputs:
    def __init__(
        self, layer: LayerTrace, logits: Tensor, weightings: Sequence[Factors], samples: int | None,
        generator: torch.Generator | None,
    ) -> None:  # fmt: skip
        self.layer, self.logits, self.samples, self.generator = layer, logits, samples, generator
        # The product of scale * R^n q_n with R^p k_a is M[a, p], so places count from 0 for all queries.
        self.queries = (layer.rotation.turn(layer.queries, layer.query_positions) * layer.scale).flatten(0, 1)
        self.keys = layer.keys.flatten(0, 1)  # [row, key, d_head]
        self.top = torch.stack([weighting.top for weighting in weightings])  # [weighting, row, query, key]
        self.bottom = torch.stack([weighting.bottom for weighting in weightings])
        with torch.no_grad():
            self.chosen = torch.stack([important_keys(weighting) for weighting in weightings])
            self.counted = torch.stack([swappable_keys(weighting) for weighting in weightings])
            many = (self.chosen == self.counted).all(-1) & (self.counted.sum(-1) > 1)
            self.full = many.any(0)  # [row, query]
        self.waves = _waves(tuple(layer.rotation.frequencies.tolist()), logits.shape[-1]).to(logits.device)

    def row(self, row: int) -> Float[Tensor, "3 weighting query"]:
        """Sums of weights and weighted cosines."""
        total = self.logits.new_zeros(3, len(self.top), self.logits.shape[1])
        few = self.chosen[:, row].any(0) & ~self.full[row, :, None]  # [query, key]
        query, key = few.nonzero().T
        size = max(1, TILE // self.keys.shape[1])
        for start in range(0, len(query), size):
            some = slice(start, start + size)
            total = total + self._tile(row, query[some], key[some], self.chosen[:, row])
        for number in self.full[row].nonzero().flatten().tolist():
            found = self._all(row, number) if self.samples is None else self._sampled(row, number, self.samples)
            total = total + found
        return total

    def _all(self, row: int, query: int) -> Float[Tensor, "3 weighting query"]:
        """All swaps of one query: some keys at a time, each with the keys after it."""
        keys = self.counted[:, row, query].any(0).nonzero().flatten()
        size = max(1, min(TILE // self.keys.shape[1], -(-len(keys) // _BLOCKS)))
        parts = [
            self._tile(row, torch.full_like(some, query), some, self.counted[:, row], int(some[0]))
            for some in keys.split(size)
        ]
        return torch.stack(parts).sum(0)

    def _tile(
        self, row: int, query: Int[Tensor, "entry"], key: Int[Tensor, "entry"],
        chosen: Bool[Tensor, "weighting query key"], start: int = 0,
    ) -> Float[Tensor, "3 weighting query"]:  # fmt: skip
        """Swaps of chosen keys with all keys from ``start`` on; a swap of two chosen keys counts at the earlier one."""
        squash, place = self.layer.squash, torch.arange(start, self.keys.shape[1], device=key.device)
        asked, mine = self.queries[row, query], self.keys[row, key]  # [entry, d_head]
        at_mine = self.layer.rotation.turn(asked, -self.layer.key_positions[key])
        there = squash(at_mine @ self.keys[row, start:].T)  # [entry, key]: the others' contents at my place
        back = squash(self._amplitudes(mine, asked) @ self.waves[:, start:])  # my content at the others' places
        logits = self.logits[row, query]  # [entry, key]
        before = logits.take_along_dim(key[:, None], 1) - logits[:, start:]
        cosines = swap_cosines(before, there - back)
        sums = []
        for top, bottom, these in zip(self.top[:, row], self.bottom[:, row], chosen, strict=True):
            bring = these[query, key][:, None] & (~these[query, start:] | (place > key[:, None]))
            weight = torch.maximum(
                top[query, key][:, None] * bottom[query, start:], bottom[query, key][:, None] * top[query, start:]
            ).masked_fill(~bring, 0)
            sums.append(torch.stack([weight.sum(1), *((weight * cosine).sum(1) for cosine in cosines)]))
        parts = torch.stack(sums, 1)  # [3, weighting, entry]
        return parts.new_zeros(*parts.shape[:2], self.logits.shape[1]).index_add(2, query, parts)

    def _sampled(self, row: int, query: int, samples: int) -> Float[Tensor, "3 weighting query"]:
        """Swaps of one query, drawn by their weight; the sums are those of means."""
        total = self.logits.new_zeros(3, len(self.top), self.logits.shape[1])
        logits, asked = self.logits[row, query], self.queries[row, query]
        for number, (top, bottom) in enumerate(zip(self.top[:, row, query], self.bottom[:, row, query], strict=True)):
            if self.counted[number, row, query].sum() < 2:
                continue  # no swap: the sums stay 0
            cosines = []
            for i, j in self._draw(top.detach(), bottom.detach(), samples):
                at = [self.layer.rotation.turn(asked, -self.layer.key_positions[key]) for key in (i, j)]
                there, back = ((at[k] * self.keys[row, key]).sum(-1) for k, key in ((0, j), (1, i)))
                after = self.layer.squash(there) - self.layer.squash(back)
                cosines.append(torch.stack(swap_cosines(logits[i] - logits[j], after)))
            mean = torch.cat(cosines, 1).mean(1)
            total[:, number, query] = torch.cat([torch.ones_like(mean[:1]), mean])
        return total

    def _draw(
        self, top: Float[Tensor, "key"], bottom: Float[Tensor, "key"], samples: int
    ) -> Iterator[tuple[Int[Tensor, "n"], Int[Tensor, "n"]]]:
        """Pairs of keys by weight: first the more attended key, then the other among those below it."""
        top, order = top.cpu().sort(descending=True)
        below = bottom.cpu()[order].cumsum(0)  # rises from negligible terms to large ones: no cancellation
        first = (top * (below[-1] - below)).cumsum(0)
        size = max(1, TILE // self.keys.shape[-1])
        for start in range(0, samples, size):
            drawn = torch.rand(2, min(size, samples - start), generator=self.generator, dtype=top.dtype)
            i = torch.searchsorted(first, drawn[0] * first[-1], right=True)  # never the last key: none is below it
            j = torch.searchsorted(below, below[i] + drawn[1] * (below[-1] - below[i]), right=True)
            j = j.clamp(max=len(top) - 1)  # the sum may round up to the total
            yield order[i].to(self.keys.device), order[j].to(self.keys.device)

    def _amplitudes(
        self, keys: Float[Tensor, "entry d_head"], queries: Float[Tensor, "entry d_head"]
    ) -> Float[Tensor, "entry wave"]:
        """The amplitude of each wave of ``waves`` in each content; see ``LayerTrace.amplitudes``."""
        k1, k2 = self.layer.rotation.planes(keys).unbind(-1)  # [entry, plane]
        q1, q2 = self.layer.rotation.planes(queries).unbind(-1)
        still = (keys * queries)[:, self.layer.rotation.width :].sum(-1, keepdim=True)
        return torch.cat([k1 * q1 + k2 * q2, k1 * q2 - k2 * q1, still], -1)
