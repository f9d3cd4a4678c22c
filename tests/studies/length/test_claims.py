"""The statements about longer inputs, on made-up tables: as the paper has it, and one thing changed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from evidence_among import Verdicts, among

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.judging import judge
from whatwhere.studies.length.claims import CLAIMS
from whatwhere.studies.length.tables import Break

NUMBER = {17: 1.0, 33: 0.9, 65: 0.4, 97: 0.2, 850: 0.1}
LETTER = {17: 1.0, 33: 1.0, 65: 1.0, 97: 0.99, 850: 0.95}


@pytest.fixture
def judged(made_up):
    def run(number=NUMBER, letter=LETTER, **changes):
        there = {"number": made_up("number", number, **changes), "letter": made_up("letter", letter, **changes)}
        return Verdicts(among(there), CLAIMS)

    return run


def failing(found) -> set[str]:
    return {name for name, one in found.items() if one.verdict in ("fails", "open")}


def test_in_the_papers_world_every_claim_holds(judged) -> None:
    found = dict(judged())
    del found["number-break-forecast"]  # our own; the tests below
    assert {one.verdict for one in found.values()} == {"holds"}
    assert found["number-barely-generalises"].value == pytest.approx(33 * (65 / 33) ** 0.8)
    assert found["decay-in-order-of-bound"].value == 1
    assert all(one.inputs == 100 for one in found.values())


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        ({"letter": {17: 1.0, 33: 0.85, 850: 0.95}}, {"letter-beats-number-on-length", "letter-above-90-at-850"}),
        ({"letter": {17: 1.0, 33: 1.0, 65: 1.0, 850: 0.89}}, {"letter-above-90-at-850"}),
        ({"number": {17: 1.0, 33: 0.945}, "letter": {17: 1.0, 33: 0.95}}, {"letter-beats-number-on-length"}),
        ({"number": {17: 1.0, 33: 0.9, 65: 0.8, 97: 0.7, 850: 0.1}}, {"number-barely-generalises"}),
        ({"letter": {17: 1.0, 33: 0.2, 65: 0.3, 97: 0.4, 850: 0.95}}, {"decay-in-order-of-bound"}),
    ],
)
def test_accuracies_at_longer_lengths_decide(judged, changed, lost) -> None:
    assert lost <= failing(judged(**changed))


@pytest.mark.parametrize(
    ("longer", "told"), [([33, 65, 97, 850], [33, 65, 97, 850]), (range(20, 30), range(20, 30, 2))]
)
def test_a_lead_is_told_at_five_lengths_or_so(judged, longer, told) -> None:
    number, letter = ({17: 1.0} | dict.fromkeys(longer, value) for value in (0.5, 1.0))
    each = ", ".join(f"{length}: 1.00 against 0.50" for length in told)
    assert judged(number, letter)["letter-beats-number-on-length"].why.endswith(f"Letter against number at {each}.")


def test_a_number_model_that_never_breaks_generalises(judged) -> None:
    one = judged(number={17: 1.0, 850: 0.9})["number-barely-generalises"]
    assert one.verdict == "fails"
    assert math.isinf(one.value)
    assert one.why == "Accuracy stays above 0.5 up to 850 tokens."


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        ({17: 1.0, 33: 0.7, 41: 0.3, 65: 0.2}, "holds"),
        ({17: 1.0, 33: 0.7, 65: 0.2}, "open"),
        ({17: 1.0, 57: 0.9, 65: 0.1}, "fails"),
        ({17: 1.0, 33: 0.9}, "not tested"),
    ],
)
def test_a_break_that_was_predicted_elsewhere_is_no_forecast(judged, number, verdict) -> None:
    predicted = 17 * (65 / 17) ** 0.6  # 0.95 at 17 tokens, 0.2 at 65
    one = judged(number=number)["number-break-forecast"]
    assert one.verdict == verdict
    if verdict == "fails":
        assert one.value == pytest.approx(math.log2(57 * (65 / 57) ** 0.5 / predicted))
        assert one.why == f"Half of the answers are wrong from 61 tokens on; predicted: {predicted:.0f}."


@pytest.mark.parametrize(
    ("low", "high", "interval"),
    [
        (16, 24, (0.415, 1)),
        (48, 64, (0.585, 1)),
        (16, 64, (0, 1)),
        (16, math.nan, (0, math.inf)),
        (64, math.nan, (1, math.inf)),
    ],
)
def test_the_interval_of_the_measured_break_is_that_of_the_forecasts_error(made_up, low, high, interval) -> None:
    results = made_up("number", NUMBER)
    lengths = {"measured": Estimate(40, low, high, 100), "predicted": Estimate(32, 30, 34, 100)}
    rows = [replace(row, length=lengths[row.source]) for row in results.rows("breaks", Break)]
    results.write("breaks", rows)
    found = Verdicts(among({"number": results}), CLAIMS)
    assert found["number-break-forecast"].value == pytest.approx(math.log2(40 / 32))
    assert found["number-break-forecast"].interval == pytest.approx(interval, abs=1e-3)
    end = "beyond 850" if math.isnan(high) else high
    why = f"Accuracy falls below 0.5 at 40 tokens ({low} to {end}), interpolated."
    assert found["number-barely-generalises"].why.startswith(why)
    assert found["number-barely-generalises"].interval == (low, math.inf if math.isnan(high) else high)


def test_a_model_without_working_cells_has_no_forecast(judged) -> None:
    assert "no measured or no predicted break" in judged(working=False)["number-break-forecast"].why


def test_what_was_not_measured_is_not_judged(judged) -> None:
    found = judged(number={17: 1.0, 33: 0.9}, letter={17: 1.0, 33: 1.0})
    assert "up to 33 tokens, not up to 850" in found["letter-above-90-at-850"].why
    assert "not measured up to 100 tokens" in found["number-barely-generalises"].why
    found = judged(number={17: 1.0}, letter={17: 1.0})
    assert "neither model falls below 0.95" in found["letter-beats-number-on-length"].why
    assert "there is no decay to compare" in found["decay-in-order-of-bound"].why
    assert {one.verdict for one in found.values()} == {"not tested"}


def test_a_model_that_has_not_learned_its_task_says_nothing(judged) -> None:
    found = judged(trained=0.2)
    assert {one.verdict for one in found.values()} == {"not tested"}
    assert "the letter model has not learned its task: its worst hop class is at 0.20" in (
        found["letter-above-90-at-850"].why
    )
    assert not found["letter-above-90-at-850"].missing


def test_results_that_are_not_there_are_missing() -> None:
    def nothing(study: str, model: str | None):
        raise NotTested(f"no {study} of {model}", missing=True)

    assert all(one.missing for one in judge([Evidence(nothing)], CLAIMS))


def test_an_interval_across_the_threshold_leaves_it_open(judged) -> None:
    one = judged(letter={17: 1.0, 33: 1.0, 850: 0.905})["letter-above-90-at-850"]
    assert one.verdict == "open"
    assert "reaches across 0.9." in one.why


def test_results_of_one_model_judge_what_they_can(made_up) -> None:
    verdicts = made_up("letter", LETTER).claims.set_index("id").verdict
    assert verdicts["letter-above-90-at-850"] == "holds"
    assert verdicts["letter-beats-number-on-length"] == "not tested"
