from dataclasses import replace
from inspect import signature

import pytest

from whatwhere.heads.scores import score
from whatwhere.tasks import NumberTask
from whatwhere.theory import construction_scores
from whatwhere.theory.feasibility import INDEX_ANGLES, sharp_index_head


def test_every_check_passes():
    for check in (
        construction_scores.index_head_is_positional(),
        construction_scores.retrieval_head_is_symbolic_without_rotation(),
        construction_scores.symbolic_head_cannot_index(5),
        construction_scores.positional_copier_cannot_retrieve(),
        construction_scores.positional_head_can_retrieve(100),
    ):
        assert check.passed, check.claim
    assert construction_scores.symbolic_head_cannot_index(5).inputs == 5


@pytest.mark.parametrize("theta", INDEX_ANGLES)
@pytest.mark.parametrize("tau", [1.0, 0.1, 0.01])
def test_index_head_is_purely_positional_at_every_score_temperature(theta, tau):
    scores = score(sharp_index_head(theta).trace(NumberTask().sample(100, seed=0).tokens), tau)
    assert float(scores.each_positional.min()) == pytest.approx(1, abs=1e-12)
    if tau == 0.1:
        assert 0.001 < float(scores.symbolic[0, 0]) < 0.025


def test_retrieval_head_is_symbolic_exactly_at_angle_0_and_less_so_the_faster_it_rotates():
    table = {theta: symbolic for theta, (_, symbolic) in construction_scores.retrieval_scores(tau=1.0).items()}
    assert table[0.0] == pytest.approx(1, abs=1e-12)
    for theta, tabulated in {0.0027: 0.9996, 0.0115: 0.9935, 0.0866: 0.877}.items():
        assert table[theta] == pytest.approx(tabulated, abs=0.005)
    assert table[0.0] > table[0.0027] > table[0.0115] > table[0.0866]


def test_purity_needs_a_small_score_temperature():
    positional = {tau: construction_scores.retrieval_scores(tau)[0.0027][0] for tau in (1.0, 0.1)}
    assert positional[1.0] == pytest.approx(0.23, abs=0.02)  # not pure at gamma = 0.1
    assert positional[0.1] == pytest.approx(0.022, abs=0.005)


def test_the_symbolic_counterexample_is_right_on_one_input_and_wrong_on_the_other():
    shown = construction_scores.symbolic_head_cannot_index(1).found
    assert "o p 2 -> o, head says o" in shown
    assert "p o 2 -> p, head says o" in shown


@pytest.mark.parametrize(
    ("check", "inputs", "found"),
    [
        (construction_scores.index_head_is_positional, 200, "s_pos 1.0000, s_sym 0.0000 at tau 0.0001"),
        (
            construction_scores.retrieval_head_is_symbolic_without_rotation, 200,
            "s_sym 1.0000 at 0.0, 0.9996 at 0.0027, 0.9931 at 0.0115, 0.8740 at 0.0866 (tau 1; E11)",
        ),
        (
            construction_scores.positional_copier_cannot_retrieve, 6,
            "b1 a1 ba -> a1, head says a1; a1 b1 ba -> a1, head says b1",
        ),
        (lambda: construction_scores.positional_head_can_retrieve(100), 100, "s_pos 1.000, s_sym 0.279 (E28)"),
    ],
)  # fmt: skip
def test_each_check_says_on_how_many_inputs_it_saw_what(check, inputs, found):
    made = check()
    assert (made.inputs, made.errors, made.found) == (inputs, 0, found)


def test_fifty_symbolic_heads_and_a_thousand_inputs_are_tried_unless_fewer_are_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(construction_scores, "_random_weights", lambda head, seed: asked.append(seed) or head)
    assert construction_scores.symbolic_head_cannot_index().inputs == 50
    assert asked == list(range(49))
    count = signature(construction_scores.positional_head_can_retrieve).parameters["count"]
    assert count.default == 1_000


def test_random_heads_have_the_sizes_of_the_built_one_and_depend_on_their_seed():
    head = sharp_index_head(1.0)
    one, again, other = (construction_scores._random_weights(head, seed) for seed in (0, 0, 1))
    for name in ("query", "key", "value", "unembedding"):
        assert getattr(one, name).shape == getattr(head, name).shape
        assert (getattr(one, name) == getattr(again, name)).all()
        assert (getattr(one, name) != getattr(other, name)).any()


def test_heads_that_answer_both_inputs_would_be_told(monkeypatch):
    class Right:
        wrong = 0

        def show(self, _):
            return "shown"

    for name in ("symbolic_index_counterexample", "positional_retrieval_counterexample"):
        monkeypatch.setattr(construction_scores, name, lambda *_: Right())
    assert construction_scores.symbolic_head_cannot_index(5).errors == 5
    assert construction_scores.positional_copier_cannot_retrieve().errors == 6


def test_scores_that_fall_short_would_be_told(monkeypatch):
    plain = construction_scores.score

    def lower(*asked):
        found = plain(*asked)
        return replace(found, each_positional=found.each_positional - 1e-9, each_symbolic=found.each_symbolic - 1e-9)

    monkeypatch.setattr(construction_scores, "score", lower)
    assert construction_scores.index_head_is_positional().errors == 200
    assert construction_scores.retrieval_head_is_symbolic_without_rotation().errors == 200


def test_the_table_is_made_at_a_temperature_of_one_unless_asked_otherwise():
    assert construction_scores.retrieval_scores() == construction_scores.retrieval_scores(1.0)
    positional = [found[0] for found in construction_scores.retrieval_scores().values()]
    assert positional == pytest.approx([0.24123661, 0.23440624, 0.19241860, 0.28639439])
