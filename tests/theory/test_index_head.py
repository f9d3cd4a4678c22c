import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import NumberTask
from whatwhere.tasks.functions import index
from whatwhere.tasks.vocabulary import NumberVocabulary
from whatwhere.theory.construction import Attention, Construction
from whatwhere.theory.feasibility import INDEX_ANGLES, LENGTH, NUMBERS, sharp_index_head
from whatwhere.theory.index_head import index_head
from whatwhere.theory.sequences import all_sequences, index_failures, is_in_range, random_in_range
from whatwhere.theory.temperature import index_minimum_beta

SMALL = NumberVocabulary(2, 3)


def wrong(
    head: Construction, tokens: np.ndarray, vocabulary: NumberVocabulary, attention: Attention = "softmax"
) -> np.ndarray:
    return head.errors(tokens, index(tokens, vocabulary), attention)


@pytest.mark.parametrize("attention", ["softmax", "hard"])
@pytest.mark.parametrize("theta", INDEX_ANGLES)
def test_index_head_computes_index_on_every_small_in_range_input(theta: float, attention):
    head = sharp_index_head(theta, 5, SMALL)
    tried = 0
    for length in range(1, 6):
        tokens = all_sequences(5, length)
        tokens = tokens[is_in_range(tokens, SMALL).all(1)]
        assert not wrong(head, tokens, SMALL, attention).any()
        tried += len(tokens)
    assert tried == 752


@pytest.mark.parametrize("theta", INDEX_ANGLES)
def test_index_head_fails_on_small_out_of_range_inputs_exactly_where_predicted(theta: float):
    head = sharp_index_head(theta, 5, SMALL)
    tried = failed = 0
    for length in range(1, 5):
        tokens = all_sequences(5, length)
        tokens = tokens[~is_in_range(tokens, SMALL).all(1)]
        errors = wrong(head, tokens, SMALL, "hard")
        np.testing.assert_array_equal(errors, index_failures(tokens, SMALL, theta))
        tried += len(tokens)
        failed += errors.any(1).sum()
    assert (tried, failed) == (628, 160)


@pytest.mark.slow
@pytest.mark.parametrize("theta", INDEX_ANGLES)
def test_index_head_computes_index_on_ten_thousand_inputs_of_the_paper_s_size(theta: float):
    tokens = random_in_range(10_000, LENGTH, NUMBERS, seed=0)
    head = sharp_index_head(theta)
    assert not wrong(head, tokens, NUMBERS).any()
    assert not wrong(head, tokens, NUMBERS, "hard").any()


def test_unconstrained_distractors_break_most_inputs_but_never_the_path():
    batch = NumberTask(distractors="any").sample(600, seed=0)
    head = sharp_index_head(1.0)
    errors = wrong(head, batch.tokens, NUMBERS, "hard")
    np.testing.assert_array_equal(errors, index_failures(batch.tokens, NUMBERS, 1.0))
    assert 0.8 < errors.any(1).mean() < 0.95
    on_path = np.take_along_axis(errors, np.maximum(batch.paths, 0), 1) & (batch.paths >= 0)
    assert not on_path.any()


@pytest.mark.parametrize("theta", INDEX_ANGLES)
def test_below_the_least_temperature_some_input_is_wrong_and_above_it_none_is(theta: float):
    tokens = all_sequences(5, 5)
    tokens = tokens[is_in_range(tokens, SMALL).all(1)]
    least = index_minimum_beta(5, theta, SMALL.integers)
    below = index_head(theta, 0.999 * least, symbols=2, integers=3)
    above = index_head(theta, 1.001 * least, symbols=2, integers=3)
    assert wrong(below, tokens, SMALL).any()
    assert not wrong(above, tokens, SMALL).any()


@settings(max_examples=40)
@given(
    theta=st.floats(0.3, 2.8),
    symbols=st.integers(2, 6),
    integers=st.integers(1, 9),
    length=st.integers(3, 12),
    seed=st.integers(0, 2**32),
)
def test_any_angle_alphabet_and_length_work_above_their_least_temperature(theta, symbols, integers, length, seed):
    least = index_minimum_beta(length, theta, integers)
    if least > 1e6:
        return
    vocabulary = NumberVocabulary(symbols, integers)
    head = index_head(theta, 1.001 * least + 1e-3, symbols=symbols, integers=integers, length=length)
    assert not wrong(head, random_in_range(50, length, vocabulary, seed), vocabulary).any()


def test_test_vectors():
    head = index_head(1.0, 20.0)
    tokens = NUMBERS.encode("a b 1 1")[None]
    assert NUMBERS.decode(head.apply(NUMBERS.encode("a b 1 2")[None])[0]) == "a b b b"
    assert NUMBERS.decode(head.apply(tokens)[0]) == "a b b 1"
    assert NUMBERS.decode(head.apply(tokens, times=2)[0]) == "a b b b"


def test_sizes_and_weights_are_those_of_the_proof():
    head = index_head(1.0, 20.0)
    assert head.embedding.shape == (136, 137)
    assert torch.equal(head.embedding[:, -1], torch.ones(136, dtype=torch.float64))
    assert head.key.count_nonzero() == 1  # the bias column holds v = (0, 1)
    expected = [math.sin(3.0), math.cos(3.0)]
    torch.testing.assert_close(head.query[:, 122], torch.tensor(expected, dtype=torch.float64))  # rho(-3 theta) v
    assert head.query[:, -1].abs().sum() == 0
    assert head.value.diagonal().tolist() == [2.0] * 120 + [0.0] * 17
    assert head.value.count_nonzero() == 120


def test_by_default_a_head_is_meant_for_17_tokens():
    assert index_head(math.tau / 17, 20.0).embedding.shape == (136, 137)
    with pytest.raises(WhatwhereError, match="16 x theta is 1 full turns"):
        index_head(math.tau / 16, 20.0)
