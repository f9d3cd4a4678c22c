from __future__ import annotations

import math
from dataclasses import replace

import pytest
from evidence_among import Verdicts, among

from whatwhere.studies.forecast import calibration
from whatwhere.studies.forecast.claims import CLAIMS
from whatwhere.studies.forecast.tables import PredictedBreak
from whatwhere.studies.judging import judge

NUMBER = {"a": 40.0, "b": 55.0, "c": 90.0}
LETTER = {"a": 130.0, "b": 300.0, "c": 500.0, "d": math.inf}


@pytest.fixture(autouse=True)
def _medians(monkeypatch) -> None:
    known = {"all": 150.0, "number": 20.0, "letter": 900.0}
    monkeypatch.setattr(calibration, "MEDIANS", {0.9: known, 0.5: known})


@pytest.fixture
def judged(made_up):
    def run(number=NUMBER, letter=LETTER, said=None, **changes):
        there = {
            "number": made_up("number", number, (said or {}).get("number"), **changes),
            "letter": made_up("letter", letter, (said or {}).get("letter"), **changes),
        }
        return Verdicts(among(there), CLAIMS)

    return run


def test_a_perfect_forecast_beats_everything(judged) -> None:
    found = judged()
    assert {name for name, one in found.items() if one.verdict != "holds"} == set()
    assert found["forecast-within-a-quarter"].value == 0
    assert "6 variants of 2 trainings" in found["forecast-beats-dispersion"].why
    assert found["forecast-within-a-quarter"].why.startswith("6 variants of 2 trainings break, 1 do not")
    assert found["forecast-orders-models"].inputs is None  # its unit is a pair of variants


def test_a_forecast_that_is_no_better_than_the_median_does_not_beat_it(judged) -> None:
    constant = {"number": dict.fromkeys(NUMBER, 150.0), "letter": dict.fromkeys(LETTER, 150.0)}
    found = judged(said=constant)
    assert found["forecast-beats-median"].verdict in ("open", "fails")
    assert found["forecast-within-a-quarter"].verdict == "fails"
    assert found["forecast-orders-models"].verdict == "fails"


def test_an_error_of_half_a_doubling_takes_half_from_the_lead_and_from_both_ends_of_its_interval(made_up) -> None:
    longer = {name: length * math.sqrt(2) for name, length in NUMBER.items()}
    beats = next(one for one in CLAIMS if one.id == "forecast-beats-dispersion")
    sure, off = (beats.measure(among({"number": made_up("number", NUMBER, said)})) for said in (NUMBER, longer))
    assert sure.interval is not None
    assert off.value == pytest.approx(sure.value - 0.5)
    assert off.interval == pytest.approx((sure.interval[0] - 0.5, sure.interval[1] - 0.5))


def test_each_threshold_is_judged_by_its_own_breaks(made_up) -> None:
    results = made_up("number", NUMBER)
    rows = results.rows("forecasts", PredictedBreak)
    results.write("forecasts", [replace(row, length=2 * row.length) if row.threshold == 0.9 else row for row in rows])
    claim = next(one for one in CLAIMS if one.id == "forecast-within-a-quarter")
    (one,) = judge([among({"number": results})], [claim])
    assert (one.verdict, one.value, one.depends_on) == ("depends", 0, ("threshold",))
    assert "With other threshold (0.9): 1." in one.why


def test_a_baseline_is_compared_on_the_variants_that_it_predicts(made_up) -> None:
    letter = made_up("letter", LETTER, LETTER | {"a": 900.0})  # the forecast is far off for variant a alone
    rows = [
        replace(row, length=math.nan) if (row.variation, row.method) == ("a", "dispersion") else row
        for row in letter.rows("forecasts", PredictedBreak)
    ]
    letter.write("forecasts", rows)
    found = Verdicts(among({"letter": letter}), CLAIMS)
    assert "Below 0.5: 0.000 (0.000 to 0.000) against" in found["forecast-beats-dispersion"].why
    assert "2 variants of 1 training" in found["forecast-beats-dispersion"].why
    assert found["forecast-within-a-quarter"].value > 0.5


def test_models_that_the_forecast_was_chosen_on_prove_nothing(judged) -> None:
    found = judged(tuned=True)
    assert {one.verdict for one in found.values()} == {"not tested"}
    assert "every model here is one that the forecast was chosen on" in found["forecast-beats-median"].why


def test_models_that_never_break_leave_it_untested(judged) -> None:
    found = judged(number={"a": math.inf}, letter={"a": math.inf})
    assert "none of 2 held-out variants falls below 0.5" in found["forecast-within-a-quarter"].why


def test_one_task_alone_can_be_judged(made_up) -> None:
    verdicts = made_up("number", NUMBER).claims.set_index("id").verdict
    assert verdicts["forecast-beats-dispersion"] == "holds"


def test_variants_that_break_at_the_same_length_have_no_order(judged) -> None:
    same = dict.fromkeys("abc", 100.0)
    found = judged(number=same, letter=same)
    assert found["forecast-orders-models"].why == "no two held-out variants surely break one after the other."
    assert found["forecast-within-a-quarter"].verdict == "holds"


def test_without_results_the_first_that_is_missing_is_named() -> None:
    for one in judge([among({})], CLAIMS):
        assert (one.missing, one.why) == (True, "forecast of number is not there.")


def test_each_finding_is_told_with_its_error_and_interval(made_up) -> None:
    said = {"a": 50.0, "b": 40.0, "c": 100.0}, {"a": 100.0, "b": 350.0, "c": 400.0, "d": 900.0}
    evidence = among({"number": made_up("number", NUMBER, said[0]), "letter": made_up("letter", LETTER, said[1])})
    found = {one.id: one.measure(evidence) for one in CLAIMS}
    off = [abs(math.log2(said[0][name] / at)) for name, at in NUMBER.items()]
    off += [abs(math.log2(said[1][name] / at)) for name, at in LETTER.items() if name != "d"]
    error = sum(off) / 6
    assert found["forecast-within-a-quarter"].value == pytest.approx(error)
    assert found["forecast-within-a-quarter"].why == (
        "6 variants of 2 trainings break, 1 do not; on average log2 is off by -0.077."
    )
    constant = sum(abs(math.log2(900 / at)) for at in [*NUMBER.values(), *LETTER.values()] if at < math.inf) / 6
    beats = found["forecast-beats-dispersion"]
    assert beats.value == pytest.approx(constant - error)
    one = "0.309 (0.230 to 0.387) against 2.845 (1.795 to 3.784), 6 variants of 2 trainings."
    assert beats.why == f"Below 0.5: {one} Below 0.9: {one}"
    assert beats.interval == pytest.approx((1.795 - 0.387, 3.784 - 0.230), abs=2e-3)
    assert found["forecast-beats-median"].value == pytest.approx(0.8630894486553882)
    assert found["forecast-beats-task-median"].value == pytest.approx(1.3329224098495085)
    order = found["forecast-orders-models"]
    assert (order.value, order.why) == (pytest.approx(19.5 / 21), "21 pairs of which one surely breaks first.")
    for each in found.values():
        assert each.elsewhere == {"threshold": {"0.9": pytest.approx(each.value)}}
        assert each.interval is not None and each.interval[0] < each.value < each.interval[1] + 1e-12
