"""The model with some KV heads streamed: what it loses on text, and whether it still finds a pass key.

A streamed KV head is simulated by masks: every query of its group sees the first ``sink`` and the last ``recent`` keys,
at the positions that they have. So a whole window passes at once, as if the cache had forgotten from its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.studies.cache.tables import FULL, CacheSettings, HeadScore, Need
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
        """By which rows of tables know it."""
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
