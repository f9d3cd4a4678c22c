"""Change one thing in the paper's world, and just the claims that speak of it notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dynamics_world import ScoreOf, World, made_up, made_up_mechanism, world_score

from whatwhere.studies.dynamics import DYNAMICS
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.learning import in_order
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.mechanism.tables import GroupAblation
from whatwhere.studies.results import Results

IN_ORDER, TOGETHER = (300, 400, 500, 600), (400,) * 4


@pytest.mark.slow
def test_in_the_papers_world_every_claim_holds(world: World) -> None:
    judged = dict(world.judged())
    assert judged.pop("control-hops-in-order").missing
    assert {one.verdict for one in judged.values()} == {"holds"}
    judged = world.judged(control=True)
    assert judged["control-hops-in-order"].verdict == "holds"
    assert {name: one.depends_on for name, one in judged.items() if one.verdict != "holds"} == {
        "letter-hops-together": ("data",),
        "purity-follows-accuracy": ("data",),  # all heads are pure at once, hop classes come one after another
    }


@pytest.mark.slow
def test_hops_learned_at_once_or_out_of_order_are_no_gradient(world: World) -> None:
    world.dynamics["number"] = made_up("number", (500, 600, 600, 600))
    assert world.failing() == {"number-hops-in-order"}
    assert world.judged()["number-hops-in-order"].value == pytest.approx(1.2, abs=0.01)
    world.dynamics["number"] = made_up("number", (600, 300, 400, 500))
    assert world.failing() == {"number-hops-in-order"}


@pytest.mark.slow
def test_the_order_is_told_in_steps_with_its_inputs(world: World) -> None:
    one = world.judged()["number-hops-in-order"]
    assert one.why.startswith("0.9 is reached at steps 289, 389, 489 and 589 for 1, 2, 3 and 4 hops: each")
    assert one.inputs == 1200
    assert one.interval is not None
    assert one.interval[0] > 1.9


@pytest.mark.slow
def test_letters_one_after_another_are_not_together(world: World) -> None:
    world.dynamics["letter"] = made_up("letter", IN_ORDER)
    assert world.failing() == {"letter-hops-together", "purity-follows-accuracy"}
    world.dynamics["letter"]._inputs = {"task": {"name": "letter", "generator": "decoy"}}
    assert world.judged()["letter-hops-together"].why.endswith("leak-free data, not on the authors'.")


@pytest.mark.slow
def test_a_control_that_learns_at_once_explains_nothing(world: World) -> None:
    world.dynamics["letter-control"] = made_up("letter", TOGETHER)
    assert world.judged(control=True)["control-hops-in-order"].verdict == "fails"
    assert world.judged(control=True)["letter-hops-together"].verdict == "holds"
    assert world.judged()["control-hops-in-order"].missing


@pytest.mark.slow
def test_the_test_split_decides_what_is_learned_where_it_was_measured(world: World) -> None:
    world.dynamics["letter"] = made_up("letter", TOGETHER, test=0.98)
    one = world.judged()["both-tasks-learned"]
    assert (one.verdict, one.value, one.inputs) == ("fails", 0.98, 5000)
    assert one.why == "The worst hop class of both models: letter task, 1 hop, on the test split."


@pytest.mark.slow
def test_a_model_that_never_learned_says_nothing_about_solutions(world: World) -> None:
    world.dynamics["letter"] = made_up("letter", (100, 100, 100, 10**9))
    judged = world.judged()
    assert judged["both-tasks-learned"].verdict == "fails"
    one = judged["letter-needs-only-symbolic"]
    assert (one.verdict, one.missing) == ("not tested", False)
    assert "has not learned its task: its worst hop class is at 0.20" in one.why
    assert judged["number-needs-both-kinds"].verdict == "holds"


@pytest.mark.slow
def test_impure_heads_that_nothing_needs_count_for_one_reading_only(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.3, 0.8) if layer > 6 and step else world_score("number", layer, step)

    world.dynamics["number"] = made_up("number", IN_ORDER, score)
    assert world.failing() == {"pure-at-maximum-number-all"}
    why = world.judged()["pure-at-maximum-number-all"].why
    four = ", ".join(f"layer {layer} 0.30/0.80" for layer in (7, 8, 9, 10))
    assert why == (
        f"At step 600 7 of 12 are pure, at the end 7. Not pure then: {four} and 1 more (positional/symbolic). "
        "With other tau (0.001, 0.01 and 0.1): 0.583, 0.583 and 0.583."
    )


@pytest.mark.slow
def test_without_positional_heads_there_is_no_staircase_and_one_kind_only(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.4, 0.6) if layer < 4 and step else world_score("number", layer, step)

    world.dynamics["number"] = made_up("number", IN_ORDER, score)
    assert world.failing() == {
        "pure-at-maximum-number-all", "pure-at-maximum-number-needed", "number-suffices-with-both-kinds",
        "number-has-both-kinds", "positional-purity-steps", "purity-follows-accuracy", "positional-heads-before-hops",
    }  # fmt: skip
    assert "no head ever is, over all swaps" in world.judged()["positional-purity-steps"].why


@pytest.mark.slow
def test_without_symbolic_heads_none_is_early_enough(world: World) -> None:
    world.dynamics["number"] = made_up("number", IN_ORDER, lambda _, step: (0.98, 0.04) if step else (1.0, 1.0))
    one = world.judged()["symbolic-purity-early"]
    assert (one.verdict, one.why) == ("fails", "No head of the number model becomes purely symbolic for good.")


def test_the_window_that_gets_most_attention_decides(world: World) -> None:
    world.mechanism["number"] = made_up_mechanism("number", range(5), "1.0 6.0", (0.5, 0.6))
    assert world.failing() == {"pure-number-needed-within-window", "number-has-both-kinds-within-window"}


@pytest.mark.slow
def test_a_positional_head_in_the_letter_model_counts_against_it(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.98, 0.04) if layer == 3 and step else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    assert world.failing() == {"letter-suffices-with-symbolic"}


def test_a_kind_is_needed_if_its_heads_together_are(world: World) -> None:
    world.mechanism["number"] = made_up_mechanism("number", range(4), "1.0 6.0", None)
    one = world.judged()["number-needs-both-kinds"]
    assert (one.verdict, one.value) == ("fails", 1)
    assert one.why == (
        "All heads of a kind ablated together, the largest loss: positional heads (0.0 1.0 2.0 3.0) 0.70 (4 hops); "
        "symbolic heads (4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0) 0.00 (4 hops)."
    )


def test_a_letter_model_whose_symbolic_heads_do_not_suffice_alone_does_not_need_them_only(world: World) -> None:
    rows = world.mechanism["letter"].rows("groups", GroupAblation)
    alone = [replace(row, family="all but", group="all but symbolic") for row in rows if row.group == "all symbolic"]
    for after, verdict in ((alone[0].after, "fails"), (alone[0].before, "holds")):
        world.mechanism["letter"] = made_up_mechanism("letter", range(12), "1.0 2.0 3.0", None)
        world.mechanism["letter"].write("groups", [*rows, *(replace(row, after=after) for row in alone)])
        assert world.judged()["letter-needs-only-symbolic"].verdict == verdict


def test_hop_classes_that_do_without_the_later_half_do_not_need_the_last_layer(world: World) -> None:
    rows = world.mechanism["letter"].rows("groups", GroupAblation)
    kept = [replace(row, needed=row.needed and row.family != "late layers") for row in rows]
    world.mechanism["letter"] = made_up_mechanism("letter", range(12), "1.0 2.0 3.0", None)
    world.mechanism["letter"].write("groups", kept)
    one = world.judged()["letter-last-layer-needed"]
    assert (one.verdict, one.value) == ("fails", 0)


def test_hop_classes_that_come_before_the_last_layer_do_not_wait_for_it(world: World) -> None:
    world.dynamics["letter"] = made_up("letter", (200, 200, 400, 400))
    one = world.judged()["letter-last-layer-before-hops"]
    assert (one.verdict, one.value) == ("fails", 2)
    assert one.why.startswith("Layer 11 is purely symbolic for good from step 300 on; the last hop class reaches 0.9")


def test_the_tolerance_of_purity_may_decide_which_kinds_are_needed(world: World) -> None:
    rows = world.mechanism["number"].rows("groups", GroupAblation)
    loose = [replace(row, family="kind at gamma 0.2", needed=False) for row in rows if row.family == "kind"]
    world.mechanism["number"] = made_up_mechanism("number", range(12), "1.0 6.0", None)
    world.mechanism["number"].write("groups", [*rows, *loose])
    one = world.judged()["number-needs-both-kinds"]
    assert (one.verdict, one.depends_on) == ("depends", ("gamma",))
    assert "With other gamma (0.2): 0." in one.why


def test_symbolic_heads_that_come_after_the_first_positional_one_are_early_by_one_reading_only(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.6, 0.7) if layer > 3 and 0 < step < 500 else world_score("number", layer, step)

    world.dynamics["number"] = made_up("number", IN_ORDER, score)
    one = world.judged()["symbolic-purity-early"]
    assert (one.verdict, one.depends_on) == ("depends", ("reading",))


def test_an_order_that_the_inputs_do_not_decide_is_open() -> None:
    run = Training(made_up("number", (300, 400, 500, 500)))
    assert in_order(Training(made_up("number", IN_ORDER))) is True
    assert in_order(Training(made_up("number", (600, 300, 400, 500)))) is False
    assert in_order(run) is None, "the last two come at the same step"


@pytest.mark.slow
def test_where_no_single_head_is_needed_the_fewest_that_suffice_speak(world: World) -> None:
    for task in ("number", "letter"):
        world.mechanism[task] = made_up_mechanism(task, (), "1.0 6.0", None)
    judged = world.judged()
    one = judged["pure-at-maximum-letter-needed"]
    assert one.verdict == "not tested"
    assert one.why.startswith("no single head of the letter model is needed")
    assert judged["number-suffices-with-both-kinds"].verdict == "holds"
    assert judged["letter-suffices-with-symbolic"].verdict == "holds"
    world.mechanism["number"] = made_up_mechanism("number", (), "", None)
    assert (
        "the number model keeps its accuracy without any head" in world.judged()["number-suffices-with-both-kinds"].why
    )


@pytest.mark.slow
def test_purity_that_does_not_survive_a_smaller_tolerance_is_late_to_the_end(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.08, 0.92) if step >= 300 else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    assert world.failing() == {"purity-same-at-smaller-gamma"}
    one = world.judged()["purity-same-at-smaller-gamma"]
    assert one.value == pytest.approx(0.5 * 0.7), "12 of 24 heads are late from step 300 to the end at 1,000"
    assert one.why == "Of 24 heads that end pure at gamma 0.1, 12 never are at 0.05."


@pytest.mark.slow
@pytest.mark.parametrize(("late", "value"), [(11, 0), (3, 1), (None, 0)])
def test_the_last_layer_must_be_the_last_to_become_symbolic(world: World, late: int | None, value: float) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.6, 0.7) if layer == late and 0 < step < 500 else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    assert world.judged()["letter-last-layer-last"].value == value
    assert ("letter-last-layer-last" in world.failing()) == (late == 3)


@pytest.mark.slow
def test_a_last_layer_that_is_never_symbolic_is_not_the_last_to_become_so(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.6, 0.7) if layer == 11 and step else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    one = world.judged()["letter-last-layer-last"]
    assert (one.verdict, one.value) == ("fails", float("inf"))
    assert "Layer 11 never is." in one.why


@pytest.mark.slow
def test_scores_below_one_together_break_the_exclusion_principle(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.3, 0.3) if step == 100 else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    assert world.failing() == {"exclusion-principle"}


@pytest.mark.slow
def test_high_scores_without_high_entropy_are_seen(world: World) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.95, 0.95) if step == 100 else world_score("letter", layer, step)

    world.dynamics["letter"] = made_up("letter", TOGETHER, score)
    one = world.judged()["both-high-means-uniform"]
    assert (one.verdict, one.value) == ("fails", 0.3)
    assert "letter model, layer 0, step 100" in one.why
    never = {task: made_up(task, IN_ORDER, lambda _, __: (0.5, 0.6)) for task in ("number", "letter")}
    assert "no head has both scores high" in World(never).judged()["both-high-means-uniform"].why


@pytest.mark.slow
def test_scores_that_do_not_start_at_step_0_cannot_tell_how_they_start(world: World) -> None:
    world.dynamics["letter"] = made_up("letter", TOGETHER, steps=(100, 400, 500))
    one = world.judged()["scores-start-high"]
    assert (one.verdict, one.why) == (
        "not tested", "the scores of the letter model begin at step 100, not before training.",
    )  # fmt: skip
    assert world.judged()["pure-at-maximum-letter-all"].verdict == "not tested"
    world.dynamics["number"] = made_up("number", IN_ORDER, steps=(1000,))
    for name in ("positional-purity-steps", "symbolic-purity-early"):
        assert world.judged()[name].verdict == "not tested"
    assert world.judged()["number-has-both-kinds"].verdict == "holds"


def test_without_results_nothing_is_tested_for_want_of_them(world: World) -> None:
    assert all(one.missing for one in World().judged().values())
    world.dynamics["number"] = made_up("number", IN_ORDER)
    del world.dynamics["number"]._frames["readings"]
    one = world.judged()["number-has-both-kinds"]
    assert (one.missing, one.why) == (True, "the table 'readings' of dynamics on the number model is not there.")


def test_every_claim_says_at_which_tau_and_query_purity_is_judged() -> None:
    for claim in DYNAMICS.all_claims():
        if "pure" in claim.measured:
            assert "last query, tau 1e-4" in claim.measured or "Kinds" in claim.measured, claim.id


def with_other_queries(
    task: str, learned: tuple[int, ...], steps: tuple[int, ...], score: ScoreOf, last: ScoreOf | None = None
) -> Results:
    """The paper's world at the last query, and other scores at all queries, which are read at some steps only."""
    results = made_up(task, learned, last)
    rows = [row for row in results.rows("readings", Score) if row.reading == "last"]
    rows += [
        replace(row, reading="all", positional=both[0], symbolic=both[1])
        for row in rows for both in [score(row.layer, row.step)] if row.step in steps
    ]  # fmt: skip
    results.write("readings", rows)
    return results


