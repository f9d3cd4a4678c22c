from inspect import signature

import numpy as np
import pytest

from whatwhere.tasks import NumberTask
from whatwhere.theory import feasibility
from whatwhere.theory.check import Check
from whatwhere.theory.construction import Construction
from whatwhere.theory.sequences import index_failures


@pytest.mark.slow
def test_small_inputs_are_all_tried():
    assert feasibility.small_index_inputs() == Check(feasibility.small_index_inputs().claim, 3 * 2 * 752, 0)
    assert feasibility.small_retrieval_inputs().inputs == 2 * 2 * 3348
    assert feasibility.small_retrieval_inputs().passed


def test_random_inputs_and_oracles_agree():
    for check in (feasibility.random_index_inputs(200), feasibility.random_retrieval_inputs(200)):
        assert check.passed
        assert check.inputs == 200 * 3 * 2  # at three angles, by softmax and by hard attention
    assert feasibility.oracles_agree(100).passed


@pytest.mark.parametrize("generator", ["paper", "decoy"])
def test_iterated_heads_solve_the_tasks_also_where_pointers_off_the_path_point_nowhere(generator: str):
    assert feasibility.letter_task(9_600, generator) == Check(feasibility.letter_task(9_600).claim, 912, 0)
    assert feasibility.number_task(9_600).passed


def test_a_head_that_never_answers_is_counted_in_every_hop_class(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Construction, "apply", lambda _, tokens, times: np.full_like(tokens, -times))
    check = feasibility.number_task(9_600)
    assert check.errors == check.inputs == 912


def test_failing_classes_fail_where_predicted_and_do_fail():
    for check in (feasibility.out_of_range_inputs(300), feasibility.tied_inputs(300)):
        assert check.passed
        assert int(check.found.split()[0]) == check.counterexamples > 200


def test_out_of_range_integers_are_tried_at_the_fastest_frequency():
    tokens = NumberTask(distractors="any").sample(300, seed=0).tokens
    fails = index_failures(tokens, feasibility.NUMBERS, theta=1.0).any(1).sum()  # g_1 = 1
    assert feasibility.out_of_range_inputs(300).counterexamples == fails


def test_a_head_that_is_too_soft_is_caught():
    # the checks can fail: at half the temperature the same inputs are not solved
    head = feasibility.sharp_index_head(1.0)
    soft = feasibility.index_head(1.0, 0.5 * head.beta)
    tokens = feasibility.random_in_range(300, 17, feasibility.NUMBERS, 0)
    assert soft.errors(tokens, feasibility.index(tokens, feasibility.NUMBERS)).any()


def test_a_check_passes_when_nothing_departs_from_its_claim():
    assert Check("claim", 3, 0).passed
    assert not Check("claim", 3, 1).passed


def test_softmax_and_hard_attention_are_both_counted(monkeypatch: pytest.MonkeyPatch):
    def errors(_: object, tokens: np.ndarray, wanted: np.ndarray, attention: str) -> np.ndarray:
        return tokens > wanted if attention == "hard" else tokens < wanted

    monkeypatch.setattr(Construction, "errors", errors)
    tokens, wanted = np.array([[1, 2], [3, 0], [5, 5]]), np.array([[2, 2], [1, 1], [5, 5]])
    assert feasibility._wrong(feasibility.sharp_index_head(1.0), tokens, wanted) == 2 + 1


@pytest.mark.parametrize(
    ("check", "sizes"),
    [
        (feasibility.random_index_inputs, {"count": 10_000}),
        (feasibility.random_retrieval_inputs, {"count": 10_000}),
        (feasibility.oracles_agree, {"count": 1_000}),
        (feasibility.out_of_range_inputs, {"count": 2_000}),
        (feasibility.tied_inputs, {"count": 2_000}),
        (feasibility.number_task, {"size": 480_000}),
        (feasibility.letter_task, {"size": 480_000, "generator": "paper"}),
    ],
)
def test_each_check_tries_as_many_inputs_as_documented(check, sizes):
    assert {name: one.default for name, one in signature(check).parameters.items()} == sizes


def test_what_fails_is_counted_and_told():
    outside, tied = feasibility.out_of_range_inputs(300), feasibility.tied_inputs(300)
    assert (outside.inputs, outside.counterexamples, outside.found) == (300, 268, "268 inputs fail somewhere (E3)")
    assert (tied.inputs, tied.counterexamples, tied.found) == (300, 300, "300 inputs fail somewhere (E4)")


def test_oracles_that_differ_would_be_told(monkeypatch: pytest.MonkeyPatch):
    plain = feasibility.index_oracle
    monkeypatch.setattr(feasibility, "index_oracle", lambda *asked: plain(*asked) + 1e-9)
    check = feasibility.oracles_agree(20)
    assert (check.inputs, check.errors, check.found) == (40, 20, "largest difference 1e-09")
    monkeypatch.setattr(feasibility, "index_oracle", lambda *asked: plain(*asked) + 1e-11)
    assert feasibility.oracles_agree(20).passed


def test_predictions_that_miss_would_be_told(monkeypatch: pytest.MonkeyPatch):
    for name in ("index_failures", "retrieval_failures"):
        monkeypatch.setattr(feasibility, name, lambda tokens, *_: np.zeros(tokens.shape, bool))
    for check in (feasibility.out_of_range_inputs(50), feasibility.tied_inputs(50)):
        assert check.errors == check.counterexamples > 30


def test_sharp_heads_are_a_thousandth_above_the_least_temperature():
    head = feasibility.sharp_index_head(1.0)
    assert head.beta == pytest.approx(1.001 * 18.01873816413507)
    assert len(head.embedding) == 136
    assert feasibility.sharp_index_head(1.0, 5).beta < head.beta
    head = feasibility.sharp_retrieval_head(0.0115)
    assert head.beta == pytest.approx(1.001 * 13.114984859852314)
    assert (feasibility.INDEX_ANGLES, feasibility.RETRIEVAL_ANGLES) == ((0.8, 0.866, 1.0), (0.0, 0.0027, 0.0115))


def test_a_check_has_seen_no_counterexample_unless_it_says_so():
    assert (Check("claim", 3, 0).counterexamples, Check("claim", 3, 0).found) == (0, "")
