"""What the atlas says about the paper's explanations (Sections 3.3 and 4)."""

from __future__ import annotations

import math
from pathlib import Path

from whatwhere.studies.atlas.tables import Answer
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.seed_means import FEWEST_SEEDS


def answered(evidence: Evidence, question: str, part: str) -> Finding:
    """One number of one question, with its interval over seeds."""
    rows = evidence.rows("atlas", None, "answers", Answer)
    row = next(row for row in rows if (row.question, row.part) == (question, part))
    if math.isnan(row.value.value):
        raise NotTested(row.sentence)
    if row.value.n < FEWEST_SEEDS:
        raise NotTested(f"a verdict needs {FEWEST_SEEDS} seeds. So far: {row.sentence}")
    interval = None if math.isnan(row.value.low) else row.value.interval
    return Finding(row.value.value, f"Over seeds: {row.sentence}", interval)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
