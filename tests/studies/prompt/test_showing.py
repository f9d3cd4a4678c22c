"""What a person reads and sees, and what the claims make of it."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, nan

import pytest
from evidence_among import among
from matplotlib import pyplot

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.evidence import NotTested
from whatwhere.studies.prompt import PROMPT
from whatwhere.studies.prompt.tables import Forecast
from whatwhere.studies.results import Results

CLAIMS = {claim.id: claim for claim in PROMPT.all_claims()}
FORECASTS = ("prompt-margins-predict-failure", "prompt-attention-predicts-failure")


def shown(results: Results) -> str:
    return " ".join(results.summary.split())


def test_the_summary_tells_what_was_predicted_and_what_came(made_up: Callable[..., Results]):
    text = shown(made_up())
    assert "Fewer than half of the keys are found from 1,000 tokens on." in text
    assert "predicted by margin: 900 tokens (450 to ?); off by a factor of 1.1" in text
    assert "without these 3 heads -2.0; without 3 random others in the same layers +3.5" in text
    text = shown(made_up(predicted=nan, measured=nan, off=0.0))
    assert "still finds half of the keys or more at 2,048 tokens" in text
    assert "predicted by attention: no failure; no failure was seen" in text
    assert "predicted by margin: no failure; wrong: it fails" in shown(made_up(predicted=nan, off=9.0))
    assert "wrong: none was seen up to 2,048" in shown(made_up(measured=nan, off=1.2))
    assert "nothing to predict" in shown(made_up(able=False)) and "predicted by" not in shown(made_up(able=False))


def test_claims_read_the_tables(made_up: Callable[..., Results]):
    evidence = among({"None": made_up()})
    for name in FORECASTS:
        found = CLAIMS[name].measure(evidence)
        assert found.value == 0.15 and CLAIMS[name].met(found.value)
        assert found.interval == pytest.approx((0.0, log2(2**20 / 1000)))  # 450 to no end
        assert not CLAIMS[name].met(CLAIMS[name].measure(among({"None": made_up(off=3.0)})).value)
    assert CLAIMS["prompt-key-heads-symbolic"].measure(evidence).value == pytest.approx(2 / 3)
    needed = CLAIMS["prompt-key-heads-needed"].measure(evidence)
    assert (needed.value, needed.interval) == (5.5, (4.5, 6.5))
    for claim in CLAIMS.values():
        with pytest.raises(NotTested, match="does not find half of the pass keys"):
            claim.measure(among({"None": made_up(able=False)}))
    with pytest.raises(NotTested, match="no prompt was longer"):
        CLAIMS[FORECASTS[0]].measure(among({"None": made_up(off=nan)}))


@pytest.mark.parametrize("name", FORECASTS)
def test_a_forecast_that_nothing_put_to_the_test_is_not_judged(name: str, made_up: Callable[..., Results]):
    for known in ({"predicted": nan, "off": 0.0}, {"predicted": 1500.0, "off": 0.45}):
        with pytest.raises(NotTested, match=r"no failure up to 2,048 tokens; .* Ask longer prompts"):
            CLAIMS[name].measure(among({"None": made_up(measured=nan, **known)}))
    with pytest.raises(NotTested, match="fails at 157 tokens, within the short prompts"):
        CLAIMS[name].measure(among({"None": made_up(measured=157.0)}))
    refuted = CLAIMS[name].measure(among({"None": made_up(predicted=300.0, measured=nan, off=2.8)}))
    assert not CLAIMS[name].met(refuted.value)


@pytest.mark.parametrize(
    ("low", "high", "interval"), [(2000, 4000, (1, 2)), (250, 500, (1, 2)), (500, 4000, (0, 2)), (250, 1500, (0, 2))]
)
def test_a_forecast_is_off_by_the_distance_to_the_ends_of_its_interval(
    made_up: Callable[..., Results], low: float, high: float, interval: tuple[float, float]
):
    results = made_up(measured=1000.0)
    results.write("forecasts", [Forecast("margin", Estimate(900.0, low, high, 8), -1.0, 0.15)])
    assert CLAIMS[FORECASTS[0]].measure(among({"None": results})).interval == pytest.approx(interval)


def test_a_forecast_of_one_doubling_is_as_near_as_asked_for(made_up: Callable[..., Results]):
    with pytest.raises(NotTested, match="Ask longer prompts"):
        CLAIMS[FORECASTS[0]].measure(among({"None": made_up(predicted=1024.0, measured=nan, off=1.0)}))
    with pytest.raises(NotTested, match="fails at 256 tokens, within the short prompts"):
        CLAIMS[FORECASTS[0]].measure(among({"None": made_up(measured=256.0)}))


def test_the_figure_shows_both_forecasts(made_up: Callable[..., Results]):
    (figure,) = made_up().figures().values()
    left, right = figure.axes
    assert [line.get_label() for line in left.lines].count("predicted by margin") == 1
    assert right.get_legend() is not None and len(left.get_xticks()) == 3
    pyplot.close("all")


def test_each_finding_is_told_with_its_numbers(made_up: Callable[..., Results]):
    evidence = among({"None": made_up()})
    assert {name: claim.measure(evidence).why for name, claim in CLAIMS.items()} == {
        FORECASTS[0]: "The forecast is failure at 900 tokens; the model fails at 1,000.",
        FORECASTS[1]: "The forecast is failure at 900 tokens; the model fails at 1,000.",
        "prompt-key-heads-symbolic": "2 of 3 heads are purely symbolic, 0 purely positional.",
        "prompt-key-heads-needed": (
            "The mean margin is 4.0; without these heads -2.0, without as many others in the same layers 3.5."
        ),
    }
    assert [claim.measure(evidence).inputs for claim in CLAIMS.values()] == [8, 8, None, 8]
    refuted = CLAIMS[FORECASTS[0]].measure(among({"None": made_up(predicted=300.0, measured=nan, off=2.8)}))
    assert (refuted.value, refuted.interval, refuted.inputs) == (2.8, None, 8)
    assert refuted.why == "The forecast is failure at 300 tokens; none was seen up to 2,048."
