"""Texts cut into windows of tokens, query positions, and the text of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.passages import Passage, TextSettings
from whatwhere.studies.language_models.tables import LEAST_TOKENS
from whatwhere.trace.rotary import RotaryModel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_PLACE = "PLACE-OF-THE-TEXT"
"""A placeholder for the text in a chat template."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of equal length."""

    ids: Int[Tensor, "window seq"]
    begins: str
    """What stands before the text in each of them."""


def require_text_model(model: Any, settings: TextSettings) -> RotaryModel:
    """Raises an error for a model without a tokenizer, or settings without a text."""
    name = Path(model.name).name
    if not isinstance(model, RotaryModel) or model.tokenizer is None:
        raise WhatwhereError(
            f"expected a language model with its tokenizer, got {name} without one; put tokenizer.json and "
            "tokenizer_config.json beside the model, or give RotaryModel(model, tokenizer=tokenizer)."
        )
    if not settings.passages:
        raise WhatwhereError(f"expected a text for the language model {name}, got none; name one with --text FILE.")
    return model


def cut_windows(
    passages: Sequence[Passage],
    tokenizer: PreTrainedTokenizerBase,
    *,
    tokens: int,
    windows: int,
    template: bool = False,
) -> Windows:
    """The first tokens of each text, in windows of equal length; a text shorter than a window shortens all of them.

    What a tokenizer puts before every text (a first token) or a chat template around a message (``template``) is in
    every window, and counts among its tokens. Each text gives equally many of the windows, if it is long enough.
    """
    if windows < len(passages):
        raise WhatwhereError(
            f"expected at least one window for each of {len(passages)} texts, got {windows}; raise inputs."
        )
    before, after = _template(tokenizer) if template else (first_tokens(tokenizer), [])
    around = len(before) + len(after)
    bodies = [token_ids(tokenizer, passage.text) for passage in passages]
    shortest, passage = min(zip(map(len, bodies), passages, strict=True), key=lambda pair: pair[0])
    if around + shortest < LEAST_TOKENS:
        raise WhatwhereError(
            f"expected a text of at least {LEAST_TOKENS} tokens (two keys to swap, and a query), got "
            f"{around + shortest} from {passage.name}; give a longer text."
        )
    body = min(tokens - around, shortest)
    if body < 1:
        raise WhatwhereError(
            f"expected windows of more than the {around} tokens around each text, got {tokens}; raise window."
        )
    cut = []
    for index, ids in enumerate(bodies):
        share = windows // len(passages) + (index < windows % len(passages))
        starts = [body * number for number in range(min(share, len(ids) // body))]
        cut += [before + ids[start : start + body] + after for start in starts]
    return Windows(torch.tensor(cut), str(tokenizer.decode(before)) if before else "")


def token_ids(tokenizer: PreTrainedTokenizerBase, text: str, **options: Any) -> list[int]:
    """The ids of a text, with nothing before or after it unless asked for."""
    return list(tokenizer(text, **{"add_special_tokens": False, "verbose": False, **options})["input_ids"])  # pyright: ignore[reportArgumentType]


def answered(tokenizer: PreTrainedTokenizerBase, asked: str, answer: str) -> tuple[list[int], int]:
    """A question with its answer, and where the answer begins."""
    alone, whole = token_ids(tokenizer, asked), token_ids(tokenizer, f"{asked} {answer}")
    same = next((at for at, (a, b) in enumerate(zip(alone, whole, strict=False)) if a != b), len(alone))
    return whole, min(same, len(whole) - 1)


def first_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """What the tokenizer puts before any text; often nothing, or the token that begins a sequence."""
    plain, whole = token_ids(tokenizer, "a"), token_ids(tokenizer, "a", add_special_tokens=True)
    starts = (start for start in range(len(whole)) if whole[start : start + len(plain)] == plain)
    return whole[: next(starts, 0)]


def _template(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """The tokens before and after a user's message, up to the start of the model's reply."""
    try:
        filled = str(
            tokenizer.apply_chat_template(
                [{"role": "user", "content": _PLACE}], tokenize=False, add_generation_prompt=True
            )
        )
    except Exception as error:  # no template, one that refuses, or no library to read it: each its own kind
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise WhatwhereError(
            f"expected a model with a chat template, got none that can be filled ({reason:.160}); leave template out."
        ) from error
    before, found, after = filled.partition(_PLACE)
    if not found:
        raise WhatwhereError(
            f"expected a chat template that holds the user's message, got one without it ({filled!r:.80}); leave "
            "template out."
        )
    return token_ids(tokenizer, before), token_ids(tokenizer, after)


def query_positions(asked: str, seq: int) -> list[int]:
    """Query positions within an input: ``last``, ``all`` (from the third token on), or how many.

    These are spread evenly over the second half of the input, so that each sees many keys, and end with the last token.
    """
    every = list(range(LEAST_TOKENS - 1, seq))
    if asked == "last":
        return [seq - 1]
    if asked == "all":
        return every
    half = [place for place in every if place >= seq // 2]
    return sorted({half[round(at)] for at in torch.linspace(len(half) - 1, 0, min(int(asked), len(half))).tolist()})


def spell(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """The text of each token, with the spaces that it stands for; joined they are the text.

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
