from __future__ import annotations

import pytest
from evidence_among import Verdicts, among

from whatwhere.studies.hops.claims import CLAIMS

FAR = {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.98, 6: 0.97, 7: 0.97, 8: 0.96}
NEAR = FAR | {5: 0.7, 6: 0.4, 7: 0.3, 8: 0.2}


@pytest.fixture
def judged(made_up):
    def run(accuracy=FAR, **changes):
        there = {name: made_up(name, accuracy, **changes) for name in ("number", "letter")}
        return Verdicts(among(there), CLAIMS)

    return run


def test_where_longer_chains_and_loops_work_every_claim_holds(judged) -> None:
    found = judged()
    assert {one.verdict for one in found.values()} == {"holds"}
    assert found["number-layer-per-longer-hop"].value == pytest.approx(1)
    assert "Block 11 run 2 more times" in found["number-looped-last-block"].why


def test_chains_that_are_not_followed_fail(judged) -> None:
    found = judged(NEAR)
    assert found["number-follows-longer-chains"].verdict == "fails"
    assert found["letter-follows-longer-chains"].value == pytest.approx(0.2)


def test_a_chain_that_can_be_guessed_proves_nothing(judged) -> None:
    found = judged(FAR | {7: 0.1})  # the made-up tables have no decoy at 7 hops
    assert found["letter-follows-longer-chains"].verdict == "holds"


def test_a_loop_that_adds_nothing_fails_and_one_that_cannot_add_is_not_judged(judged) -> None:
    assert judged(NEAR, lead=-0.1)["letter-looped-best-blocks"].verdict == "fails"
    found = judged(dict.fromkeys(FAR, 1.0), lead=0.0)["number-looped-last-block"]
    assert found.verdict == "not tested"
    assert "nothing is left to gain" in found.why


def test_all_hops_at_once_take_no_further_layer(judged) -> None:
    assert judged(layer=0.0)["number-layer-per-longer-hop"].verdict == "fails"


def test_a_chain_that_can_be_guessed_takes_no_layers_into_account(judged) -> None:
    one = judged(dict.fromkeys(range(1, 8), 1.0))["letter-layer-per-longer-hop"]  # no decoy at 7 hops
    assert one.why == "Layers: 4 hops 5.00, 5 hops 6.00, 6 hops 7.00."


def test_answers_that_can_hardly_be_read_have_no_layers(judged) -> None:
    assert "hardly ever be read" in judged(never=90)["number-layer-per-longer-hop"].why


def test_half_of_the_answers_and_one_longer_chain_are_enough_to_count_layers(judged) -> None:
    one = judged(dict.fromkeys(range(1, 6), 1.0), never=50)["number-layer-per-longer-hop"]
    assert (one.value, one.why) == (pytest.approx(1), "Layers: 4 hops 5.00, 5 hops 6.00.")
    assert one.interval == pytest.approx((0.8, 1.2))


def test_without_a_loop_or_a_longer_chain_nothing_is_judged(judged) -> None:
    assert "nothing was looped" in judged(NEAR, loops=0)["number-looped-last-block"].why
    short = dict.fromkeys(range(1, 5), 1.0)
    assert "no chain is longer" in judged(short)["number-follows-longer-chains"].why


def test_a_model_that_has_not_learned_its_task_says_nothing(judged) -> None:
    assert {one.verdict for one in judged(dict.fromkeys(FAR, 0.2)).values()} == {"not tested"}
