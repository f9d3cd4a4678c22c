"""Verdicts from evidence: seeds, what is missing, what is written down, and the recorded baseline."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from record_claims import record
from whatwhere.errors import WhatwhereError
from whatwhere.studies.claim import Claim, Finding, Judged, listed, sureness
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.judging import all_claims, escaped, judge, markdown, write_claims
from whatwhere.work.baseline import regressions


def claim(measure: Callable[[Evidence], Finding], *, trained: bool = True) -> Claim:
    return Claim(
        "sky-is-blue", "The sky | is blue", "It is.", "Section 1", "by looking", "0.5", measure, trained=trained
    )


def seeds(*values: float) -> tuple[list[Evidence], Callable[[Evidence], Finding]]:
    """Evidence of several seeds, and a measure that gives each its value."""

    def nothing(study: str, model: str | None) -> object:
        raise NotTested(f"{study} {model} is not there.", missing=True)

    evidence = [Evidence(nothing) for _ in values]  # pyright: ignore[reportArgumentType]
    known = dict(zip(map(id, evidence), values, strict=True))

    def measure(one: Evidence) -> Finding:
        value = known[id(one)]
        if math.isnan(value):
            one.results("length", "letter")
        return Finding(value > 0.5, value, "Measured.", (value - 0.1, value + 0.1), 40)

    return evidence, measure


@pytest.mark.parametrize(
    ("values", "verdict", "every"),
    [
        ((0.9,), "holds", True), ((0.1,), "fails", False), ((0.9, 0.8, 0.2), "holds", False),
        ((0.9, 0.2), "fails", False), ((0.9, 0.8), "holds", True), ((math.nan, 0.9), "holds", True),
        ((math.nan,), "not tested", False),
    ],
)  # fmt: skip
def test_more_than_half_of_the_seeds_decide(values: tuple[float, ...], verdict: str, every: bool):
    evidence, measure = seeds(*values)
    (one,) = judge(evidence, [claim(measure)])
    assert (one.verdict, one.with_every_seed) == (verdict, every)
    assert one.seeds == tuple(value for value in values if not math.isnan(value))
    assert one.missing == (verdict == "not tested")


def test_the_spread_over_seeds_is_told():
    evidence, measure = seeds(0.9, 0.8, 0.2)
    (one,) = judge(evidence, [claim(measure)])
    assert one.why == "Measured. It holds with 2 of 3 seeds: 0.2 to 0.9."


def test_claims_that_are_not_about_trained_models_are_asked_once():
    evidence, measure = seeds(0.9, 0.2, 0.2)
    (one,) = judge(evidence, [claim(measure, trained=False)])
    assert (one.verdict, one.seeds) == ("holds", ())


def test_without_results_every_claim_says_what_is_missing(tmp_path: Path):
    judged = judge([Evidence.in_directory(tmp_path)])
    assert {one.verdict for one in judged} == {"not tested"}
    assert all(one.missing and one.why for one in judged)


def test_ids_are_unique_and_every_field_says_something():
    claims = all_claims()
    assert len({one.id for one in claims}) == len({one.title for one in claims}) == len(claims) >= 50
    for one in claims:
        assert all((one.text, one.paper, one.measured_how, one.threshold)), one.id
        assert one.id == one.id.lower().replace(" ", "-")


def test_what_is_written_down_can_be_read_by_people_and_programs(tmp_path: Path):
    evidence, measure = seeds(0.9, 0.8)
    judged = judge(evidence, [claim(measure)])
    path = write_claims(tmp_path, judged)
    (content,) = json.loads(path.read_text())["claims"]
    assert (content["verdict"], content["value"], content["seeds"]) == ("holds", 0.9, [0.9, 0.8])
    row = pd.read_csv(tmp_path / "claims.csv").iloc[0]
    assert (row["id"], row["low"], row["inputs"]) == ("sky-is-blue", pytest.approx(0.8), 40)
    assert "The sky \\| is blue" in (tmp_path / "claims.md").read_text()
    assert "1 holds, 0 fails, 0 not tested" in markdown(judged)


def test_names_from_data_bring_no_markup_into_a_table():
    assert escaped("a|b\n<script> `x` *y*") == "a\\|b &lt;script&gt; \\`x\\` \\*y\\*"


def test_words_for_lists_and_for_intervals_that_reach_across():
    assert [listed(names) for names in ([], [1], [1, 2], [1, 2, 3])] == ["none", "1", "1 and 2", "1, 2 and 3"]
    assert "reaches across 0.5" in sureness((0.4, 0.6), 0.5)
    assert sureness((0.6, 0.7), 0.5) == ""


def test_what_held_before_and_no_longer_does_is_named(tmp_path: Path):
    evidence, measure = seeds(0.9)
    held = judge(evidence, [claim(measure)])
    baseline = tmp_path / "baseline.json"
    assert record("short", [held], baseline) == ["sky-is-blue"]
    assert regressions(held, "short", baseline) == []
    lost = [Judged(held[0].claim, "fails", "It rained.")]
    assert regressions(lost, "short", baseline) == [
        "sky-is-blue held in the baseline of short and is now: fails. It rained."
    ]
    assert regressions(lost, "paper", baseline) == [], "a preset without a record has no regressions"
    assert record("paper", [held, lost], baseline) == [], "only what holds everywhere is recorded"
    with pytest.raises(WhatwhereError, match="expected a preset of smoke, short, paper, zoo, got 'fast'"):
        record("fast", [held], baseline)
    with pytest.raises(WhatwhereError, match="expected at least one reproduction to record, got none"):
        record("short", [], baseline)
