"""Passkey prompts: a number within a text, and a question for it at the end (Mohtashami and Jaggi 2023, Section 4.2).

The sentence with the number is where a streamed head forgets it: after the sink, and more than the recent tokens before
the answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.token_windows import answered, token_ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DIGITS = 5
SENTENCE = "\nThe pass key is {key}. Remember it. {key} is the pass key.\n"
ASKED = "\nWhat is the pass key? The pass key is"


@dataclass(frozen=True, eq=False)
class PasskeyPrompt:
    """A prompt with its answer."""

    ids: Int[Tensor, "1 seq"]
    """The answer is at the end."""
    answer: int
    """Tokens of the answer."""
    place: int
    """Position of the first token of the sentence that tells the key."""
    sentence: int
    """Tokens of that sentence."""

    @property
    def answering(self) -> range:
        """The positions from which the answer is given."""
        end = self.ids.shape[1] - 1
        return range(end - self.answer, end)


def make_prompts(
    windows: Sequence[Int[Tensor, "seq"]],
    tokenizer: PreTrainedTokenizerBase,
    prompts: int,
    seed: int,
    *,
    sink: int = 0,
    recent: int = 0,
) -> list[PasskeyPrompt]:
    """Prompts as long as a window, filled with windows of the texts; the sentence moves from the start to the end.

    It is never within the first ``sink`` tokens or the ``recent`` ones before the answer.
    """
    keys = random.Random(seed)
    made = []
    for number in range(prompts):
        key = f"{keys.randrange(10**DIGITS):0{DIGITS}}"
        sentence, (whole, start) = token_ids(tokenizer, SENTENCE.format(key=key)), answered(tokenizer, ASKED, key)
        filler = windows[number % len(windows)].tolist()
        seq, answer = len(filler), len(whole) - start
        last = seq - len(sentence) - max(recent + answer, len(whole))
        if last <= sink:
            raise WhatwhereError(
                f"expected windows of at least {seq + sink + 1 - last} tokens for passkey prompts, got {seq}; "
                "raise window, or leave passkeys out with prompts 0."
            )
        place = int(np.linspace(sink + 1, last, prompts)[number])
        rest = seq - place - len(sentence) - len(whole)
        ids = [*filler[:place], *sentence, *filler[place : place + rest], *whole]
        made.append(PasskeyPrompt(torch.tensor([ids]), answer, place, len(sentence)))
    return made
