"""Positional and symbolic scores of attention heads, exact and nearly free (Section "Scores"; errata E15, E16, E17).

For one head, input and query: how alike is attention before and after two keys change places? Compared place by place
the answer is positional, compared content by content it is symbolic; averaged over all swaps, each weighted by the
attention it moves, these are the two scores. Everything follows from the trace (:mod:`whatwhere.heads.swaps`):
no forward pass beyond the one that made it, no sampling, float64 throughout, differentiable in queries and keys.

Both scores lie in [0, 1] and their sum is at least 1. Uniform attention scores (1, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.entropy import entropy_of, entropy_share
from whatwhere.heads.swaps import TILE, Tile, Weights, key_swaps, weighted_cosines
from whatwhere.trace.layer import LayerTrace, Trace

Level = Literal["keys", "tokens"]
TAU = 0.01
"""The default temperature; the paper gives none (erratum E15). It must shrink with length, and 0.01 serves all."""
SENSITIVITY_TAUS = (1.0, 0.25, 0.1, 0.05, 0.01)
"""The temperatures that a score is reported at when its dependence on the choice is asked for."""


@dataclass(frozen=True)
class Weighting:
    """Which swaps count, and how much."""

    tau: float = TAU
    """Temperature of the weights."""
    renormalised: bool = False
    """Whether the weights use attention renormalised over the keys that take part (not the paper's score)."""
    among: tuple[int, ...] | None = None
    """The positions whose keys take part in swaps; None for all (the paper's score)."""

    def __post_init__(self) -> None:
        if not (self.tau > 0 and math.isfinite(self.tau)):
            raise WhatwhereError(f"tau must be a number above 0, not {self.tau}; {TAU} is the default.")


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Scores of some layers' heads on some inputs, with the settings that made them.

    ``each_*`` hold one number per input and query; NaN where a query has fewer than two keys to swap. The properties
    without ``each`` are plain means over inputs and queries, without the undefined ones.
    """

    each_positional: Float[Tensor, "layer batch head query"]
    each_symbolic: Float[Tensor, "layer batch head query"]
    each_entropy: Float[Tensor, "layer batch head query"]
    """In nats, of the attention over all visible keys, the query's own included."""
    each_own: Float[Tensor, "layer batch head query"]
    """The attention that each query pays to its own position."""
    visible: Int[Tensor, "layer *each query"]
    """How many keys each query sees, itself included (and a sink, if there is one); per input where inputs differ."""
    layers: tuple[int, ...]
    weighting: Weighting
    level: Level
    """What is swapped: key vectors at the layer itself (the paper's), or input tokens."""

    @property
    def tau(self) -> float:
        """Temperature of the weights."""
        return self.weighting.tau

    @property
    def positional(self) -> Float[Tensor, "layer head"]:
        """How far attention stays in its place when contents move."""
        return self.each_positional.nanmean((1, 3))

    @property
    def symbolic(self) -> Float[Tensor, "layer head"]:
        """How far attention follows contents that move."""
        return self.each_symbolic.nanmean((1, 3))

    @property
    def entropy(self) -> Float[Tensor, "layer head"]:
        """How widely the head looks, in nats."""
        return self.each_entropy.mean((1, 3))

    @property
    def entropy_share(self) -> Float[Tensor, "layer head"]:
        """Entropy as a share of its maximum, the logarithm of the number of visible keys."""
        seen = self.visible if self.visible.ndim == 3 else self.visible[:, None]  # [layer, batch or 1, query]
        return entropy_share(self.each_entropy, seen[:, :, None].double()).nanmean((1, 3))

    @property
    def own(self) -> Float[Tensor, "layer head"]:
        """Attention that the head pays to the query's own position; above one half it attends to itself."""
        return self.each_own.mean((1, 3))

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return self.each_positional.shape[1]

    @property
    def undefined(self) -> Int[Tensor, "layer head"]:
        """How many (input, query) pairs have no score and are left out of the means."""
        return self.each_positional.isnan().sum((1, 3))


def score(
    trace: Trace, tau: float = TAU, *, renormalised: bool = False, among: Sequence[int] | None = None
) -> HeadScores:
    """The positional and symbolic score of every traced head, for every input and query.

    Swaps are those of two keys that the query sees, the query's own position excluded; a swap of i and j weighs
    ``softmax(|D_i - D_j| / tau)``, with D the attention over all visible keys, the query's own included.

    Args:
        trace: what attention did on some inputs (:func:`whatwhere.trace`).
        tau: temperature of the weights, above 0. Large: all swaps count alike, and the many that move nothing
            (trivially positional and symbolic at once) drown the rest. Small: only the swaps that move most count.
        renormalised: let the weights use attention renormalised over the keys that are swapped, hence without the
            query's own: a diagnostic for self-attending heads, whose score otherwise speaks of unattended keys.
        among: swap only keys at these positions: a diagnostic for heads that look at one kind of token only. Such a
            head is symbolic when tokens of two kinds change places, whatever it does within a kind.

    Raises:
        WhatwhereError: tau is not above 0, or the trace holds no layer, input or query.
    """
    return score_ways(trace, [Weighting(tau, renormalised, None if among is None else tuple(among))])[0]


def score_ways(trace: Trace, ways: Sequence[Weighting]) -> list[HeadScores]:
    """Like :func:`score`, for several ways of weighing at the price of little more than one."""
    if not trace.layers or 0 in trace.layers[0].queries.shape[:3]:
        raise WhatwhereError(
            "a trace of at least one layer, input, head and query was expected, and an empty one arrived. "
            "Trace some inputs: whatwhere.trace(model, tokens)."
        )
    each = torch.stack([_score_layer(layer, ways) for layer in trace.layers], 2)  # [way, 4, layer, batch, head, query]
    return [stack_scores(trace.layers, own, way, "keys") for own, way in zip(each, ways, strict=True)]


def stack_scores(
    layers: Sequence[LayerTrace],
    each: Float[Tensor, "4 layer batch head query"],
    weighting: Weighting,
    level: Level,
) -> HeadScores:
    """What :func:`weigh` gave for each layer, with the settings that made it."""
    positional, symbolic, entropy, own = each
    return HeadScores(
        each_positional=positional,
        each_symbolic=symbolic,
        each_entropy=entropy,
        each_own=own,
        visible=torch.stack([layer.visible.sum(-1) + (layer.sink is not None) for layer in layers]),
        layers=tuple(layer.layer for layer in layers),
        weighting=weighting,
        level=level,
    )


def join_inputs(parts: Sequence[HeadScores]) -> HeadScores:
    """The same heads on more inputs, which are alike in what they see."""
    names = [field.name for field in fields(HeadScores) if field.name.startswith("each_")]
    return replace(parts[0], **{name: torch.cat([getattr(part, name) for part in parts], 1) for name in names})


def _score_layer(layer: LayerTrace, ways: Sequence[Weighting]) -> Float[Tensor, "way 4 batch head query"]:
    """One layer, some inputs at a time so that float64 copies stay small."""
    _, heads, keys, width = layer.keys.shape
    parts = [
        torch.stack([_score_query(part, query, ways) for query in range(part.queries.shape[2])], -1)
        for part in layer.parts(TILE // (heads * keys * width))
    ]
    return torch.cat(parts, 2)


def _score_query(layer: LayerTrace, query: int, ways: Sequence[Weighting]) -> Float[Tensor, "way 4 batch head"]:
    amplitudes, waves = layer.amplitudes(query), layer.waves(query)
    logits = layer.squash((amplitudes * waves.T).sum(-1))  # [batch, head, key]: the diagonal of M

    def swaps(keys: Int[Tensor, "swappable"]) -> Iterator[Tile]:
        return key_swaps(amplitudes[:, :, keys], waves[:, keys], layer.squash)

    return weigh(layer, query, logits, swaps, ways)


def weigh(
    layer: LayerTrace,
    query: int,
    logits: Float[Tensor, "batch head key"],
    swaps: Callable[[Tensor], Iterable[Tile]],
    ways: Sequence[Weighting],
) -> Float[Tensor, "way 4 batch head"]:
    """Positional, symbolic, entropy and attention to itself, of one query of a layer.

    Args:
        layer: says which keys the query sees and where it stands.
        query: an index into the layer's queries.
        logits: of that query, in float64, on all keys.
        swaps: gives all swaps of the keys that it is called with; keys are then counted among these.
        ways: which swaps count, and how much.
    """
    seen = layer.visible[query]
    own = layer.key_positions == layer.query_positions[query]
    masked = logits.masked_fill(~seen, -torch.inf)
    if layer.sink is not None:  # one more place to look, which is never swapped
        masked = torch.cat([masked, layer.sink.to(masked)[:, None].expand(*masked.shape[:-1], 1)], -1)
    log_attention = masked.log_softmax(-1)
    attention = log_attention.exp()[..., : len(seen)]
    facts = torch.stack([entropy_of(log_attention), (attention * own).sum(-1)])
    # The definition's permutations leave the query where it is.
    counted = torch.stack([(seen & ~own & _among(layer, way.among)) for way in ways])  # [way, key]
    enough = counted.sum(-1) >= 2  # [way]
    scores = facts.new_full((len(ways), *facts.shape), torch.nan)
    if bool(enough.any()):
        keys = counted[enough].any(0).nonzero().flatten()
        weights = [
            _weights(logits, attention, way, those, keys)
            for way, those in zip(ways, counted, strict=True)
            if those.sum() >= 2
        ]
        scores = scores.index_put((enough,), weighted_cosines(logits[..., keys], weights, swaps(keys)))
    return torch.cat([scores, facts.expand_as(scores)], 1)


def _among(layer: LayerTrace, places: tuple[int, ...] | None) -> Bool[Tensor, "key"]:
    """The keys at some places, or all."""
    there = layer.key_positions
    if places is None:
        return torch.ones_like(there, dtype=torch.bool)
    return torch.isin(there, torch.tensor(places, device=there.device))


def _weights(
    logits: Tensor, attention: Tensor, way: Weighting, counted: Bool[Tensor, "key"], keys: Int[Tensor, "swapped"]
) -> Weights:
    """How one way weighs swaps of ``keys``."""
    mass = attention
    if way.renormalised:
        mass = logits.masked_fill(~counted, -torch.inf).softmax(-1)
    return Weights(mass[..., keys], way.tau, counted[keys])
