"""The statements about geometry and frequencies, on made-up tables: as the paper has it, and one thing changed."""

from __future__ import annotations

import pytest
from evidence_among import among

from whatwhere.studies.evidence import Evidence
from whatwhere.studies.geometry.claims import CLAIMS
from whatwhere.studies.judging import judge


@pytest.fixture
def judged(made_up):
    def run(letter=None, **number):
        there = {"number": made_up("number", **number), "letter": made_up("letter", letter)}
        return {one.claim.id: one for one in judge([among(there)], CLAIMS)}

    return run


def failing(found) -> set[str]:
    return {name for name, one in found.items() if one.verdict == "fails"}


def test_in_the_papers_world_all_hold(judged) -> None:
    found = judged()
    assert {one.verdict for one in found.values()} == {"holds"}
    assert found["frequency-separates-tasks"].value == 17
    assert found["frequency-separates-layers"].value == 35
    assert found["frequency-ids-near-table"].value == 0
    assert found["layer-1-plane"].value == 1
    assert all(one.inputs == 512 for one in found.values())


def test_keys_that_cancel_and_queries_that_do_not_turn(judged) -> None:
    found = judged(alignment=0.1, agreement=0.5)
    assert failing(found) == {
        "index-keys-aligned", "index-keys-aligned-within-window", "index-queries-turn", "index-queries-turn-in-reach",
    }  # fmt: skip
    assert found["index-keys-aligned"].interval == pytest.approx((0.09, 0.11))


def test_opposite_windows_are_told(made_up) -> None:
    results = made_up("number")
    frame = results["keys"]
    frame.loc[frame["keys"] == "all", "alignment"] = 0.1
    one = next(one for one in judge([Evidence(lambda *_: results)], CLAIMS) if one.claim.id == "index-keys-aligned")
    assert "Each window has one direction, and the two are opposite" in one.why
    frame.loc[(frame["layer"] == 1) & (frame["head"] == 0), "plane"] = 7
    one = next(one for one in judge([Evidence(lambda *_: results)], CLAIMS) if one.claim.id == "index-keys-aligned")
    assert one.why.startswith("Layer 1, plane 7: all 0.100, target 0.990, pointers 0.990 (1 is aligned, 0 cancels).")


def test_slow_first_layers_separate_neither_layers_nor_tasks(judged) -> None:
    late = (1, 2, 2, 38, 10, 39, 38, 38, 38, 37, 37, 38)
    assert failing(judged(ids=late)) == {"frequency-separates-tasks", "frequency-separates-layers"}
    one = judged(ids=(1, 33, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38))["frequency-separates-tasks"]
    assert (one.verdict, one.value) == ("fails", -1)
    assert one.interval == pytest.approx((-1.8, -0.2))


def test_fewer_layers_than_the_papers_cannot_be_compared(judged) -> None:
    found = judged(ids=(1, 2))
    assert "layer 2 is not among the results" in found["frequency-separates-tasks"].why
    found = judged(ids=(1,))
    assert "no fit of the queries of layer 1 over the integers 1-16" in found["index-queries-turn"].why
    assert "alignment of keys of layer 1 was not measured" in found["index-keys-aligned"].why


def test_a_model_that_has_not_learned_its_task_says_nothing(judged) -> None:
    found = judged(accuracy=0.3)
    assert {one.verdict for one in found.values()} == {"not tested"}
    assert (
        "the number model has not learned its task: its worst hop class is at 0.30" in found["index-queries-turn"].why
    )


def test_the_rank_among_nulls_is_told_and_shuffled_integers_decide(judged) -> None:
    one = judged()["index-queries-turn"]
    ranks = "40 of 100 other planes (median 0.30), 5 of 100 shuffled names (median 0.30), 2 of 100 other layers"
    assert f"As large: {ranks} (median 0.30), 12 of 12 letter layers." in one.why
    assert "leak-free" not in one.why  # the letter model is a null here, not what is judged
    found = judged(shuffles=6)
    assert failing(found) == {"index-queries-turn", "index-queries-turn-in-reach"}
    assert "40 of 100 other planes" in found["index-keys-aligned"].why


def test_a_plane_that_is_slow_or_does_not_lead_does_not_carry_layer_1(made_up) -> None:
    def plane(first: float, second: float):
        results = made_up("number")
        frame = results["weights"]
        for at, weight in ((1, first), (2, second)):
            columns = ["weight", "weight_low", "weight_high"]
            frame.loc[frame["plane"] == at, columns] = [weight, weight - 0.01, weight + 0.01]
        frame["plane"] = frame["plane"].replace(1, 5)
        return next(o for o in judge([Evidence(lambda *_: results)], CLAIMS) if o.claim.id == "layer-1-plane")

    slow, near = plane(0.9, 0.1), plane(0.4, 0.41)
    assert (slow.verdict, slow.value) == ("fails", 5)
    assert (near.verdict, near.value) == ("fails", 2)  # the intervals overlap
    assert "ID 5 has 0.90 (0.89 to 0.91)" in slow.why


def test_the_distance_to_the_table_is_told_with_its_nulls(judged) -> None:
    shifted = tuple(min(64, id + 3) for id in (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38))
    one = judged(ids=shifted)["frequency-ids-near-table"]
    assert (one.verdict, one.value) == ("holds", pytest.approx(1.5))  # three IDs in one model of two
    assert "0 of 1,000 tables with shuffled layers are as near" in one.why
    assert "Our four measures differ by 0.0 to 0.0 IDs" in one.why
