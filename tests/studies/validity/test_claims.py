"""Claims about the scores: on the study's own tables, and with one number changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence_among import Verdicts

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.evidence import Evidence
from whatwhere.studies.results import Results
from whatwhere.studies.validity import VALIDITY
from whatwhere.studies.validity.claims import CLAIMS
from whatwhere.studies.validity.tables import KnownScore, NullLabel, PermutationScore

TABLES: dict[str, Any] = {"scores": KnownScore, "labels": NullLabel, "permutations": PermutationScore}


@pytest.fixture
def judged(whole: Results):
    def run(**changed: list[Any]) -> Verdicts:
        results = Results(VALIDITY, whole.settings, "theory")
        for name, kind in TABLES.items():
            results.write(name, changed.get(name, whole.rows(name, kind)))
        return Verdicts(Evidence.of(results), CLAIMS)

    return run


def test_the_identities_hold_on_the_studys_own_tables(judged) -> None:
    found = judged()
    assert found["scores-at-their-limits"].verdict == "holds"
    assert found["random-logits-are-not-pure"].verdict != "not tested"
    assert "0.5" in found["scores-do-not-hang-on-tau"].why


def test_a_pure_head_below_1_is_told(judged, whole: Results) -> None:
    rows = whole.rows("scores", KnownScore)
    low = Estimate(0.9, 0.8, 1.0, 8)
    changed = [replace(row, positional=low) if (row.family, row.share) == ("additive", 0.0) else row for row in rows]
    one = judged(scores=changed)["scores-at-their-limits"]
    assert (one.verdict, one.value) == ("fails", pytest.approx(0.1))


def test_one_step_the_wrong_way_is_counted(judged, whole: Results) -> None:
    def value(row: KnownScore) -> KnownScore:
        rising = row.share if (row.family, row.tau, row.share) != ("rotary", 1e-4, 0.5) else 0.1
        return replace(row, symbolic=Estimate(rising, 0, 1, 8), positional=Estimate(1 - row.share, 0, 1, 8))

    rows = whole.rows("scores", KnownScore)
    one = judged(scores=[value(row) for row in rows])["scores-rise-with-share"]
    assert (one.verdict, one.value, one.inputs) == ("fails", 3, 2 * 3 * 4 * 8)  # once for each sharpness


@pytest.mark.parametrize("score", ["symbolic", "positional"])
def test_a_score_that_stays_where_the_share_rises_goes_the_wrong_way(judged, whole: Results, score: str) -> None:
    def value(row: KnownScore) -> KnownScore:
        rising = {"symbolic": Estimate(row.share, 0, 1, 8), "positional": Estimate(1 - row.share, 0, 1, 8)}
        return replace(row, **(rising | {score: Estimate(0.5, 0, 1, 8)}))

    one = judged(scores=[value(row) for row in whole.rows("scores", KnownScore)])["scores-rise-with-share"]
    assert one.value == one.inputs


def test_labels_of_null_heads_are_told_with_tau_and_gamma(judged, whole: Results) -> None:
    def label(row: NullLabel) -> NullLabel:
        pure = row.family == "random weights" and row.tau == 1e-4 and row.gamma == 0.1
        return replace(row, positional=Estimate(0, 0, 0.02, 100), symbolic=Estimate(float(pure), pure, pure, 100))

    found = judged(labels=[label(row) for row in whole.rows("labels", NullLabel)])
    assert found["random-logits-are-not-pure"].verdict == "holds"
    one = found["random-weights-are-not-pure"]
    assert (one.verdict, one.value, one.depends_on) == ("depends", 1.0, ("tau", "gamma"))
    missing = judged(labels=[])["random-weights-are-not-pure"]
    assert (missing.verdict, missing.why) == ("not tested", "no null heads of random weights were scored.")


def test_permutations_that_agree_with_swaps_hold(judged, whole: Results) -> None:
    rows = whole.rows("permutations", PermutationScore)
    near = [replace(row, difference=Estimate(-0.05, -0.07, -0.03, 8)) for row in rows]
    one = judged(permutations=near)["swaps-stand-for-permutations"]
    assert (one.verdict, one.value, one.interval) == ("holds", 0.05, (0.03, 0.07))
    short = [row for row in rows if row.tokens == 7]
    assert judged(permutations=short)["swaps-stand-for-permutations"].why == "permutations of 17 tokens were not drawn."
