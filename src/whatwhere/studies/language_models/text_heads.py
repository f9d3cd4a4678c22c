"""The heads of a language model on text: scores, entropy, frequency use and labels of each.

One pass per batch of windows; each layer is reduced to a few numbers per input, head and query as it passes
(:meth:`whatwhere.trace.rotary.RotaryModel.stream`), so memory grows with neither depth nor the number of windows.

Language models park attention that they do not need on the first token. Such a head follows that token's content
whenever it is swapped, so the paper's score calls it symbolic, whatever it does with the attention that is left. Beside
the paper's score there is therefore a second one, ``rest_*``: swaps among the keys after the first, weighed by
attention among themselves. A diagnostic, as ``renormalised`` is for heads that attend to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import frequency_use, weighted_id
from whatwhere.heads.purity import GAMMAS, check_gamma
from whatwhere.heads.head_scores import HeadScores, join_inputs
from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import TAU, Weighting
from whatwhere.heads.summary import HeadSummary, label_of, summary_rows
from whatwhere.machine.memory import in_smaller_blocks
from whatwhere.studies.language_models.induction import induction
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.rotary import RotaryModel

TOKENS_AT_ONCE = 2048
"""Tokens per forward pass."""
CELLS_AT_ONCE = 2**22
"""Attention weights that are held at a time."""


@dataclass(frozen=True)
class TextHead(HeadSummary):
    """What is known about one head of a language model on a text; a row of the table."""

    previous: float
    """Attention to the token before the query."""
    first: float
    """Attention to the first token of the window."""
    induction: float
    """On random tokens that repeat: attention to what followed last time (:mod:`whatwhere.studies.language_models.induction`)."""
    rest_positional: float
    """Scores of swaps among the keys after the first, weighed by attention among themselves; not the paper's."""
    rest_symbolic: float
    rest_label: str
    planes: int
    """Rotary planes of the head; 0 in a layer without rotation, where every head is symbolic by construction."""
    weighted_id: float
    """The paper's frequency ID (1 is the fastest), before rounding."""
    dominant_id: int
    """The ID of the plane that tells keys apart most; 0 without rotation."""
    dominant_share: float
    """That plane's share of the variance of logits over keys."""
    dominant_frequency: float
    """In radians per token."""
    spectrum: tuple[float, ...] = ()
    """Every plane's share of that variance, from the fastest; not a column of the table."""


COLUMNS = tuple(field.name for field in fields(TextHead) if field.name != "spectrum")


def map_heads(
    model: RotaryModel,
    tokens: Int[Tensor, "window seq"],
    *,
    queries: Sequence[int] = (-1,),
    layers: Sequence[int] | None = None,
    heads: Mapping[int, Sequence[int]] | None = None,
    tau: float = TAU,
    gamma: float = GAMMAS[0],
    seed: int = 0,
    progress: Callable[[], object] = lambda: None,
) -> tuple[list[TextHead], float]:
    """Scores the heads of a model on windows of tokens.

    Args:
        model: a transformers model, adapted.
        tokens: the windows, without padding.
        queries: positions within each window.
        layers: which layers, from 0; all by default.
        heads: which heads of each layer; all by default.
        tau: temperature of the weights.
        gamma: tolerance of the labels.
        seed: of the intervals.
        progress: called after each layer of each batch of windows.

    Returns:
        One row per head, and the largest difference between an output that was rebuilt and the model's own.

    Raises:
        WhatwhereError: the windows are shorter than three tokens, or what :func:`whatwhere.trace` refuses.
    """
    check_gamma(gamma)
    if tokens.shape[1] < 3:
        raise WhatwhereError(
            f"windows of at least three tokens were expected (two keys to swap, and a query), not of {tokens.shape[1]}."
        )

    def reduce(layer: LayerTrace) -> _Layer:
        reduced = _reduce(layer, tau)
        progress()
        return reduced

    def stream(some: Tensor) -> list[_Layer]:
        return list(model.stream(some, reduce, layers=layers, queries=queries))

    reduced, error = [], 0.0
    for batch in batches(tokens):
        reduced.append(
            in_smaller_blocks(stream, batch, lambda blocks: [_join(parts) for parts in zip(*blocks, strict=True)])
        )
        error = max(error, *model.errors.values())
    found = induction(model, layers=layers, seed=seed)  # [layer, head]
    rows: list[TextHead] = []
    for parts, repeats in zip(zip(*reduced, strict=True), found.tolist(), strict=True):
        layer = _join(parts)
        summary = summary_rows(layer.scores, layer.renormalised, gamma=gamma, seed=seed)
        wanted = None if heads is None else heads.get(summary[0].layer)
        rows += [
            _row(layer, head, repeats[head.head], gamma) for head in summary if wanted is None or head.head in wanted
        ]
    return rows, error


