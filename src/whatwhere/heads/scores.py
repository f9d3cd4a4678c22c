"""Positional and symbolic scores of attention heads, exact and fast (Section "Scores"; errata E15, E16, E17).

For one head, input and query: how similar is attention before and after two keys swap their contents? Compared place by
place the answer is positional, compared content by content it is symbolic. Averaged over all swaps, each weighted by
the attention that it moves, these are the two scores. They are computed from the trace without another forward pass, in
float64, without sampling unless requested, and are differentiable in queries and keys.

Both scores lie in [0, 1] and their sum is at least 1. Uniform attention scores (1, 1). So ``1 - symbolic``,
``1 - positional`` and ``positional + symbolic - 1`` are not negative and sum to 1: these are the *centred* scores and
the flat rest, and a flat head reads 0, 0 and 1 in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from operator import index

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.entropy import entropy_of
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.long_swaps import TILE, long_scores
from whatwhere.heads.swaps import Factors, ShortInputs, factors
from whatwhere.heads.weighting import TAU, Weighting
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.trace.layer import LayerTrace, Trace

SHORT = 40
"""Up to this many keys, all swaps of all queries are computed at once; above it, only those that can matter."""
SHORT_TILE = 2**16
"""Numbers in the largest temporary of short inputs: attention, or without a compiled kernel M, which is larger."""


def score(
    trace: Trace,
    tau: float = TAU,
    *,
    reading: str | None = None,
    renormalised: bool = False,
    among: Sequence[int] | None = None,
    paths: np.ndarray | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> HeadScores:
    """The positional and symbolic score of every traced head, for every input and query.

    Swaps are those of two keys that the query sees, the query's own position excluded; a swap of i and j weighs
    ``softmax(|D_i - D_j| / tau)``, with D the attention over all visible keys, the query's own included.

    Args:
        trace: the trace of a model on some inputs (:func:`whatwhere.trace`).
        tau: temperature of the weights, above 0. Large: all swaps count the same, and the many that move nothing
            (trivially positional and symbolic at once) hide the rest. Small: only the swaps that move most count.
        reading: which queries are averaged: ``last``, ``path`` (the pointers on the hop path), ``all`` (from the third
            token on), or None for all traced ones.
        renormalised: weigh swaps by attention renormalised over the swapped keys, without the query's own: a
            diagnostic for self-attending heads, whose score otherwise depends on unattended keys.
        among: swap only keys at these positions: a diagnostic for heads that look at one kind of token only. Such a
            head is symbolic when tokens of two kinds are swapped, whatever it does within a kind.
        paths: for the reading ``path``: those of the batch that was traced.
        samples: for long inputs, draw this many swaps where all would be needed; ``bound`` of the result is the error.
        seed: of the drawn swaps.

    Raises:
        WhatwhereError: the trace is empty or not a trace; tau is not above 0; the reading is unknown.
    """
    _check_trace(trace)
    if among is not None:
        try:
            among = tuple(index(one) for one in among)
        except TypeError as error:
            raise WhatwhereError(f"expected positions among which keys are swapped, got {among!r:.80}.") from error
    weighting = Weighting(tau, bool(renormalised), among)
    scores = score_weightings(trace, [weighting], samples=samples, seed=seed)[0]
    return scores if reading is None else scores.read(reading, paths)


def score_weightings(
    trace: Trace, weightings: Sequence[Weighting], *, samples: int | None = None, seed: int = 0
) -> list[HeadScores]:
    """Like :func:`score`, for several weightings: they share everything but the weights."""
    _check_trace(trace)
    if not (samples is None or (isinstance(samples, Integral) and samples >= 1)):
        raise WhatwhereError(f"expected 1 or more samples, got {samples!r:.40}; leave samples out for exact scores.")
    if not (isinstance(seed, Integral) and 0 <= seed <= LARGEST_SEED):
        raise WhatwhereError(f"expected a seed of 0 or more, and at most {LARGEST_SEED:,}, got {seed!r:.40}.")
    long = partial(long_scores, samples=samples, generator=torch.Generator().manual_seed(seed))
    short: list[ShortInputs] = []  # a cache of one entry: that of the previous layer
    found = [_score_layer(layer, weightings, short, long) for layer in trace.layers]
    each = torch.stack(found, 2)  # [weighting, 4, layer, batch, head, query]
    return [
        HeadScores.of(trace.layers, own, weighting, samples=samples)
        for own, weighting in zip(each, weightings, strict=True)
    ]


def _check_trace(trace: object) -> None:
    if not isinstance(trace, Trace):
        raise WhatwhereError(
            f"expected a trace, got a {type(trace).__name__}; make one with whatwhere.trace(model, tokens)."
        )
    trace.check_not_empty()
    for layer in trace.layers:
        if not bool(layer.queries.isfinite().all()):
            raise WhatwhereError(
                f"expected finite queries, got some in layer {layer.layer} that are not; the model has "
                "weights that are no numbers, or its numbers overflow."
            )


ScoresOf = Callable[[LayerTrace, Tensor, Sequence[Factors]], Tensor]
"""From a layer, its logits ``[row, query, key]`` and weightings to scores ``[weighting, 2, row, query]``."""


def _score_layer(
    layer: LayerTrace, weightings: Sequence[Weighting], short: list[ShortInputs], long: ScoresOf
) -> Float[Tensor, "weighting 4 batch head query"]:
    """One layer, some inputs at a time (and, of long inputs, some queries), so that float64 copies stay small."""
    _, heads, queries, width = layer.queries.shape
    keys = layer.keys.shape[2]
    parts = []
    if keys <= SHORT:
        for part in layer.parts(SHORT_TILE // (heads * keys * queries)):
            counted = torch.stack([weighting.counted(part) for weighting in weightings]).any(0)  # [query, key]
            if not short or not short[0].fits(part, counted):
                short[:] = [ShortInputs(part, counted)]
            compiled = short[0].compiled(part, weightings)
            parts.append(score_part(part, weightings, short[0].scores) if compiled is None else compiled)
        return torch.cat(parts, 2)
    size = max(1, TILE // (heads * keys * width))
    some = max(1, TILE // (heads * keys * min(len(layer.keys), size)))
    for part in layer.parts(size):
        few = (part.of_queries(slice(start, start + some)) for start in range(0, queries, some))
        parts.append(torch.cat([score_part(those, weightings, long) for those in few], -1))
    return torch.cat(parts, 2)


def score_part(
    layer: LayerTrace, weightings: Sequence[Weighting], scores_of: ScoresOf
) -> Float[Tensor, "weighting 4 batch head query"]:
    """Positional, symbolic, entropy and attention to itself: of some queries of uniform inputs, in float64."""
    counted = torch.stack([weighting.counted(layer) for weighting in weightings])  # [weighting, query, key]
    logits = layer.logits()  # [batch, head, query, key]
    facts, attention = _attention_facts(layer, logits)
    rows = logits.flatten(0, 1)
    weights = _swap_factors(rows, attention.flatten(0, 1), weightings, counted)
    scores = scores_of(layer, rows, weights).unflatten(2, logits.shape[:2])  # [weighting, 2, batch, head, query]
    return torch.cat([scores, facts.expand_as(scores)], 1)


def _attention_facts(
    layer: LayerTrace, logits: Float[Tensor, "batch head query key"]
) -> tuple[Float[Tensor, "2 batch head query"], Float[Tensor, "batch head query key"]]:
    """Entropy and attention to the query's own position, and attention itself."""
    log_attention = logits
    if layer.sink is not None:  # takes part in the softmax, and is never swapped
        log_attention = torch.cat([logits, layer.sink.to(logits)[:, None, None].expand(*logits.shape[:-1], 1)], -1)
    log_attention = log_attention.log_softmax(-1)
    attention = log_attention.exp()[..., : logits.shape[-1]]
    own = layer.key_positions == layer.query_positions[:, None]  # [query, key]
    return torch.stack([entropy_of(log_attention), (attention * own).sum(-1)]), attention


def _swap_factors(
    logits: Float[Tensor, "row query key"],
    attention: Float[Tensor, "row query key"],
    weightings: Sequence[Weighting],
    counted: Bool[Tensor, "weighting query key"],
) -> list[Factors]:
    """How each weighting weighs swaps of its counted keys."""
    found: list[Factors] = []
    known: dict[tuple[bool, tuple[int, ...] | None], Factors] = {}
    for weighting, those in zip(weightings, counted, strict=True):
        kind = weighting.renormalised, weighting.among
        if kind not in known:
            mass = attention
            if weighting.renormalised:  # a query without counted keys is unchanged; it has no score
                mass = logits.masked_fill(~those & those.any(-1, keepdim=True), -torch.inf).softmax(-1)
            known[kind] = factors(mass, weighting.tau, those)
        found.append(known[kind]._replace(tau=weighting.tau))
    return found
