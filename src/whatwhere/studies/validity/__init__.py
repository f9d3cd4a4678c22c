"""Do the scores measure what they claim? Heads of known nature, null heads, all permutations (Appendix "Scores")."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING

VALIDITY = Study(
    name="validity",
    question="Do the scores measure what they say?",
    paper='Appendix "Positional and symbolic scores"',
    panel="Theory and scores",
    subject=NOTHING,
    folder=__name__,
    settings=".tables:ValiditySettings",
    tables={"scores": ".tables:KnownScore", "labels": ".tables:NullLabel", "permutations": ".tables:PermutationScore"},
    figures=(
        Figure("validity-scores", ".figures:draw_scores", ("scores",)),
        Figure("validity-nulls", ".figures:draw_nulls", ("permutations", "labels")),
    ),
    smoke={"heads": 8, "inputs": 4},
    example="whatwhere validity --heads 200",
)
