import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.tasks import LetterTask
from whatwhere.tasks.functions import retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary
from whatwhere.theory.construction import Attention, Construction
from whatwhere.theory.feasibility import LENGTH, LETTERS, RETRIEVAL_ANGLES, sharp_retrieval_head
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import (
    all_sequences,
    is_left_unique,
    is_proper,
    random_left_unique,
    retrieval_failures,
)
from whatwhere.theory.temperature import retrieval_minimum_beta, retrieval_self_minimum_beta, retrieval_tie_beta

SMALL = LetterVocabulary(3, 2)
OMEGA = math.tau / 3
LIMIT = OMEGA / (2 * 4 - 3)
"""The angle at which hard attention starts to fail at 4 tokens."""


def wrong(
    head: Construction, tokens: np.ndarray, vocabulary: LetterVocabulary, attention: Attention = "softmax"
) -> np.ndarray:
    return head.errors(tokens, retrieval(tokens, vocabulary), attention)


def proper_inputs(length: int) -> np.ndarray:
    tokens = all_sequences(len(SMALL), length)
    return tokens[is_proper(tokens, SMALL)]


@pytest.mark.parametrize("attention", ["softmax", "hard"])
@pytest.mark.parametrize("theta", [0.0, 0.5 * LIMIT, 0.999 * LIMIT])
def test_retrieval_head_computes_retrieval_on_every_small_left_unique_input(theta: float, attention):
    head = sharp_retrieval_head(theta, 4, SMALL)
    tried = 0
    for length in range(1, 5):
        tokens = proper_inputs(length)
        tokens = tokens[is_left_unique(tokens, SMALL)]
        assert not wrong(head, tokens, SMALL, attention).any()
        tried += len(tokens)
    assert tried == 9 + 81 + 585 + 2673


def test_at_angle_0_tokens_that_share_a_left_letter_fail_exactly_where_predicted():
    head = retrieval_head(0.0, 1.0, letters=3, integers=2)
    tried = failed = 0
    for length in range(1, 5):
        tokens = proper_inputs(length)
        errors = wrong(head, tokens, SMALL, "hard")
        np.testing.assert_array_equal(errors, retrieval_failures(tokens, SMALL))
        tried += len(tokens)
        failed += errors.any(1).sum()
    assert (tried, failed) == (12_348, 5_748)


def test_any_rotation_breaks_the_tie_under_hard_attention_but_costs_a_huge_temperature():
    tokens = proper_inputs(4)
    assert not wrong(retrieval_head(0.999 * LIMIT, 1.0, letters=3, integers=2), tokens, SMALL, "hard").any()
    tied = LETTERS.encode(" ".join(["a1"] * 16 + ["a2"]))[None]
    least = retrieval_tie_beta(LENGTH, 0.0027)
    assert wrong(retrieval_head(0.0027, 0.999 * least), tied, LETTERS)[0, -1]
    assert not wrong(retrieval_head(0.0027, 1.001 * least), tied, LETTERS)[0, -1]


def test_past_the_limiting_angle_pointers_fail_and_only_pointers():
    tokens = proper_inputs(4)
    errors = wrong(retrieval_head(1.05 * LIMIT, 1.0, letters=3, integers=2), tokens, SMALL, "hard")
    assert errors.any(1).sum() == 1194
    assert SMALL.points(tokens)[errors].all()
    assert not wrong(retrieval_head(0.999 * LIMIT, 1.0, letters=3, integers=2), tokens, SMALL, "hard").any()


@pytest.mark.slow
@pytest.mark.parametrize("theta", RETRIEVAL_ANGLES)
def test_retrieval_head_computes_retrieval_on_ten_thousand_inputs_of_the_paper_s_size(theta: float):
    tokens = random_left_unique(10_000, LENGTH, LETTERS, seed=0)
    head = sharp_retrieval_head(theta)
    assert not wrong(head, tokens, LETTERS).any()
    assert not wrong(head, tokens, LETTERS, "hard").any()


