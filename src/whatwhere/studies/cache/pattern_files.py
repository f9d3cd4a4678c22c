"""The policy in formats that others read.

- ``duo_attention/full_attention_heads.tsv`` with ``config.json``: DuoAttention's pattern, which kvpress' press of that
  name reads, too. A row per layer, a column per KV head; the larger a number, the longer the head keeps its whole
  cache. Numbers are places in the order, from 0 to 1, so that any sparsity streams the heads of our policy.
- ``head_scores.json``: ``{"layer-head": [need]}`` on one line, as the scores of retrieval heads (Wu et al. 2024) are
  stored. Each query head has the need of its KV head. Heads without a score are left out.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence

import numpy as np

from whatwhere.studies.cache.tables import CacheSettings, Need

PATTERN = "duo_attention/full_attention_heads.tsv"
CONFIG = "duo_attention/config.json"
SCORES = "head_scores.json"


def pattern_files(needs: Sequence[Need], group: int, settings: CacheSettings, model: str) -> dict[str, bytes]:
    """Their contents by name, for the first ranking.

    Args:
        needs: the order of all KV heads.
        group: query heads that share a KV head.
        settings: how many tokens a streamed head keeps.
        model: its name.
    """
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
