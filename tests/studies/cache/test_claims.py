"""Our own readings, on made-up tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.cache.tables import ABLE, Policy
from whatwhere.studies.results import Results

BETTER = {"random": -0.1, "far": -0.1, "induction": -0.1}
NAMES = {
    "random": "cache-position-beats-chance",
    "far": "cache-position-beats-far-mass",
    "induction": "cache-position-beats-induction",
}
KEYS = "cache-half-keeps-pass-keys"


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
