"""Text for a language model: a file, cut into windows of tokens, and the positions to ask from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LEAST = 3
"""Tokens that a score needs: two keys to swap, and a query."""


def read_text_file(path: Path) -> str:
    """A text file as the user wrote it.

    Raises:
        WhatwhereError: there is no such file, it is empty, or it is not text in UTF-8.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WhatwhereError(f"a text file was expected at {path}: {error.strerror or error}.") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WhatwhereError(
            f"text in UTF-8 was expected in {path}, and byte {error.start} is none; it may be a binary file."
        ) from error
    if "\0" in text:
        raise WhatwhereError(f"text was expected in {path}, and it holds zero bytes; it seems to be a binary file.")
    if not text.strip():
        raise WhatwhereError(f"some text was expected in {path}, and it is empty.")
    return text


def cut_windows(
    text: str, tokenizer: PreTrainedTokenizerBase, *, tokens: int, windows: int
) -> Int[Tensor, "window seq"]:
    """The first tokens of a text, in windows of equal length; a text shorter than one window makes a shorter one.

    A tokenizer that begins every text with a special token does so in every window.

    Args:
        text: any.
        tokenizer: of the model.
        tokens: of each window, the special token included.
        windows: at most so many.

    Raises:
        WhatwhereError: the text, or a window, has fewer than three tokens.
    """
    if tokens < LEAST or windows < 1:
        raise WhatwhereError(
            f"at least one window of at least {LEAST} tokens was expected, and {windows} of {tokens} were asked for."
        )
    ids = list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])  # pyright: ignore[reportArgumentType]
    start = _first_token(tokenizer)
    body = tokens - len(start)
    if len(start) + len(ids) < LEAST:
        raise WhatwhereError(
            f"a text of at least {LEAST} tokens was expected (two keys to swap, and a query), and it has "
            f"{len(start) + len(ids)}."
        )
    if len(ids) < body:
        return torch.tensor([start + ids])
    whole = min(windows, len(ids) // body)
    return torch.tensor([start + ids[body * index : body * (index + 1)] for index in range(whole)])


def _first_token(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """What the tokenizer puts before any text: nothing, or the token that begins a sequence."""
    first = tokenizer.bos_token_id
    with_special = list(tokenizer("a")["input_ids"])  # pyright: ignore[reportArgumentType]
    return [first] if isinstance(first, int) and with_special[:1] == [first] else []


def spread_queries(asked: str, seq: int) -> list[int]:
    """Query positions within a window.

    Args:
        asked: ``last``, ``all`` (from the third token on), or how many: these are spread evenly over the second half of
            the window, so that each sees many keys, and end with the last token.
        seq: tokens of a window.

    Raises:
        WhatwhereError: it is none of these.
    """
    every = list(range(LEAST - 1, seq))
    if asked == "last":
        return [seq - 1]
    if asked == "all":
        return every
    if not asked.isdecimal() or int(asked) < 1:
        raise WhatwhereError(f"query positions are last, all or how many (above 0), not {asked!r}.")
    half = [place for place in every if place >= seq // 2]
    return sorted({half[round(at)] for at in torch.linspace(len(half) - 1, 0, min(int(asked), len(half))).tolist()})
