"""Our readings on made-up tables: as the labels have it, and one thing changed."""

from __future__ import annotations

import pytest
from evidence_among import among

from whatwhere.studies.causal import CAUSAL
from whatwhere.studies.causal.claims import CLAIMS
from whatwhere.studies.causal.measure import effects
from whatwhere.studies.causal.tables import CausalSettings, Run
from whatwhere.studies.judging import judge
from whatwhere.studies.results import Results

COSTS = {
    ("positional", "ablate", "back"): 2.0,
    ("symbolic", "ablate", "induction"): 3.0,
    ("symbolic", "ablate", "name"): 1.5,
    ("positional", "mask far", "text"): 0.0,
    ("positional", "close fast", "text"): 1.2,
    ("symbolic", "close slow", "induction"): 1.3,
    ("positional", "close slow", "text"): 0.5,
    ("symbolic", "close fast", "induction"): 0.5,
}
"""With other heads every change costs 0.5."""
PROBES, ITEMS = ("text", "induction", "back", "name"), 6


def measured(costs: dict[tuple[str, str, str], float], draws: tuple[float, ...] = (0.4, 0.6)) -> Results:
    runs = [Run(None, None, None, probe, item, 2.0 + item, 0.5) for probe in PROBES for item in range(ITEMS)]
    for (label, change, probe), cost in costs.items():
        for draw, rise in ((None, cost), *enumerate(draws)):
            each = (2.0 + item + rise + 0.01 * (item % 3) for item in range(ITEMS))
            runs += [Run(label, draw, change, probe, item, loss, 0.5) for item, loss in enumerate(each)]
    results = Results(CAUSAL, CausalSettings(text=("sha256:0",)), "made-up")
    results.write("runs", runs)
    results.write("effects", effects(runs, 0))
    return results


def judged(costs: dict[tuple[str, str, str], float], draws: tuple[float, ...] = (0.4, 0.6)) -> dict[str, str]:
    evidence = among({"None": measured(costs, draws)})
    return {one.claim.id: one.verdict for one in judge([evidence], CLAIMS)}


def test_every_reading_holds_where_labels_mean_what_they_say():
    assert set(judged(COSTS).values()) == {"holds"}


@pytest.mark.parametrize("changed", [name for name, cost in COSTS.items() if cost != 0.5])
def test_each_reading_fails_alone_where_its_heads_are_like_others(changed: tuple[str, str, str]):
    found = judged(COSTS | {changed: 0.5})
    (lost,) = (name for name, verdict in found.items() if verdict != "holds")
    assert changed[0] in lost


def test_an_effect_that_a_random_draw_exceeds_does_not_hold():
    found = judged(COSTS, draws=(0.0, 2.5))
    assert found["causal-positional-back"] != "holds" and found["causal-symbolic-induction"] == "holds"


def test_what_the_model_cannot_do_is_not_tested():
    results = Results(CAUSAL, CausalSettings(text=("sha256:0",)), "made-up")
    results.write("effects", [])
    results.write("runs", [])
    verdicts = {one.verdict for one in judge([among({"None": results})], CLAIMS)}
    assert verdicts == {"not tested"}


@pytest.mark.parametrize(
    ("claim", "value", "why"),
    [
        (
            "causal-positional-back", 1.5,
            "The loss rises by 2.010 nats, and by 0.510 with other heads; 2 of 2 random draws cost less.",
        ),
        (
            "causal-positional-near", -0.5,
            "The loss rises by 0.010 nats, and by 0.510 with other heads; 0 of 2 random draws cost less.",
        ),
        (
            "causal-positional-fast", 0.7,
            "The loss rises by 1.210 nats without fast planes, by 0.510 without slow ones.",
        ),
        (
            "causal-symbolic-slow", -0.8,
            "The loss rises by 0.510 nats without fast planes, by 1.310 without slow ones.",
        ),
    ],
)  # fmt: skip
def test_each_reading_is_told_with_its_costs(claim: str, value: float, why: str):
    (measure,) = (one.measure for one in CLAIMS if one.id == claim)
    found = measure(among({"None": measured(COSTS)}))
    assert (found.value, found.interval, found.inputs) == (pytest.approx(value), pytest.approx((value, value)), 6)
    assert (found.why, found.rest_holds) == (why, True)


@pytest.mark.parametrize(("draws", "sure"), [((0.4, 0.6), True), ((-0.5, 0.6), False), ((0.4, 2.1), False)])
def test_a_cost_exceeds_every_draw_and_a_saving_stays_below_every_one(draws: tuple[float, ...], sure: bool):
    """The positional heads cost 2 nats where they are asked for and none where they are not."""
    results = measured(COSTS, draws)
    by = {one.id: one.measure(among({"None": results})).rest_holds for one in CLAIMS}
    assert by["causal-positional-back"] is (max(draws) < 2)
    assert by["causal-positional-near"] is (min(draws) > 0)
    assert (by["causal-positional-back"] and by["causal-positional-near"]) is sure
