"""Claims about trained models: change one thing in the paper's world, and just the claims that speak of it notice."""

from __future__ import annotations

import pytest

from whatwhere.heads.summary import WindowScores
from whatwhere.studies.mechanism.ablation import Verdict
from whatwhere.studies.mechanism.readout import LayersUsed


def failing(world) -> set[str]:
    return {name for name, one in world.judged().items() if one.verdict == "fails"}


@pytest.fixture
def before() -> set[str]:
    """What fails already: the reading of the bound that the paper's own numbers contradict."""
    return {"bound-limits-letter-model"}


def test_in_the_papers_world_only_what_contradicts_it_fails(world, before) -> None:
    assert failing(world) == before


def test_hops_learned_at_once_or_out_of_order_are_no_gradient(world, before) -> None:
    world.accuracy("number", (500, 600, 600, 600))
    assert world.one("number-hops-in-order").value == 1.2
    assert failing(world) - before == {"number-hops-in-order"}
    world.accuracy("number", (600, 300, 400, 500))
    assert "number-hops-in-order" in failing(world)


def test_the_interval_of_a_ratio_of_steps_comes_from_the_accuracies_own(world) -> None:
    one = world.one("number-hops-in-order")
    assert one.value == 2
    assert one.interval == (2, 2)  # 0.2 and 0.99 of 200 are both far from 0.9
    assert one.inputs == 200


def test_a_model_that_never_learned_says_nothing_about_solutions(world) -> None:
    world.accuracy("letter", (100, 100, 100, 10**9))
    judged = world.judged()
    assert judged["both-tasks-learned"].verdict == "fails"
    assert judged["letter-needs-only-symbolic"].verdict == "not tested"
    assert "has not learned its task: its worst hop class ends at 0.20" in judged["letter-needs-only-symbolic"].why
    assert not judged["letter-needs-only-symbolic"].missing
    assert judged["number-needs-both-kinds"].verdict == "holds"


def test_impure_heads_that_nothing_needs_count_for_one_reading_only(world, before) -> None:
    world.scores("number", lambda layer, step: (0.3, 0.8) if layer > 4 and step else world.score("number", layer, step))
    assert failing(world) - before == {
        "pure-at-maximum-number-all", "reflexive-is-symbolic",
    }  # fmt: skip
    why = world.one("pure-at-maximum-number-all").why
    assert why.startswith("At step 600 5 of 12 are pure, at the end 5. Not pure then: layer 5 0.30/0.80, layer 6")
    assert why.endswith("and 3 more (positional/symbolic).")


def test_without_positional_heads_there_is_no_staircase_and_one_kind_only(world, before) -> None:
    world.scores("number", lambda layer, step: (0.4, 0.6) if layer < 4 and step else world.score("number", layer, step))
    assert failing(world) - before == {
        "pure-at-maximum-number-all", "pure-at-maximum-number-needed", "number-needs-both-kinds",
        "number-has-both-kinds", "positional-purity-steps",
    }  # fmt: skip
    assert world.one("number-has-both-kinds-within-window").verdict == "holds"


def test_a_window_that_is_hardly_looked_at_does_not_decide(world, before) -> None:
    rows = [
        WindowScores(layer, 0, window, *scores, attention)
        for layer in range(12)
        for window, scores, attention in (("target", (0.5, 0.6), 0.6), ("pre-target", (1.0, 0.0), 0.3))
    ]
    world.table("number", "mechanism", "windows", rows)
    assert failing(world) - before == {"pure-number-needed-within-window", "number-has-both-kinds-within-window"}


def test_a_positional_head_in_the_letter_model_counts_against_it(world, before) -> None:
    world.scores(
        "letter", lambda layer, step: (0.98, 0.04) if layer == 3 and step else world.score("letter", layer, step)
    )
    assert failing(world) - before == {"letter-needs-only-symbolic"}


def test_purity_that_does_not_survive_a_smaller_tolerance(world, before) -> None:
    world.scores("letter", lambda layer, step: (0.08, 0.92) if step >= 300 else world.score("letter", layer, step))
    assert failing(world) - before == {"purity-same-at-smaller-gamma"}
    assert world.one("purity-same-at-smaller-gamma").value == 0.5


def test_scores_below_one_together_break_the_exclusion_principle(world, before) -> None:
    world.scores("letter", lambda layer, step: (0.3, 0.3) if step == 100 else world.score("letter", layer, step))
    assert failing(world) - before == {"exclusion-principle"}


def test_high_scores_without_high_entropy_are_seen(world) -> None:
    world.scores("letter", lambda layer, step: (0.95, 0.95) if step == 100 else world.score("letter", layer, step))
    one = world.one("both-high-means-uniform")
    assert (one.verdict, one.value) == ("fails", 0.3)
    assert "letter model, layer 0, step 100" in one.why


