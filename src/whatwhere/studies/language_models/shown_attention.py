"""Where each head looks in a few inputs: what the page shows when a head is opened.

Of each head and query only the keys that get a share worth showing are kept, so that hundreds of heads stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from whatwhere.studies.language_models.scored_inputs import ScoredInputs
from whatwhere.studies.language_models.tables import Look, Token
from whatwhere.studies.language_models.token_windows import query_positions
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import Traceable

SHOWN_INPUTS = 2
SHOWN_TOKENS = 256
"""At most so many tokens of an input; later ones do not change what is seen at earlier queries."""
SHOWN_QUERIES = 4
LEAST_SHARE = 0.005
"""Keys that get less attention are left out."""


def shown_tokens(inputs: ScoredInputs) -> list[Token]:
    """The tokens of the shown inputs."""
    shown = inputs.ids[:SHOWN_INPUTS, :SHOWN_TOKENS].tolist()
    return [
        Token(number, position, text)
        for number, row in enumerate(shown)
        for position, text in enumerate(inputs.spell(row))
    ]


@torch.no_grad()
def shown_attention(model: Traceable, inputs: ScoredInputs, chosen: Mapping[int, Sequence[int]]) -> list[Look]:
    """The attention of the chosen heads at a few queries of the shown inputs, in one pass."""
    shown = inputs.ids[:SHOWN_INPUTS, :SHOWN_TOKENS]
    queries = query_positions(str(SHOWN_QUERIES), shown.shape[1])

    def look(layer: LayerTrace) -> list[Look]:
        heads = list(chosen[layer.layer])
        attention = layer.of_heads(heads).attention().float().cpu()  # [input, head, query, key]
        kept = (attention >= LEAST_SHARE).nonzero()
        shares = attention[kept.unbind(1)].tolist()
        return [
            Look(layer.layer, heads[head], number, queries[query], key, round(share, 3))
            for (number, head, query, key), share in zip(kept.tolist(), shares, strict=True)
        ]

    found = model.stream(shown, look, layers=list(chosen), queries=queries)
    return sorted((row for layer in found for row in layer), key=lambda row: (row.layer, row.head, row.input))