def batches(tokens: Int[Tensor, "window seq"]) -> Sequence[Tensor]:
    """The windows of each forward pass."""
    return tokens.split(max(1, TOKENS_AT_ONCE // tokens.shape[1]))


@dataclass(frozen=True, eq=False)
class _Layer:
    """One layer on some windows, reduced."""

    scores: HeadScores
    renormalised: HeadScores
    rest: HeadScores
    places: Float[Tensor, "2 batch head query"]
    """Attention to the token before the query, and to the first."""
    use: Float[np.ndarray, "batch head plane"]
    frequencies: Float[np.ndarray, "plane"]


def _reduce(layer: LayerTrace, tau: float) -> _Layer:
    trace = Trace((layer,))
    after_first = tuple(range(1, layer.keys.shape[2]))
    scores, renormalised, rest = score_weightings(
        trace, [Weighting(tau), Weighting(tau, renormalised=True), Weighting(tau, renormalised=True, among=after_first)]
    )
    planes = len(layer.rotation.frequencies)
    return _Layer(
        scores=scores,
        renormalised=renormalised,
        rest=rest,
        places=_places(layer),
        use=frequency_use(trace).each[0] if planes else np.zeros((*layer.keys.shape[:2], 0)),
        frequencies=layer.rotation.frequencies.numpy(force=True),
    )


def _places(layer: LayerTrace) -> Float[Tensor, "2 batch head query"]:
    """Attention to the token before each query and to the first token; some queries at a time."""
    batch, heads, asked, _ = layer.queries.shape
    some = max(1, CELLS_AT_ONCE // (batch * heads * layer.keys.shape[2]))
    found = []
    for start in range(0, asked, some):
        part = layer.of_queries(slice(start, start + some))
        attention = part.attention()  # [batch, head, query, key]
        before = (part.query_positions - 1).clamp(min=0)[:, None].expand(*attention.shape[:3], 1)
        found.append(torch.stack([attention.take_along_dim(before, -1)[..., 0], attention[..., 0]]))
    return torch.cat(found, -1)


def _join(parts: Sequence[_Layer]) -> _Layer:
    """The same layer on more windows."""
    return _Layer(
        scores=join_inputs([part.scores for part in parts]),
        renormalised=join_inputs([part.renormalised for part in parts]),
        rest=join_inputs([part.rest for part in parts]),
        places=torch.cat([part.places for part in parts], 1),
        use=np.concatenate([part.use for part in parts]),
        frequencies=parts[0].frequencies,
    )


def _row(layer: _Layer, summary: HeadSummary, repeats: float, gamma: float) -> TextHead:
    head = summary.head
    rest = float(layer.rest.positional[0, head]), float(layer.rest.symbolic[0, head])
    use = layer.use[:, head]  # [window, plane]
    weights = np.nanmean(use, 0) if use.shape[1] and not np.isnan(use).all() else np.zeros(0)
    best = int(weights.argmax()) if len(weights) else None
    previous, first = layer.places[:, :, head].mean((1, 2)).tolist()
    return TextHead(
        **asdict(summary),
        previous=previous,
        first=first,
        induction=repeats,
        rest_positional=rest[0],
        rest_symbolic=rest[1],
        rest_label=label_of(*rest, gamma),
        planes=len(layer.frequencies),
        weighted_id=float(weighted_id(weights)) if len(weights) else float("nan"),
        dominant_id=0 if best is None else best + 1,
        dominant_share=float("nan") if best is None else float(weights[best]),
        dominant_frequency=float("nan") if best is None else float(layer.frequencies[best]),
        spectrum=tuple(weights.tolist()),
    )
