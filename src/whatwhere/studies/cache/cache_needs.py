"""How much each head needs keys that are far away, by several scores; and the order in which KV heads are streamed.

The score of a KV head is the mean over the query heads that share it, as in DuoAttention's on-the-fly variant in
kvpress. The order is written in formats that other tools read:

- ``duo_attention/full_attention_heads.tsv`` with ``config.json``: DuoAttention's pattern, which kvpress' press of that
  name also reads. A row per layer, a column per KV head; heads with larger numbers keep their whole cache longer.
  Numbers are places in the order, from 0 to 1, so that any sparsity streams the heads of our policy.
- ``head_scores.json``: ``{"layer-head": [need]}`` on one line, as the scores of retrieval heads (Wu et al. 2024) are
  stored. Each query head has the need of its KV head. Heads without a score are left out.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import TAU, Weighting
from whatwhere.studies.cache.tables import POSITIONAL, RANDOM, CacheSettings, HeadScore, Need
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.tables import TEXT_QUERIES
from whatwhere.studies.language_models.token_windows import query_positions
from whatwhere.studies.study import Progress
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.rotary import RotaryModel

Numbers = Float[Tensor, "6 head"]
"""Of one layer on one window: both scores of the paper, both beyond the first token, far mass, keys at the end."""
PATTERN = "duo_attention/full_attention_heads.tsv"
CONFIG = "duo_attention/config.json"
SCORES = "head_scores.json"


def kv_heads(model: RotaryModel) -> int:
    """KV heads of a layer: as many as query heads, if the configuration does not say."""
    return int(getattr(model.config, "num_key_value_heads", None) or model.heads)


def score_heads(
    model: RotaryModel, ids: Int[Tensor, "window seq"], settings: CacheSettings, progress: Progress
) -> list[HeadScore]:
    """Scores every query head on some windows."""
    seq, queries = ids.shape[1], query_positions(TEXT_QUERIES, ids.shape[1])
    weightings = [Weighting(TAU), Weighting(TAU, renormalised=True, among=tuple(range(1, seq)))]

    def reduce(layer: LayerTrace) -> Numbers:
        scores = score_weightings(Trace((layer,)), weightings)
        both = [one for found in scores for one in (found.positional[0], found.symbolic[0])]
        keys = layer.visible[-1].sum().double().expand(layer.queries.shape[1])
        return torch.stack([*both, far_mass(layer, settings.sink, settings.recent), keys])

    found = []
    for number in range(len(ids)):
        progress("scoring heads", number, len(ids))
        found.append(torch.stack(model.stream(ids[number : number + 1], reduce, queries=queries)))
    means = torch.stack(found).nanmean(0).tolist()  # [layer][number][head]
    repeats = induction(model, int(model.config.vocab_size), seed=settings.seed).tolist()  # [layer][head]
    group = model.heads // kv_heads(model)
    return [
        HeadScore(layer, head, head // group, *(row[head] for row in means[at][:5]), induction=repeats[at][head],
                  keys=round(means[at][5][head]))
        for at, layer in enumerate(model.attending)
        for head in range(model.heads)
    ]  # fmt: skip


def far_mass(layer: LayerTrace, sink: int, recent: int) -> Float[Tensor, "head"]:
    """Attention that a streamed head would lose: to keys neither among the first nor among the last ones."""
    keys, places = layer.key_positions, layer.query_positions[:, None]
    far = (keys >= sink) & (keys <= places - recent)  # [query, key]
    return (layer.attention().double() * far).sum(-1).mean((0, 2))


def need_rows(heads: Sequence[HeadScore], settings: CacheSettings) -> list[Need]:
    """Each ranking of all KV heads, with the requested number of random ones."""
    names = sorted({(row.layer, row.kv_head) for row in heads})
    by_head = {
        POSITIONAL: [1 - row.rest_positional for row in heads],
        "both": [(1 - row.rest_positional) * row.far for row in heads],
        "far": [row.far for row in heads],
        "induction": [row.induction for row in heads],
        "paper": [1 - row.positional for row in heads],
    }
    rows = []
    for ranking in settings.rankings:
        for draw in range(settings.draws if ranking == RANDOM else 1):
            if ranking == RANDOM:
                need = np.random.default_rng([settings.seed, draw]).random(len(names))
            else:
                need = np.reshape(by_head[ranking], (len(names), -1)).mean(1)
            places = np.argsort(np.argsort(need, kind="stable"))  # undefined ones are last
            rows += [
                Need(ranking, draw, *name, float(own), int(place))
                for name, own, place in zip(names, need, places, strict=True)
            ]
    return rows


def pattern_files(needs: Sequence[Need], group: int, settings: CacheSettings, model: str) -> dict[str, bytes]:
    """Their contents by name, for the first ranking; ``group`` query heads share a KV head."""
    order = [row for row in needs if (row.ranking, row.draw) == (settings.rankings[0], 0)]
    shape = 1 + max(row.layer for row in order), 1 + max(row.kv_head for row in order)
    table = np.ones(shape)
    for row in order:
        table[row.layer, row.kv_head] = row.place / max(1, len(order) - 1)
    pattern = io.StringIO()
    np.savetxt(pattern, table, delimiter="\t")
    config = {
        "model_name": model, "sink_size": settings.sink, "recent_size": settings.recent,
        "ranking": settings.rankings[0],
    }  # fmt: skip
    scores = {
        f"{row.layer}-{row.kv_head * group + at}": [row.need]
        for row in order if not math.isnan(row.need)
        for at in range(group)
    }  # fmt: skip
    return {
        PATTERN: pattern.getvalue().encode(),
        CONFIG: f"{json.dumps(config)}\n".encode(),
        SCORES: f"{json.dumps(scores)}\n".encode(),
    }
