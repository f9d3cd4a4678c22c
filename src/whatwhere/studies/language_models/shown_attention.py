"""Where each head looks in a few inputs: what the page shows when a head is opened.

Of each head and query only the keys that get a share worth showing are kept, so that hundreds of heads stay small.
"""

from __future__ import annotations

from collections.abc import Sequence

from whatwhere.studies.language_models.layer_facts import SHOWN_INPUTS, SHOWN_TOKENS, LayerFacts
from whatwhere.studies.language_models.scored_inputs import ScoredInputs
from whatwhere.studies.language_models.tables import Look, Token
from whatwhere.studies.language_models.token_windows import query_positions

SHOWN_QUERIES = 4
LEAST_SHARE = 0.005
"""Keys that get less attention are left out."""


def shown_queries(inputs: ScoredInputs) -> list[int]:
    """The queries at which attention is shown."""
    return query_positions(str(SHOWN_QUERIES), min(inputs.ids.shape[1], SHOWN_TOKENS))


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
        attention = layer.shown[:SHOWN_INPUTS].transpose(0, 1)  # [head, input, query, key]
        kept = (attention >= LEAST_SHARE).nonzero()
        found += [
            Look(layer.layer, layer.heads[head], number, queries[query], key, round(share, 3))
            for (head, number, query, key), share in zip(kept.tolist(), attention[kept.unbind(1)].tolist(), strict=True)
        ]
    return found
