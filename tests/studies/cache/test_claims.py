"""Our own readings, on made-up tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from evidence_among import among

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.cache.claims import CLAIMS
from whatwhere.studies.cache.tables import ABLE, Comparison, Policy
from whatwhere.studies.results import Results

BETTER = {"random": -0.1, "far": -0.1, "induction": -0.1}
NAMES = {
    "random": "cache-position-beats-chance",
    "far": "cache-position-beats-far-mass",
    "induction": "cache-position-beats-induction",
}
KEYS = "cache-half-keeps-pass-keys"
MEASURES = {claim.id: claim.measure for claim in CLAIMS}


def verdicts(results: Results) -> dict[str, str]:
    frame = results.claims
    return dict(zip(frame["id"], frame["verdict"], strict=True))


@pytest.mark.parametrize("turned", [False, True])
def test_a_lower_loss_at_each_share_is_better_whichever_stands_first(made_up: Callable[..., Results], turned: bool):
    found = verdicts(made_up(BETTER, turned=turned))
    assert found == dict.fromkeys([*NAMES.values(), KEYS], "holds")


@pytest.mark.parametrize("other", NAMES)
def test_a_higher_loss_fails_and_one_that_reaches_across_is_open(made_up: Callable[..., Results], other: str):
    assert verdicts(made_up({**BETTER, other: 0.1}))[NAMES[other]] == "fails"
    assert verdicts(made_up({**BETTER, other: -0.005}))[NAMES[other]] == "open"


def test_what_was_not_compared_is_not_tested(made_up: Callable[..., Results]):
    found = verdicts(made_up({"random": -0.1}))
    assert found[NAMES["random"]] == "holds"
    assert found[NAMES["far"]] == found[NAMES["induction"]] == "not tested"


@pytest.mark.parametrize(("half", "verdict"), [(0.95, "holds"), (0.5, "fails")])
def test_pass_keys_with_half_the_heads_decide(made_up: Callable[..., Results], half: float, verdict: str):
    assert verdicts(made_up(BETTER, half=half))[KEYS] == verdict


@pytest.mark.parametrize("passkey", [0.2, math.nan])
def test_a_model_that_finds_no_keys_is_not_judged_by_them(made_up: Callable[..., Results], passkey: float):
    assert verdicts(made_up(BETTER, passkey=passkey, half=passkey))[KEYS] == "not tested"


def test_a_model_that_just_finds_enough_keys_is_judged_by_them(made_up: Callable[..., Results]):
    assert verdicts(made_up(BETTER, passkey=ABLE, half=ABLE))[KEYS] != "not tested"


def test_only_half_of_the_heads_by_the_positional_score_is_asked_for_pass_keys(made_up: Callable[..., Results]):
    results = made_up(BETTER)
    rows = results.rows("policies", Policy)
    none = Estimate(0.0, 0.0, 0.0, 8)
    asked = [row for row in rows if (row.ranking, row.budget) == ("positional", 0.5)]
    results.write("policies", [row if row in asked else replace(row, passkey=none) for row in rows])
    assert verdicts(results)[KEYS] == "holds"
    results.write("policies", [row for row in rows if row not in asked])
    why = results.claims.set_index("id").loc[KEYS, "why"]
    assert why == "half of the KV heads by the positional score was not measured."


@pytest.mark.parametrize(("other", "turned"), [("random", False), ("far", True)])
def test_the_least_sure_share_decides_with_its_interval(made_up: Callable[..., Results], other: str, turned: bool):
    results = made_up(BETTER)
    pair, sign = ((other, "positional"), -1) if turned else (("positional", other), 1)
    rows = [
        Comparison(share, *pair, Estimate(sign * loss, sign * loss - 0.02, sign * loss + 0.01, 4))
        for share, loss in ((0.25, -0.3), (0.5, -0.05), (0.75, -0.1))
    ]
    results.write("comparisons", rows)
    found = MEASURES[NAMES[other]](among({"None": results}))
    ends = (-0.06, -0.03) if turned else (-0.07, -0.04)
    assert (found.value, found.interval, found.inputs) == (-0.05, pytest.approx(ends), 4)
    assert found.why == (
        "In nats per token, by share of streamed KV heads: 25 %: -0.300, 50 %: -0.050, 75 %: -0.100. "
        "It is least sure at 50 %."
    )


def test_pass_keys_are_counted_against_those_of_the_full_cache(made_up: Callable[..., Results]):
    found = MEASURES[KEYS](among({"None": made_up(BETTER, passkey=0.9, half=0.7)}))
    assert (found.value, found.interval, found.inputs) == (pytest.approx(-0.2), pytest.approx((-0.2, -0.2)), 8)
    assert found.why == "0.70 of 8 prompts, and 0.90 with the full cache."
