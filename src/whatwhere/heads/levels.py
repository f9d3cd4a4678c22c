"""Scores of a model on inputs, and what it is that changes places: keys or tokens.

``level="keys"``: two key vectors of the layer itself are exchanged, and nothing else. This is the paper's definition,
over tuples of hidden vectors, and costs no further forward pass.

``level="tokens"``: two input tokens are exchanged and the model runs again, once per swap. The same at layer 0; deeper,
the swap also changes the query and every other key, so the score speaks of the model up to that layer and not of the
head alone. A variant for comparison, and the measurement one would make by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import TAU, HeadScores, Weighting, join_inputs, score, stack_scores, weigh
from whatwhere.heads.swaps import Tile
from whatwhere.machine.memory import in_smaller_blocks
from whatwhere.machine.threads import parallel_map
from whatwhere.trace.layer import LayerTrace, Tokens, Trace, Traceable, trace

TOKENS_AT_ONCE = 2**10
"""Tokens per forward pass: their activations fit the cache, and traces of long inputs stay small."""


def score_model(
    model: Traceable,
    tokens: Tokens,
    tau: float = TAU,
    *,
    level: str = "keys",
    renormalised: bool = False,
    among: Sequence[int] | None = None,
    layers: Sequence[int] | None = None,
) -> HeadScores:
    """Traces a model on some inputs and scores its heads at the last query.

    Some inputs at a time, on as many cores as torch may use (``torch.set_num_threads``): the passes are too small to
    share one among cores. The result does not depend on the number of cores. Where memory runs out, the inputs go in
    smaller blocks, which changes it by rounding only.

    Args:
        model: anything with a trace.
        tokens: ids ``[batch, seq]``, at least one input.
        tau: temperature of the weights; see :func:`whatwhere.heads.scores.score`.
        level: what is swapped, ``keys`` (the paper's score) or ``tokens``.
        renormalised: see :func:`whatwhere.heads.scores.score`.
        among: see :func:`whatwhere.heads.scores.score`.
        layers: which layers, from 0; all by default.

    Raises:
        WhatwhereError: an unknown level, no inputs, or what :func:`whatwhere.trace` and :func:`whatwhere.score` refuse.
    """
    if level not in ("keys", "tokens"):
        raise WhatwhereError(f"level must be 'keys' or 'tokens', not {level!r}.")
    ids = torch.as_tensor(tokens)
    if ids.ndim != 2 or len(ids) == 0:
        raise WhatwhereError(f"tokens [batch, seq] of at least one input were expected; {tuple(ids.shape)} arrived.")
    weighting = Weighting(tau, renormalised, None if among is None else tuple(among))

    @torch.no_grad()
    def part(some: Tensor) -> HeadScores:
        if level == "tokens":
            return _score_token_swaps(model, some, weighting, layers)
        return score(trace(model, some, layers=layers), tau, renormalised=renormalised, among=among)

    def in_blocks(block: Tensor) -> HeadScores:
        return in_smaller_blocks(part, block, join_inputs)

    blocks = ids.split(max(1, TOKENS_AT_ONCE // max(1, ids.shape[1])))
    return join_inputs(parallel_map(in_blocks, blocks))


def _score_token_swaps(
    model: Traceable, tokens: Int[Tensor, "batch seq"], weighting: Weighting, layers: Sequence[int] | None
) -> HeadScores:
    """What the definition says, with tokens for keys: one forward pass per swap."""
    before = trace(model, tokens, layers=layers)
    after = _swapped_differences(model, tokens, before)
    each = []
    for layer, differences in zip(before.layers, after, strict=True):

        def swaps(keys: Tensor, differences: Tensor = differences) -> Iterator[Tile]:
            i, j = torch.triu_indices(len(keys), len(keys), offset=1, device=keys.device)
            yield Tile(i, j, differences[keys[i], keys[j]])

        logits = layer.double().logits()[:, :, -1]
        each.append(weigh(layer, -1, logits, swaps, [weighting])[0, ..., None])
    return stack_scores(before.layers, torch.stack(each, 1), weighting, "tokens")


def _swapped_differences(
    model: Traceable, tokens: Int[Tensor, "batch seq"], before: Trace
) -> Float[Tensor, "layer key key row"]:
    """The logit difference of places i and j once tokens i and j have changed places, for i < j before the query."""
    first = before.layers[0]
    batch, heads, seq, _ = first.keys.shape
    after = torch.full((len(before.layers), seq, seq, batch * heads), torch.nan, dtype=torch.float64)
    after = after.to(first.keys.device)
    for i in range(seq - 1):
        for j in range(i + 1, seq - 1):
            order = list(range(seq))
            order[i], order[j] = j, i
            swapped = trace(model, tokens[:, order], layers=[layer.layer for layer in before.layers])
            for layer, differences in zip(swapped.layers, after, strict=True):
                differences[i, j] = _difference(layer, i, j)
    return after


def _difference(layer: LayerTrace, i: int, j: int) -> Float[Tensor, "row"]:
    logits = layer.double().logits()[:, :, -1]  # [batch, head, key]
    return (logits[..., i] - logits[..., j]).flatten()
