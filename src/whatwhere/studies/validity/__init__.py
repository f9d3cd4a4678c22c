"""Do the scores measure what they say? Heads of known nature, null heads, all permutations (Appendix "Scores")."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING
from whatwhere.studies.validity.tables import KnownScore, NullLabel, PermutationScore, ValiditySettings

_HERE = "whatwhere.studies.validity"

VALIDITY = Study(
    name="validity",
    question="Do the scores measure what they say?",
    paper='Appendix "Positional and symbolic scores"',
    subject=NOTHING,
    settings=ValiditySettings,
    tables={"scores": KnownScore, "labels": NullLabel, "permutations": PermutationScore},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("validity-scores", f"{_HERE}.figures:draw_scores", ("scores",)),
        Figure("validity-nulls", f"{_HERE}.figures:draw_nulls", ("permutations", "labels")),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    smoke={"heads": 8, "inputs": 4},
    example="whatwhere validity --heads 200",
)
