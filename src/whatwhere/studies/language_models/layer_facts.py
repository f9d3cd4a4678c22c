"""One layer on some inputs, reduced to a few numbers per input, head and query; and the data of the page.

Language models put attention that they do not need on the first token. Such a head follows that token's content
whenever it is swapped, so the paper's score calls it symbolic, independent of the rest of its attention. So there is a
second score, *rest*: swaps among the keys after the first, weighted by attention among themselves. It is a diagnostic,
as *renormalised* is for heads that attend to themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.heads.frequency import frequency_use
from whatwhere.heads.head_scores import HeadScores, join_inputs
from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import TAUS, Weighting
from whatwhere.studies.language_models.scored_inputs import ScoredInputs
from whatwhere.studies.language_models.tables import HeadsSettings, Look, Token
from whatwhere.studies.language_models.token_windows import query_positions
from whatwhere.trace.layer import LayerTrace, Trace

CELLS_AT_ONCE = 2**22
"""Attention weights in memory at a time."""
SHOWN_INPUTS = 2
"""Inputs whose attention the page shows."""
SHOWN_TOKENS = 256
"""The most tokens of each; later ones do not affect earlier queries."""
SHOWN_QUERIES = 4
"""Queries of each."""
LEAST_SHARE = 0.005
"""Keys with less attention are not shown, so that the data of hundreds of heads stay small."""
PAPER, RENORMALISED, REST = "paper", "renormalised", "rest"
_EACH = ("each_positional", "each_symbolic", "each_entropy", "each_own")
"""The fields of scores with one number per input, head and query."""


def weightings_of(inputs: ScoredInputs, settings: HeadsSettings) -> dict[object, Weighting]:
    """Everything that is scored in one pass: by name, by temperature, or by the name of a window."""
    tau, seq = settings.tau, inputs.ids.shape[1]
    found: dict[object, Weighting] = {
        PAPER: Weighting(tau),
        RENORMALISED: Weighting(tau, renormalised=True),
        REST: Weighting(tau, renormalised=True, among=tuple(range(1, seq))),
    }
    found |= {other: Weighting(other) for other in TAUS if settings.taus}
    within = inputs.windows if settings.windows else {}
    return found | {
        ("window", name): Weighting(tau, renormalised=True, among=tuple(places)) for name, places in within.items()
    }


@dataclass(frozen=True, eq=False)
class LayerFacts:
    """One layer on some inputs."""

    layer: int
    heads: Sequence[int]
    """Which of its heads, in the order of the axes below."""
    scores: dict[object, HeadScores]
    """By weighting."""
    looks: Float[Tensor, "look batch head query"]
    """Attention to the token before the query, to the first, and to each window."""
    shown: Float[Tensor, "input head shown_query key"]
    """Attention at the queries that the page shows, in the first of the inputs."""
    use: Float[np.ndarray, "batch head plane"]
    frequencies: Float[np.ndarray, "plane"]

    def both(self, name: object, at: int) -> tuple[float, float]:
        """The positional and the symbolic score of a head, by its index, in one of the weightings."""
        return float(self.scores[name].positional[0, at]), float(self.scores[name].symbolic[0, at])

    def with_scores(self, names: Sequence[object], found: Sequence[HeadScores]) -> LayerFacts:
        """The same with scores of all layers and heads that were made elsewhere."""
        return replace(self, scores={name: self._own(scores) for name, scores in zip(names, found, strict=True)})

    def _own(self, scores: HeadScores) -> HeadScores:
        index = scores.layers.index(self.layer)
        each = {name: getattr(scores, name)[index : index + 1, :, list(self.heads)] for name in _EACH}
        return replace(scores, **each, visible=scores.visible[index : index + 1], layers=(self.layer,))


def reduce_layer(layer: LayerTrace, heads: Sequence[int], inputs: ScoredInputs, settings: HeadsSettings) -> LayerFacts:
    """Reduces a layer, traced at all of :func:`traced_queries`, to the data of the tables."""
    if len(heads) < layer.keys.shape[1]:
        layer = layer.of_heads(heads)
    traced = traced_queries(inputs)
    scored_at, shown_at = (
        torch.tensor([traced.index(query) for query in queries], dtype=torch.long)
        for queries in (inputs.queries, shown_queries(inputs))
    )
    shown = layer.of_queries(shown_at).of_inputs(slice(SHOWN_INPUTS)).attention()[..., :SHOWN_TOKENS]
    layer = layer.of_queries(scored_at)
    trace, weightings = Trace((layer,)), weightings_of(inputs, settings)
    found = score_weightings(trace, list(weightings.values()), samples=settings.samples, seed=settings.seed)
    turns = len(layer.rotation.frequencies) > 0
    return LayerFacts(
        layer=layer.layer,
        heads=heads,
        scores=dict(zip(weightings, found, strict=True)),
        looks=_looks(layer, list(inputs.windows.values()) if settings.windows else []),
        shown=shown.float().cpu(),
        use=frequency_use(trace).each[0] if turns else np.zeros((*layer.keys.shape[:2], 0)),
        frequencies=layer.rotation.frequencies.numpy(force=True),
    )


def _looks(layer: LayerTrace, windows: Sequence[Sequence[int]]) -> Float[Tensor, "look batch head query"]:
    """Attention to some places, some queries at a time."""
    batch, heads, asked, _ = layer.queries.shape
    some = max(1, CELLS_AT_ONCE // (batch * heads * layer.keys.shape[2]))
    found = []
    for start in range(0, asked, some):
        part = layer.of_queries(slice(start, start + some))
        attention = part.attention().double()  # [batch, head, query, key]
        before = (part.query_positions - 1)[:, None].expand(*attention.shape[:3], 1)
        to_previous = attention.take_along_dim(before, -1)[..., 0]
        within = [attention[..., list(places)].sum(-1) for places in windows]
        found.append(torch.stack([to_previous, attention[..., 0], *within]))
    return torch.cat(found, -1)


def join_facts(parts: Sequence[LayerFacts]) -> LayerFacts:
    """The same layer on more inputs."""
    return replace(
        parts[0],
        scores={name: join_inputs([part.scores[name] for part in parts]) for name in parts[0].scores},
        looks=torch.cat([part.looks for part in parts], 1),
        shown=torch.cat([part.shown for part in parts]),
        use=np.concatenate([part.use for part in parts]),
    )


def stack_layers(parts: Sequence[HeadScores]) -> HeadScores:
    """Joins scores of several layers with equally many heads, so that all share the draws of one bootstrap."""
    joined = {name: torch.cat([getattr(part, name) for part in parts]) for name in (*_EACH, "visible")}
    return replace(parts[0], **joined, layers=tuple(layer for part in parts for layer in part.layers))


def shown_queries(inputs: ScoredInputs) -> list[int]:
    """The queries at which the page shows attention."""
    return query_positions(str(SHOWN_QUERIES), min(inputs.ids.shape[1], SHOWN_TOKENS))


def traced_queries(inputs: ScoredInputs) -> list[int]:
    """The queries that are scored and those that the page shows, in order."""
    return sorted({*inputs.queries, *shown_queries(inputs)})


def shown_tokens(inputs: ScoredInputs) -> list[Token]:
    """The tokens of the shown inputs."""
    shown = inputs.ids[:SHOWN_INPUTS, :SHOWN_TOKENS].tolist()
    return [
        Token(number, position, text)
        for number, row in enumerate(shown)
        for position, text in enumerate(inputs.spell(row))
    ]


def shown_attention(facts: Sequence[LayerFacts], queries: Sequence[int]) -> list[Look]:
    """The attention of every head at some queries of the shown inputs."""
    found = []
    for layer in facts:
        attention = layer.shown[:SHOWN_INPUTS].transpose(0, 1).double().numpy()  # [head, input, query, key]
        kept = (attention >= LEAST_SHARE).nonzero()
        head, number, query, key = kept
        columns = np.take(layer.heads, head), number, np.take(queries, query), key, attention[kept].round(3)
        found += map(Look, repeat(layer.layer), *(column.tolist() for column in columns))
    return found
