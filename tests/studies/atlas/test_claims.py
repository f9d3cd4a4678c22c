"""What claims make of the answers, on a made-up table."""

from __future__ import annotations

from math import nan

import pytest
from evidence_among import Verdicts, among

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas import ATLAS
from whatwhere.studies.atlas.claims import CLAIMS
from whatwhere.studies.atlas.tables import Answer, AtlasSettings
from whatwhere.studies.results import Results

ASKED = (("leak", "base"), ("purity", "letter-dropout"), ("purity", "number-rate"))
LEAK = "atlas-letter-gap-is-the-leak"


@pytest.mark.parametrize(
    ("value", "verdict", "why"),
    [
        (Estimate(2.0, 1.0, 3.0, 3), "holds", "Over seeds: leak base."),
        (Estimate(-2.0, -3.0, -1.0, 3), "fails", "Over seeds: leak base."),
        (Estimate(2.0, -1.0, 5.0, 3), "open", "Over seeds: leak base. The interval reaches across 0."),
        (Estimate(2.0, nan, nan, 3), "holds", "Over seeds: leak base."),  # all seeds agree: there is no spread
        (Estimate(2.0, 1.0, 3.0, 2), "not tested", "a verdict needs 3 seeds. So far: leak base."),
        (Estimate(nan, nan, nan, 0), "not tested", "leak base."),
    ],
)
def test_the_answer_to_the_question_of_a_claim_decides_it_from_three_seeds_on(value: Estimate, verdict: str, why: str):
    results = Results(ATLAS, AtlasSettings(), "theory")
    answers = {asked: Estimate(-5.0, -6.0, -4.0, 9) for asked in reversed(ASKED)} | {ASKED[0]: value}
    results.write(
        "answers", [Answer(*asked, "", one, "", "", "open", f"{' '.join(asked)}.") for asked, one in answers.items()]
    )
    judged = Verdicts(among({"None": results}), CLAIMS[:3])
    assert {one.verdict for name, one in judged.items() if name != LEAK} == {"holds"}
    assert (judged[LEAK].verdict, judged[LEAK].why) == (verdict, why)
    assert judged[LEAK].interval == (None if verdict == "not tested" or value.low != value.low else value.interval)