@pytest.mark.parametrize(
    ("late", "until", "depends"), [(11, 9999, ("queries",)), (3, 1000, ("queries",)), (3, 500, ())]
)
def test_a_last_layer_that_other_queries_find_symbolic_earlier_or_never_depends_on_them(
    world: World, late: int, until: int, depends: tuple[str, ...]
) -> None:
    def score(layer: int, step: int) -> tuple[float, float]:
        return (0.6, 0.7) if layer == late and 0 < step < until else world_score("letter", layer, step)

    world.dynamics["letter"] = with_other_queries("letter", TOGETHER, (0, 600, 1000), score)
    one = world.judged()["letter-last-layer-last"]
    assert one.depends_on == depends, "between steps 0 and 600 the order is not known"


def test_heads_that_other_queries_see_at_once_may_come_in_any_order(world: World) -> None:
    def late(layer: int, step: int) -> tuple[float, float]:
        return (0.6, 0.7) if layer == 3 and 0 < step < 500 else world_score("letter", layer, step)

    world.dynamics["letter"] = with_other_queries("letter", TOGETHER, (0, 600, 1000), late, late)
    one = world.judged()["letter-last-layer-last"]
    assert (one.verdict, one.value, one.depends_on) == ("fails", 1, ())


@pytest.mark.parametrize(("steps", "depends"), [((0, 1000), ()), ((0, 900, 1000), ("queries",))])
def test_what_happened_between_two_checkpoints_of_other_queries_decides_nothing(
    world: World, steps: tuple[int, ...], depends: tuple[str, ...]
) -> None:
    """All heads are seen to be pure at step 1000; whether since before t* is known if step 900 was read, too."""

    def score(layer: int, step: int) -> tuple[float, float]:
        return world_score("number", layer, step if step in (0, 1000) else 100)

    world.dynamics["number"] = with_other_queries("number", IN_ORDER, steps, score)
    judged = world.judged()
    assert judged["positional-purity-steps"].verdict == "holds", "four heads may have joined one after another"
    for claim in ("pure-at-maximum-number-all", "symbolic-purity-early", "positional-heads-before-hops"):
        assert judged[claim].depends_on == depends


def test_other_queries_that_are_not_read_from_the_start_bound_nothing(world: World) -> None:
    world.dynamics["number"] = with_other_queries("number", IN_ORDER, (100, 1000), lambda *_: (0.5, 0.6))
    judged = world.judged()
    assert judged["positional-purity-steps"].depends_on == ()
    assert judged["number-has-both-kinds"].depends_on == ("queries",)
