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


def judged(costs: dict[tuple[str, str, str], float], draws: tuple[float, ...] = (0.4, 0.6)) -> dict[str, str]:
    runs = [Run(None, None, None, probe, item, 2.0 + item, 0.5) for probe in PROBES for item in range(ITEMS)]
    for (label, change, probe), cost in costs.items():
        for draw, rise in ((None, cost), *enumerate(draws)):
            each = (2.0 + item + rise + 0.01 * (item % 3) for item in range(ITEMS))
            runs += [Run(label, draw, change, probe, item, loss, 0.5) for item, loss in enumerate(each)]
    results = Results(CAUSAL, CausalSettings(text=("sha256:0",)), "made-up")
    results.write("runs", runs)
    results.write("effects", effects(runs, 0))
    return {one.claim.id: one.verdict for one in judge([among({"None": results})], CLAIMS)}


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
