"""The statements about geometry and frequencies, on made-up tables: as the paper has it, and one thing changed."""

from __future__ import annotations

import pytest
from evidence_among import Verdicts, among

from whatwhere.studies.claim import Judged
from whatwhere.studies.evidence import Evidence
from whatwhere.studies.geometry.claims import CLAIMS
from whatwhere.studies.judging import judge
from whatwhere.studies.results import Results


@pytest.fixture
def judged(made_up):
    def run(letter=None, **number):
        there = {"number": made_up("number", **number), "letter": made_up("letter", letter)}
        return Verdicts(among(there), CLAIMS)

    return run


def judged_alone(name: str, results: Results) -> Judged:
    """One claim, where every model has these results."""
    (one,) = judge([Evidence(lambda *_: results)], [claim for claim in CLAIMS if claim.id == name])
    return one


def failing(found) -> set[str]:
    return {name for name, one in found.items() if one.verdict == "fails"}


def test_in_the_papers_world_all_hold(judged) -> None:
    found = judged()
    assert {one.verdict for one in found.values()} == {"holds"}
    assert found["frequency-separates-tasks"].value == 17
    assert found["frequency-separates-layers"].value == 35
    assert found["frequency-ids-near-table"].value == 0
    assert found["layer-1-plane"].value == 1
    assert "opposite" not in found["index-keys-aligned"].why
    assert "11 of 11 other layers have a plane of as large a share" in found["layer-1-plane"].why
    assert found["frequency-separates-layers"].why == (
        "Layers 0 to 3 reach ID 2.0 at most (layer 1), layers 5 to 11 have 37.0 at least (layer 9)."
    )
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
    one = judged_alone("index-keys-aligned", results)
    assert "Each window has one direction, and the two are opposite" in one.why
    frame.loc[(frame["layer"] == 1) & (frame["head"] == 0), "plane"] = 7
    one = judged_alone("index-keys-aligned", results)
    assert one.why.startswith("Layer 1, plane 7: all 0.100, target 0.990, pointers 0.990 (1 is aligned, 0 cancels).")


def test_slow_first_layers_separate_neither_layers_nor_tasks(judged) -> None:
    late = (1, 2, 2, 38, 10, 39, 38, 38, 38, 37, 37, 38)
    assert failing(judged(ids=late)) == {"frequency-separates-tasks", "frequency-separates-layers"}
    early = (1, 2, 2, 2, 10, 1, 38, 38, 38, 37, 37, 38)
    assert failing(judged(ids=early)) == {"frequency-separates-layers"}
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


def test_the_hop_classes_of_the_model_as_trained_tell_whether_it_has_learned(made_up) -> None:
    def verdict(kind: str, hop: int | None) -> str:
        results = made_up("number")
        frame = results["gating"]
        classes = frame["hop"].isna() if hop is None else frame["hop"] == hop
        frame.loc[(frame["kind"] == kind) & classes, "accuracy"] = 0.3
        return judge([among({"number": results})], [CLAIMS[0]])[0].verdict

    assert verdict("as trained", 2) == "not tested"
    assert {verdict("closed", 2), verdict("as trained", None)} == {"holds"}


def test_the_letter_layers_that_are_as_large_are_counted_by_statement(made_up) -> None:
    there = {"number": made_up("number"), "letter": made_up("letter", agreement=0.5)}
    found = Verdicts(among(there), CLAIMS)
    assert "0 of 12 letter layers" in found["index-queries-turn"].why
    assert "12 of 12 letter layers" in found["index-keys-aligned"].why


def test_the_rank_among_nulls_is_told_and_shuffled_integers_decide(judged) -> None:
    one = judged()["index-queries-turn"]
    ranks = "40 of 100 other planes (median 0.30), 5 of 100 shuffled names (median 0.30), 2 of 100 other layers"
    assert f"As large: {ranks} (median 0.30), 12 of 12 letter layers." in one.why
    assert "leak-free" not in one.why  # the letter model is a null here, not what is judged
    found = judged(shuffles=6)
    assert failing(found) == {"index-queries-turn", "index-queries-turn-in-reach"}
    assert "40 of 100 other planes" in found["index-keys-aligned"].why


def test_a_plane_that_is_slow_or_does_not_lead_does_not_carry_layer_1(made_up) -> None:
    def plane(first: float, second: float, width: float = 0.01, slowed: int = 5):
        results = made_up("number")
        frame = results["weights"]
        for at, weight in ((1, first), (2, second)):
            columns = ["weight", "weight_low", "weight_high"]
            frame.loc[frame["plane"] == at, columns] = [weight, weight - width, weight + width]
        frame["plane"] = frame["plane"].replace(1, slowed)
        return judged_alone("layer-1-plane", results)

    slow, near = plane(0.9, 0.1), plane(0.4, 0.41)
    assert [plane(0.75, 0.25, width, slowed=1).verdict for width in (0.125, 0.25)] == ["holds", "fails"]  # they touch
    assert (slow.verdict, slow.value) == ("fails", 5)
    assert (near.verdict, near.value) == ("fails", 2)  # the intervals overlap
    assert "ID 5 has 0.90 (0.89 to 0.91)" in slow.why


def test_the_distance_to_the_table_is_told_with_its_nulls(judged) -> None:
    shifted = tuple(min(64, id + 3) for id in (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38))
    one = judged(ids=shifted)["frequency-ids-near-table"]
    assert (one.verdict, one.value) == ("holds", pytest.approx(1.5))  # three IDs in one model of two
    assert "0 of 1,000 tables with shuffled layers are as near" in one.why
    assert "Our 4 measures differ by 0.0 to 0.0 IDs" in one.why


def test_each_measure_of_frequency_has_a_distance_of_its_own(made_up) -> None:
    there = {task: made_up(task) for task in ("number", "letter")}
    for results in there.values():
        results["ids"].loc[results["ids"]["measure"] == "norm", "weighted_id"] += 5
    (claim,) = (one for one in CLAIMS if one.id == "frequency-ids-near-table")
    found = claim.measure(among(there))
    assert found.value == 0
    assert found.elsewhere["measure"] == pytest.approx({"norm": 5, "margin": 0, "variance at pointers": 0})
    assert "Our 4 measures differ by 0.0 to 5.0 IDs" in found.why
