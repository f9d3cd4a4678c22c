"""What each order of KV heads costs, and which order is better: means over windows, compared window by window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from whatwhere.heads.estimate import UNDEFINED, Estimate, mean, share
from whatwhere.studies.cache.streamed_runs import StreamedSet
from whatwhere.studies.cache.tables import (
    ABLE,
    FULL,
    About,
    CacheSettings,
    Comparison,
    HeadScore,
    Policy,
    PromptAnswer,
    WindowLoss,
)
from whatwhere.studies.language_models.passages import names_of
from whatwhere.trace.rotary import RotaryModel


def can_find_keys(answers: Iterable[PromptAnswer]) -> bool:
    """Whether the model with the full cache finds enough pass keys that forgetting could be seen."""
    full = [row.right for row in answers if row.ranking == FULL]
    return bool(full) and float(np.mean(full)) >= ABLE


def policy_rows(
    sets: Sequence[StreamedSet],
    heads: Sequence[HeadScore],
    losses: Sequence[WindowLoss],
    answers: Sequence[PromptAnswer],
    settings: CacheSettings,
) -> list[Policy]:
    """Each ranking at each budget; the draws of a random one together."""
    full = {row.input: row.loss for row in losses if row.ranking == FULL}
    rows = []
    for ranking, budget in dict.fromkeys((one.ranking, one.budget) for one in sets if one.ranking != FULL):
        here = [one for one in sets if (one.ranking, one.budget) == (ranking, budget)]
        lost = [row for row in losses if (row.ranking, row.budget) == (ranking, budget)]
        told = [row for row in answers if (row.ranking, row.budget) == (ranking, budget)]
        kept = [one.cache(heads, settings.sink + settings.recent) for one in here]
        above, key_loss = _loss(lost, settings, full), _loss(told, settings)
        streamed, cache = len(here[0].streamed), float(np.mean(kept))
        rows.append(Policy(ranking, budget, streamed, cache, above, _share(told), key_loss))
    return rows


def comparison_rows(losses: Sequence[WindowLoss], settings: CacheSettings) -> list[Comparison]:
    """Every two rankings at each budget."""
    over_draws: Any = pd.DataFrame(map(vars, losses)).groupby(["budget", "ranking", "input"])["loss"].mean()
    rows = []
    for budget, (one, other) in product(settings.budgets, combinations(settings.rankings, 2)):
        difference = over_draws[budget, one] - over_draws[budget, other]  # by input
        rows.append(Comparison(budget, one, other, mean(difference.tolist(), difference.index.tolist(), settings.seed)))
    return rows


def about_row(
    model: RotaryModel, kv_heads: int, begins: str, losses: Sequence[WindowLoss], answers: Sequence[PromptAnswer],
    settings: CacheSettings,
) -> About:  # fmt: skip
    """What was measured."""
    full = [row for row in losses if row.ranking == FULL]
    return About(
        family=model.family,
        source=names_of(settings.passages),
        begins=begins,
        layers=len(model.attending),
        kv_heads=kv_heads,
        group=model.heads // kv_heads,
        tokens=settings.window,
        loss=_loss(full, settings),
        passkey=_share([row for row in answers if row.ranking == FULL]),
    )


def _loss(
    rows: Sequence[WindowLoss] | Sequence[PromptAnswer],
    settings: CacheSettings,
    above: Mapping[int, float] | None = None,
) -> Estimate:
    """The mean loss, above another one of each input if it is given, with its interval over inputs."""
    losses = [row.loss - above[row.input] if above else row.loss for row in rows]
    return mean(losses, [row.input for row in rows], settings.seed) if rows else UNDEFINED


def _share(rows: Sequence[PromptAnswer]) -> Estimate:
    """Of prompts whose key is found; Wilson's interval, though the draws of a random ranking share prompts."""
    return share(sum(row.right for row in rows), len(rows))
