"""The model with some KV heads streamed: its loss on text, whether it finds pass keys, which order is better.

A streamed KV head is simulated by masks: every query of its group sees the first ``sink`` and the last ``recent`` keys,
at their own positions. So a whole window takes one forward pass.
Orders of KV heads are compared by means over windows, window by window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.estimate import Estimate, mean, share
from whatwhere.studies.cache.tables import (
    ABLE,
    FULL,
    CacheSettings,
    Comparison,
    HeadScore,
    Need,
    Policy,
    PromptAnswer,
    WindowLoss,
)
from whatwhere.trace.interventions import MaskFar
from whatwhere.trace.rotary import RotaryModel

ROWS_AT_ONCE = 128
"""Positions whose logits become losses at a time."""
KvHead = tuple[int, int]
"""A layer and a KV head of it."""


@dataclass(frozen=True)
class StreamedSet:
    """Which KV heads are streamed, and why."""

    ranking: str
    draw: int
    budget: float
    streamed: frozenset[KvHead]

    @property
    def name(self) -> tuple[str, int, float]:
        """Its key in the tables."""
        return self.ranking, self.draw, self.budget

    def masks(self, group: int, settings: CacheSettings) -> list[MaskFar]:
        """The same as an intervention: all query heads of each group."""
        heads = tuple((layer, own * group + at) for layer, own in sorted(self.streamed) for at in range(group))
        return [MaskFar(settings.recent, settings.sink, heads)] if heads else []

    def cache(self, heads: Sequence[HeadScore], kept: int) -> float:
        """Keys that are kept at the end of a window, against the full cache."""
        keys = {(row.layer, row.kv_head): row.keys for row in heads}
        return sum(min(own, kept) if at in self.streamed else own for at, own in keys.items()) / sum(keys.values())


def streamed_sets(needs: Sequence[Need], settings: CacheSettings) -> Iterator[StreamedSet]:
    """The full cache, then each ranking at each budget; what is needed least is streamed first."""
    yield StreamedSet(FULL, 0, 0.0, frozenset())
    for ranking, draw in dict.fromkeys((row.ranking, row.draw) for row in needs):
        order = [row for row in needs if (row.ranking, row.draw) == (ranking, draw)]
        for budget in settings.budgets:
            few = round(budget * len(order))
            yield StreamedSet(ranking, draw, budget, frozenset((r.layer, r.kv_head) for r in order if r.place < few))


def token_losses(
    model: RotaryModel, ids: Int[Tensor, "1 seq"], masks: Sequence[MaskFar], start: int
) -> tuple[Float[Tensor, "token"], Int[Tensor, "token"]]:
    """The loss of each token that positions from ``start`` on predict, and the token that is most likely there."""
    logits = model.run(ids, interventions=masks, last=ids.shape[1] - start)[0, :-1]
    wanted = ids[0, start + 1 :].to(logits.device)
    losses = [
        torch.nn.functional.cross_entropy(some.float(), right, reduction="none")
        for some, right in zip(logits.split(ROWS_AT_ONCE), wanted.split(ROWS_AT_ONCE), strict=True)
    ]
    return torch.cat(losses), logits.argmax(-1)


def can_find_keys(answers: Iterable[PromptAnswer]) -> bool:
    """Whether the model with the full cache finds enough pass keys for a comparison."""
    return share_right(row for row in answers if row.ranking == FULL).value >= ABLE


def share_right(answers: Iterable[PromptAnswer]) -> Estimate:
    """Of prompts whose key is found; Wilson's interval, though the draws of a random ranking share prompts."""
    right = [row.right for row in answers]
    return share(sum(right), len(right))


def policy_rows(
    sets: Sequence[StreamedSet], heads: Sequence[HeadScore], losses: Sequence[WindowLoss],
    answers: Sequence[PromptAnswer], settings: CacheSettings,
) -> list[Policy]:  # fmt: skip
    """Each ranking at each budget; the draws of a random one together."""
    full = {row.input: row.loss for row in losses if row.ranking == FULL}
    rows = []
    for ranking, budget in dict.fromkeys((one.ranking, one.budget) for one in sets if one.ranking != FULL):
        here = [one for one in sets if (one.ranking, one.budget) == (ranking, budget)]
        lost = [row for row in losses if (row.ranking, row.budget) == (ranking, budget)]
        answered = [row for row in answers if (row.ranking, row.budget) == (ranking, budget)]
        kept = [one.cache(heads, settings.sink + settings.recent) for one in here]
        above = mean([row.loss - full[row.input] for row in lost], [row.input for row in lost], settings.seed)
        key_loss = mean([row.loss for row in answered], [row.input for row in answered], settings.seed)
        streamed, cache = len(here[0].streamed), float(np.mean(kept))
        rows.append(Policy(ranking, budget, streamed, cache, above, share_right(answered), key_loss))
    return rows


def comparison_rows(losses: Sequence[WindowLoss], settings: CacheSettings) -> list[Comparison]:
    """Every two rankings at each budget."""
    over_draws: Any = pd.DataFrame(map(vars, losses)).groupby(["budget", "ranking", "input"])["loss"].mean()
    rows = []
    for budget, (one, other) in product(settings.budgets, combinations(settings.rankings, 2)):
        difference = over_draws[budget, one] - over_draws[budget, other]  # by input
        rows.append(Comparison(budget, one, other, mean(difference.tolist(), difference.index.tolist(), settings.seed)))
    return rows
