"""Where each head looks in a piece of text: what the page of the head map shows when a head is opened.

One forward pass over the first window of the text. Of each head and query only the keys that get a share worth showing
are kept, so that hundreds of heads stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Int
from torch import Tensor

from whatwhere.studies.language_models.text import spread_queries
from whatwhere.trace.layer import LayerTrace

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from whatwhere.trace.rotary import RotaryModel

SHOWN_TOKENS = 256
"""At most so many tokens of the window are shown; later ones do not change what is seen at earlier queries."""
SHOWN_QUERIES = 4
LEAST_SHARE = 0.005
"""Keys that get less attention are left out."""

Shares = tuple[tuple[int, float], ...]
"""Keys and their attention, by position."""


@dataclass(frozen=True)
class TextAttention:
    """Attention of some heads at some places of a text."""

    tokens: tuple[str, ...]
    """The text, cut as the model reads it; joined they are the text."""
    queries: tuple[int, ...]
    heads: Mapping[tuple[int, int], tuple[Shares, ...]]
    """By layer and head: for each query, the keys that it looks at."""


def text_attention(
    model: RotaryModel,
    tokenizer: PreTrainedTokenizerBase,
    window: Int[Tensor, "seq"],
    layers: Sequence[int] | None = None,
) -> TextAttention:
    """Looks where the heads look.

    Args:
        model: adapted.
        tokenizer: says what the tokens are called.
        window: token ids; the first of them are used.
        layers: which layers, from 0; all by default.
    """
    ids = window[:SHOWN_TOKENS]
    queries = spread_queries(str(SHOWN_QUERIES), len(ids))
    heads: dict[tuple[int, int], tuple[Shares, ...]] = {}

    def keep(layer: LayerTrace) -> None:
        attention = layer.attention()[0].float().cpu()  # [head, query, key]
        for head, rows in enumerate(attention):
            heads[layer.layer, head] = tuple(_shares(row) for row in rows)

    model.stream(ids[None], keep, layers=layers, queries=queries)
    return TextAttention(tuple(spell(tokenizer, ids.tolist())), tuple(queries), heads)


def spell(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """The text of each token, with the spaces that it stands for.

    A token alone may lose its space, so each is what it adds to the tokens before it. Where one character is spread
    over several tokens, its last one shows it and the others are empty.
    """
    texts, before = [], ""
    for end in range(1, len(ids) + 1):
        now = str(tokenizer.decode(list(ids[:end]), clean_up_tokenization_spaces=False))
        whole = now.rstrip("\N{REPLACEMENT CHARACTER}") if end < len(ids) else now
        texts.append(whole[len(before) :] if whole.startswith(before) else "")
        before = whole if whole.startswith(before) else before
    return texts


def _shares(row: Tensor) -> Shares:
    keys = (row >= LEAST_SHARE).nonzero().flatten().tolist()
    return tuple((key, round(float(row[key]), 3)) for key in keys)
