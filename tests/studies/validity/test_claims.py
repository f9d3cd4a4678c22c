"""Claims about the scores: on the study's own tables, and with one number changed."""

from __future__ import annotations

import math
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


def test_each_finding_on_the_studys_own_tables_is_what_the_tables_say(whole: Results) -> None:
    found = {one.id: one.measure(Evidence.of(whole)) for one in CLAIMS}
    limits = found["scores-at-their-limits"]
    assert limits.value < 1e-12
    assert limits.why == "The largest departure of 96 scores, by swaps and by permutations."

    drawn = [row for row in whole.rows("permutations", PermutationScore) if row.tokens == 17]
    worst = {
        tau: max((row for row in drawn if row.tau == tau), key=lambda row: abs(row.difference.value))
        for tau in (1e-4, 1e-3, 1e-2, 0.1)
    }
    differ, one = found["swaps-stand-for-permutations"], worst[1e-4]
    assert (differ.value, differ.inputs) == (abs(one.difference.value), one.difference.n)
    assert differ.interval == tuple(sorted(map(abs, one.difference.interval)))
    assert differ.elsewhere == {
        "tau": {name: abs(worst[tau].difference.value) for name, tau in (("0.001", 1e-3), ("0.01", 1e-2), ("0.1", 0.1))}
    }
    assert differ.why == (
        f"Content {one.share:g}, entropy {one.entropy:g}: {one.score} {one.swaps:.3f} by swaps, "
        f"{one.permutations:.3f} by all permutations (standard error {one.error:.3f})."
    )

    mixed = [row for row in whole.rows("scores", KnownScore) if row.family in ("additive", "rotary")]
    moved: dict[str, float] = {}
    for entropy in {round(row.entropy, 1) for row in mixed}:
        for family, share in {(row.family, row.share) for row in mixed}:
            same = [row for row in mixed if (round(row.entropy, 1), row.family, row.share) == (entropy, family, share)]
            for values in ([row.positional.value for row in same], [row.symbolic.value for row in same]):
                name = f"{entropy:g}"
                moved[name] = max(moved.get(name, 0.0), max(values) - min(values))
    by_tau = found["scores-do-not-hang-on-tau"]
    assert (by_tau.value, by_tau.elsewhere) == (max(moved.values()), {"entropy": moved})
    middle = max(abs(row.positional.value - row.symbolic.value) for row in mixed if row.share == 0.5)
    assert found["scores-rise-with-share"].why.endswith(f"scores differ by {middle:.2f} at most.")


@pytest.mark.parametrize("family", ["random logits", "random weights"])
def test_labels_of_null_heads_are_those_of_the_sharpness_at_which_most_are_pure(whole: Results, family: str) -> None:
    rows = [row for row in whole.rows("labels", NullLabel) if row.family == family]
    most = max(row.inputs for row in rows)

    def pure(tau: float, gamma: float, inputs: int = most) -> float:
        return max(
            row.positional.value + row.symbolic.value
            for row in rows
            if (row.tau, row.gamma, row.inputs) == (tau, gamma, inputs)
        )

    found = next(one for one in CLAIMS if one.id == f"{family.replace(' ', '-')}-are-not-pure").measure(
        Evidence.of(whole)
    )
    assert found.value == pure(1e-4, 0.1)
    assert found.elsewhere == {
        "tau": {name: pure(float(name), 0.1) for name in ("0.001", "0.01", "0.1")},
        "gamma": {"0.05": pure(1e-4, 0.05)},
    }
    assert found.why.endswith(f"On one input: {pure(1e-4, 0.1, 1):.2f}.")
    assert f", {most} inputs, gamma 0.1: " in found.why


def test_a_one_hot_head_at_a_large_tau_has_another_score_for_the_swaps_that_move_nothing(
    judged, whole: Results
) -> None:
    rows = whole.rows("scores", KnownScore)
    hot = next(row for row in rows if row.family == "one-hot" and row.share == 1.0 and row.tau == 0.1)
    still = 105 / (15 * math.exp(10) + 105)  # of 17 tokens 16 keys are swapped
    assert hot.positional.value == pytest.approx(still, abs=1e-9)
    off = Estimate(still + 0.01, 0, 1, 8)
    changed = [replace(row, positional=off) if row is hot else row for row in rows]
    assert judged(scores=changed)["scores-at-their-limits"].value == pytest.approx(0.01, abs=1e-9)
