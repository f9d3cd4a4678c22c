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
