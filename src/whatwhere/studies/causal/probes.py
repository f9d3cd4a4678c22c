"""Probes of a language model: inputs whose marked tokens it must predict.

- ``text``: windows of the texts.
- ``induction``: random tokens, twice; the second copy. The token determines the next one.
- ``back``: two random tokens in a repeated pattern of 5 or 7 places; the last half. Each token occurs several times in
  a pattern, so the token k places back determines the next one, and the last token alone does not.
- ``name``: a name, some text, and the question for the name.
- ``number-4``, ``letter-4``: the paper's one-hop tasks with its prompts (Appendix "Generalization on LLMs").

Every input begins with what the model's tokenizer puts before a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.studies.causal.tables import BACK, INDUCTION, NAME, TEXT, CausalSettings
from whatwhere.studies.chat.one_hop import TASKS, floors, one_hop_examples, prompt
from whatwhere.studies.language_models.scored_inputs import ScoredInputs
from whatwhere.studies.language_models.token_windows import answered, first_tokens, token_ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

COPY = 32
"""Random tokens that repeat."""
PERIODS, REPETITIONS = (5, 7), 8
"""Prime, so that a pattern of two tokens has no shorter period."""
NAMES = ("Anna", "Boris", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Irene", "Jack", "Kate", "Louis",
         "Maria", "Nick", "Olga", "Peter")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Probe:
    """Inputs of one kind."""

    name: str
    ids: Int[Tensor, "item seq"]
    real: Bool[Tensor, "item seq"]
    """False at padding."""
    asked: Bool[Tensor, "item seq"]
    """The tokens that are to be predicted."""
    chance: float
    """The accuracy of guessing; undefined for a text."""
    whole: bool
    """Whether an input is right only if all its tokens are."""

    @property
    def last(self) -> int:
        """How many positions at the end need logits: from the one before the first token that is asked for."""
        return self.ids.shape[1] + 1 - int(self.asked.any(0).long().argmax())

    def score(
        self, logits: Float[Tensor, "item position vocab"], rows: slice
    ) -> tuple[Float[Tensor, "item"], Float[Tensor, "item"]]:
        """The loss of some inputs, in nats per asked token, and the share that is right.

        The logits are those of all positions, or of the last ones that are needed.
        """
        loss, right = [], []
        logits = logits[:, -self.last :]
        ends = (x[rows, -self.last :].to(logits.device) for x in (self.ids, self.asked))
        for each, ids, asked in zip(logits, *ends, strict=True):
            before, wanted = each[:-1][asked[1:]].float(), ids[1:][asked[1:]]
            loss.append(torch.nn.functional.cross_entropy(before, wanted))
            hit = (before.argmax(-1) == wanted).float()
            right.append(hit.min() if self.whole else hit.mean())
        return torch.stack(loss).double().cpu(), torch.stack(right).double().cpu()


def make_probes(tokenizer: PreTrainedTokenizerBase, scored: ScoredInputs, settings: CausalSettings) -> list[Probe]:
    """All probes of a model; ``scored`` has the windows of the texts."""
    first = first_tokens(tokenizer)
    rng = np.random.default_rng(settings.seed)
    windows = scored.ids.tolist()
    found = [_probe(TEXT, windows, [len(first) or 1] * len(windows))]
    half = rng.integers(scored.vocabulary, size=(settings.prompts, COPY)).tolist()
    twice = [[*first, *ids, *ids] for ids in half]
    found.append(_probe(INDUCTION, twice, [len(first) + COPY] * len(twice), 1 / scored.vocabulary))
    found.append(_back(first, scored.vocabulary, settings.prompts, rng))
    found.append(_name(tokenizer, first, windows, settings))
    for task in TASKS:
        for size in settings.sizes:
            examples = one_hop_examples(task, size, settings.seed, settings.prompts)
            asked = [(prompt(f"one_hop_{task}", one.sequence), one.answer) for one in examples]
            whole = [answered(tokenizer, *one) for one in asked]
            rows, starts = [[*first, *ids] for ids, _ in whole], [len(first) + start for _, start in whole]
            found.append(_probe(f"{task}-{size}", rows, starts, max(floors(f"one_hop_{task}", size)), whole=True))
    return found


def _probe(
    name: str, rows: Sequence[Sequence[int]], starts: Sequence[int], chance: float = nan, *, whole: bool = False
) -> Probe:
    """Inputs, padded on the right, of which the tokens from a start on are asked."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    places, lengths = torch.arange(longest), torch.tensor([len(row) for row in rows])
    real = places < lengths[:, None]
    return Probe(name, ids, real, real & (places >= torch.tensor(starts)[:, None]), chance, whole)


def _back(first: list[int], vocabulary: int, count: int, rng: np.random.Generator) -> Probe:
    """Patterns of two tokens, of one length in tokens; guessing is naming the more frequent token."""
    length, rows, shares = min(PERIODS) * REPETITIONS, [], []
    for number in range(count):
        period = PERIODS[number % len(PERIODS)]
        both = rng.choice(vocabulary, 2, replace=False)
        ones = rng.choice(period, int(rng.integers(2, period - 1)), replace=False)  # each token at least twice
        pattern = both[np.isin(np.arange(period), ones).astype(int)]
        whole = np.resize(pattern, length)
        shares.append(float(max((whole[length // 2 :] == token).mean() for token in both)))
        rows.append([*first, *whole.tolist()])
    return _probe(BACK, rows, [len(first) + length // 2] * count, float(np.mean(shares)))


def _name(
    tokenizer: PreTrainedTokenizerBase, first: list[int], windows: Sequence[Sequence[int]], settings: CausalSettings
) -> Probe:
    """A name, some tokens of a text, and the question for it."""
    rows, starts = [], []
    for number in range(settings.prompts):
        name, window = NAMES[number % len(NAMES)], windows[number % len(windows)]
        question, start = answered(tokenizer, "\nMy name is", name)
        text = window[len(first) :]
        if len(text) < settings.far:
            raise WhatwhereError(
                f"expected far of at most {len(text)}, the tokens of text in a window, got {settings.far}; lower far "
                "or raise window."
            )
        before = [*first, *token_ids(tokenizer, f"My name is {name}.\n"), *text[: settings.far]]
        rows.append([*before, *question])
        starts.append(len(before) + start)
    return _probe(NAME, rows, starts, 1 / len(NAMES), whole=True)