def test_scores_that_do_not_start_at_step_0_cannot_tell_how_they_start(world) -> None:
    world.scores("letter", lambda layer, step: world.score("letter", layer, step), steps=(100, 200))
    one = world.one("scores-start-high")
    assert (one.verdict, one.why) == (
        "not tested", "the scores of the letter model begin at step 100, not before training.",
    )  # fmt: skip


def test_shortcuts_are_no_retrieval(world, before) -> None:
    world.mechanism("letter", role="beyond")
    assert failing(world) - before == {"letter-heads-retrieval"}
    assert world.one("letter-heads-retrieval").value == pytest.approx(0.05)


def test_a_role_below_one_half_is_not_what_a_head_mainly_does(world, before) -> None:
    rows = [Verdict(layer, 0, "index", 0.45, 0.4, 0.5, 500, "", "", "", "") for layer in range(12)]
    world.table("number", "mechanism", "verdicts", rows)
    assert failing(world) - before == {"number-heads-index"}


def test_four_hops_in_three_layers_are_not_one_hop_per_layer(world, before) -> None:
    rows = [LayersUsed(h, min(h, 3), 2.9, 3.1, h, 3, 0.0, 0.0, 0.0, 500, 0) for h in (1, 2, 3, 4)]
    world.table("letter", "mechanism", "layers_used", rows)
    assert failing(world) - before == {"letter-one-hop-per-layer"}


def test_a_last_layer_that_nothing_needs(world, before) -> None:
    world.mechanism("letter", needed=[0, 1, 2])
    assert failing(world) - before == {"letter-last-layer-needed"}
    assert world.one("letter-last-layer-needed").value == 0
    world.mechanism("letter", needed=[])
    assert world.one("pure-at-maximum-letter-needed").why == (
        "no single head of the letter model is needed: no ablation hurts."
    )


def test_keys_that_cancel_and_queries_that_do_not_turn(world, before) -> None:
    world.geometry("number", (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38), alignment=0.1, agreement=0.5)
    assert failing(world) - before == {
        "index-keys-aligned", "index-keys-aligned-within-window", "index-queries-turn", "index-queries-turn-in-reach",
    }  # fmt: skip


def test_slow_layers_in_front_break_the_separation(world, before) -> None:
    world.geometry("number", (1, 2, 40, 2, 10, 39, 38, 38, 38, 37, 37, 38))
    assert failing(world) - before == {"frequency-separates-layers", "frequency-ids-as-in-table"}
    world.geometry("number", (1, 33, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38))
    one = world.one("frequency-separates-tasks")
    assert (one.verdict, one.value) == ("fails", -1)
    assert one.interval == pytest.approx((-1.8, -0.2))


def test_fewer_layers_than_the_papers_cannot_be_compared(world) -> None:
    world.geometry("number", (1, 2))
    assert "layer 2 is not among the results" in world.one("frequency-separates-tasks").why


@pytest.mark.parametrize(
    ("task", "accuracy", "lost"),
    [
        ("letter", {17: 1.0, 33: 0.85, 850: 0.95}, {"letter-beats-number-on-length", "letter-above-90-at-850"}),
        ("letter", {17: 1.0, 33: 1.0, 65: 1.0, 850: 0.89}, {"letter-above-90-at-850"}),
        ("number", {17: 1.0, 33: 0.995, 65: 0.4, 850: 0.1}, {"letter-beats-number-on-length"}),
    ],
)
def test_accuracies_at_longer_lengths_decide(task, accuracy, lost, world, before) -> None:
    world.length(task, accuracy)
    assert (failing(world) | {"bound-limits-letter-model"}) - before == lost


def test_a_length_that_was_not_measured_is_not_judged(world) -> None:
    world.length("letter", {17: 1.0, 33: 1.0})
    judged = world.judged()
    assert "up to 33 tokens, not up to 850" in judged["letter-above-90-at-850"].why
    assert "beyond 291 tokens" in judged["bound-limits-letter-model"].why
    assert {judged[name].verdict for name in ("letter-above-90-at-850", "bound-limits-letter-model")} == {"not tested"}


def test_a_number_model_that_breaks_late_generalises(world, before) -> None:
    world.length("number", {17: 1.0, 33: 0.9, 65: 0.8, 97: 0.7, 850: 0.1}, break_at=250.0)
    assert failing(world) - before == {"number-barely-generalises"}


def test_an_interval_across_the_threshold_is_told(world) -> None:
    world.length("letter", {17: 1.0, 33: 1.0, 850: 0.905})
    one = world.one("letter-above-90-at-850")
    assert one.verdict == "holds"
    assert "The interval, 0.895 to 0.915, reaches across 0.9." in one.why


def test_accuracy_against_the_order_of_the_bounds(world) -> None:
    world.theory()
    assert world.one("decay-in-order-of-bound").value == 1
    world.length("letter", {17: 1.0, 33: 0.2, 65: 0.3, 97: 0.4, 850: 0.95})
    assert world.one("decay-in-order-of-bound").verdict == "fails"
