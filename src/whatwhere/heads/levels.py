"""Scores of a model on inputs, with swaps of keys or of tokens.

``level="keys"``: two key vectors of the layer itself are swapped, and nothing else. This is the paper's definition,
over tuples of hidden vectors, and costs no further forward pass.

``level="tokens"``: two input tokens are swapped and the model runs again, once per swap. At layer 0 the score is the
same. In deeper layers the swap also changes the query and every other key, so the score describes the model up to that
layer and not the head alone. It is for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.head_scores import HeadScores, join_inputs
from whatwhere.heads.scores import score_part, score_weightings
from whatwhere.heads.swaps import Factors, Swaps, all_swaps, weighted_means
from whatwhere.heads.weighting import TAU, Weighting
from whatwhere.machine.memory import in_smaller_blocks
from whatwhere.machine.threads import parallel_map
from whatwhere.trace.layer import LayerTrace, Tokens, Trace
from whatwhere.trace.traceable import trace

TOKENS_AT_ONCE = 2**10
"""Tokens per forward pass: their activations fit the cache, and traces of long inputs stay small."""


def score_model(
    model: object,
    tokens: Tokens,
    tau: float = TAU,
    *,
    level: str = "keys",
    renormalised: bool = False,
    among: Sequence[int] | None = None,
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
) -> HeadScores:
    """Traces a model on some inputs and scores its heads, by default at the last query.

    The model is anything that can be traced. ``tau``, ``renormalised`` and ``among`` are those of
    :func:`whatwhere.heads.scores.score`, ``layers`` and ``queries`` those of :func:`whatwhere.trace`; the errors are
    those of :func:`score_model_weightings`.
    """
    weighting = Weighting(tau, renormalised, None if among is None else tuple(among))
    return score_model_weightings(model, tokens, [weighting], level=level, layers=layers, queries=queries)[0]


def score_model_weightings(
    model: object,
    tokens: Tokens,
    weightings: Sequence[Weighting],
    *,
    level: str = "keys",
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
) -> list[HeadScores]:
    """Like :func:`score_model`, for several weightings (such as the band of tau) in one pass.

    Blocks of inputs run in parallel, on as many cores as torch may use (``torch.set_num_threads``). The result does not
    depend on the number of cores. If memory runs out, blocks are split, which changes the result by rounding only.

    Raises:
        WhatwhereError: an unknown level, no inputs, other queries than the last for ``tokens``, or the errors of
            :func:`whatwhere.trace` and :func:`whatwhere.score`.
    """
    if level not in ("keys", "tokens"):
        raise WhatwhereError(f"expected level 'keys' or 'tokens', got {level!r}; 'keys' is the paper's.")
    if level == "tokens" and queries is not None and list(queries) != [-1]:
        raise WhatwhereError(f"expected the last query alone for level 'tokens', got {queries}; leave queries out.")
    ids = torch.as_tensor(tokens)
    if ids.ndim != 2 or len(ids) == 0:
        raise WhatwhereError(
            f"expected tokens [batch, seq] of at least one input, got {tuple(ids.shape)}; pass one row per input."
        )

    @torch.no_grad()
    def part(some: Tensor) -> list[HeadScores]:
        if level == "tokens":
            return _score_token_swaps(model, some, weightings, layers)
        return score_weightings(trace(model, some, layers=layers, queries=queries), weightings)

    def join(parts: Sequence[list[HeadScores]]) -> list[HeadScores]:
        return [join_inputs(same) for same in zip(*parts, strict=True)]

    blocks = ids.split(max(1, TOKENS_AT_ONCE // max(1, ids.shape[1])))
    return join(parallel_map(lambda block: in_smaller_blocks(part, block, join), blocks))


def _score_token_swaps(
    model: object, tokens: Int[Tensor, "batch seq"], weightings: Sequence[Weighting], layers: Sequence[int] | None
) -> list[HeadScores]:
    """The definition of the scores with tokens instead of keys: one forward pass per swap."""
    before = trace(model, tokens, layers=layers)
    place = torch.arange(tokens.shape[1])
    swaps = all_swaps((place < len(place) - 1)[None])
    after = _swapped_differences(model, tokens, before, swaps)
    differences = dict(zip([layer.layer for layer in before.layers], after, strict=True))

    def scores_of(layer: LayerTrace, logits: Tensor, weights: Sequence[Factors]) -> Tensor:
        plain = logits[:, 0, swaps.key].T  # [entry, row]
        return weighted_means(plain[swaps.first] - plain[swaps.second], differences[layer.layer], swaps, weights)

    each = [score_part(layer.double(), weightings, scores_of) for layer in before.layers]
    stacked = torch.stack(each, 2)  # [weighting, 4, layer, batch, head, 1]
    return [
        HeadScores.of(before.layers, own, weighting, "tokens")
        for own, weighting in zip(stacked, weightings, strict=True)
    ]


def _swapped_differences(
    model: object, tokens: Int[Tensor, "batch seq"], before: Trace, swaps: Swaps
) -> Float[Tensor, "layer swap row"]:
    """The logit difference of the two places of each swap, once their tokens are swapped."""
    after = []
    for i, j in zip(swaps.key[swaps.first].tolist(), swaps.key[swaps.second].tolist(), strict=True):
        order = list(range(tokens.shape[1]))
        order[i], order[j] = j, i
        swapped = trace(model, tokens[:, order], layers=[layer.layer for layer in before.layers])
        logits = torch.stack([layer.double().logits()[:, :, -1].flatten(0, 1) for layer in swapped.layers])
        after.append(logits[..., i] - logits[..., j])  # [layer, row]
    rows = before.layers[0].keys.shape[:2].numel()
    return torch.stack(after, 1) if after else torch.zeros(len(before.layers), 0, rows, dtype=torch.float64)