def test_the_letter_model_s_own_first_angle_is_too_fast_for_17_tokens():
    tokens = LetterTask().sample(200, seed=0).tokens
    errors = wrong(retrieval_head(0.0866, 1.0), tokens, LETTERS, "hard")
    assert errors.any(1).mean() > 0.9


@pytest.mark.parametrize("theta", [0.0, 0.5 * LIMIT])
@pytest.mark.parametrize("itself", [False, True])
def test_the_least_temperatures_are_exact_over_all_small_inputs(theta: float, itself: bool):
    tokens = proper_inputs(4)
    seeks_itself = ~SMALL.points(tokens) | (SMALL.left(tokens) == SMALL.right(tokens))
    if itself:
        queries = seeks_itself & is_left_unique(tokens, SMALL)[:, None]
        least = retrieval_self_minimum_beta(4, theta, 3)
    else:
        queries = ~seeks_itself
        least = retrieval_minimum_beta(4, theta, 3, inputs="proper")
    below, above = (retrieval_head(theta, factor * least, letters=3, integers=2) for factor in (0.999, 1.001))
    assert wrong(below, tokens, SMALL)[queries].any()
    assert not wrong(above, tokens, SMALL)[queries].any()


def test_the_least_temperature_for_any_inputs_is_reached_by_an_improper_one():
    least = retrieval_minimum_beta(LENGTH, 0.0027)
    tokens = LETTERS.encode(" ".join(["ha"] * 15 + ["a1", "ha"]))[None]  # h stands before a on the circle
    assert not is_proper(tokens, LETTERS)[0]
    below, above = (retrieval_head(0.0027, factor * least) for factor in (0.999, 1.001))
    wanted = np.tile(LETTERS.encode("a1"), (1, LENGTH))
    assert below.errors(tokens, wanted)[0, -1]
    assert not above.errors(tokens, wanted)[0, -1]


@settings(max_examples=40)
@given(
    letters=st.integers(2, 9),
    integers=st.integers(1, 4),
    length=st.integers(3, 14),
    share=st.floats(0, 0.95),
    seed=st.integers(0, 2**32),
)
@pytest.mark.slow
def test_any_angle_below_the_limit_works_above_its_least_temperature(letters, integers, length, share, seed):
    theta = share * math.tau / letters / (2 * length - 3)
    vocabulary = LetterVocabulary(letters, integers)
    head = sharp_retrieval_head(theta, length, vocabulary)
    assert not wrong(head, random_left_unique(50, length, vocabulary, seed), vocabulary).any()


def test_test_vector_of_four_hops():
    text = "h1 h2 h7 h1 e1 d2 g3 f3 ed cf gc ac ba hd hd hf gb"
    tokens = LETTERS.encode(text)[None]
    head = sharp_retrieval_head(0.0027)
    last = [LETTERS.names[head.apply(tokens, times=times)[0, -1]] for times in (1, 2, 3, 4, 5)]
    assert last == ["ba", "ac", "cf", "f3", "f3"]


def test_sizes_and_weights_are_those_of_the_proof():
    head = retrieval_head(0.0027, 10.0)
    identity = torch.eye(128, dtype=torch.float64)
    assert torch.equal(head.embedding, identity)
    assert torch.equal(head.value, identity)
    assert not head.residual
    turn = math.pi / 4
    at = {name: LETTERS.encode(name)[0] for name in ("c5", "cb")}
    third = torch.tensor([math.sin(2 * turn), math.cos(2 * turn)], dtype=torch.float64)  # rho(-2 omega) v
    second = torch.tensor([math.sin(turn), math.cos(turn)], dtype=torch.float64)
    torch.testing.assert_close(head.key[:, at["c5"]], third)
    torch.testing.assert_close(head.query[:, at["c5"]], third)
    torch.testing.assert_close(head.query[:, at["cb"]], second)


def test_the_least_margin_of_the_sharp_heads_is_a_thousandth_of_a_temperature():
    head = sharp_retrieval_head(0.0027)
    least = max(retrieval_minimum_beta(LENGTH, 0.0027), retrieval_self_minimum_beta(LENGTH, 0.0027))
    assert head.beta == pytest.approx(1.001 * least, rel=1e-12)
