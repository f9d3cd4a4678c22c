import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.heads.scores import score
from whatwhere.tasks.functions import retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary
from whatwhere.theory.feasibility import LETTERS, NUMBERS
from whatwhere.theory.impossibility import (
    positional_retrieval,
    positional_retrieval_counterexample,
    symbolic_index_counterexample,
)
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import all_sequences, is_proper, random_in_range, random_left_unique


def random_head(seed: int):
    head = index_head(1.0, 3.0)
    draw = torch.Generator().manual_seed(seed)
    names = ("query", "key", "value", "unembedding")
    weights = {n: torch.randn(getattr(head, n).shape, generator=draw, dtype=torch.float64) for n in names}
    return replace(head, theta=0.0, **weights)


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), i=st.integers(0, 15), j=st.integers(0, 15))
def test_a_symbolic_head_does_not_notice_that_two_keys_changed_places(seed, i, j):
    tokens = random_in_range(4, 17, NUMBERS, seed)
    swapped = tokens.copy()
    swapped[:, [i, j]] = tokens[:, [j, i]]
    head = random_head(seed)
    torch.testing.assert_close(head.outputs(tokens)[:, -1], head.outputs(swapped)[:, -1])


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), length=st.integers(3, 30))
def test_so_a_symbolic_head_is_wrong_on_one_of_two_inputs_of_index(seed, length):
    example = symbolic_index_counterexample(random_head(seed), length=length)
    assert example.wanted[0] != example.wanted[1]
    assert example.answered[0] == example.answered[1]
    assert example.wrong >= 1


@pytest.mark.parametrize("theta", [0.0, 0.0027, 0.3, 1.0])
@pytest.mark.parametrize("beta", [0.5, 20.0])
@pytest.mark.parametrize("length", [3, 17])
def test_a_positional_head_that_copies_is_wrong_on_one_of_two_inputs_of_retrieval(theta, beta, length):
    example = positional_retrieval_counterexample(theta, beta, length=length)
    assert example.wanted[0] == example.wanted[1]
    assert example.wrong >= 1


def test_the_counterexample_is_shown_as_text():
    shown = positional_retrieval_counterexample(1.0, 20.0).show(LETTERS)
    assert shown == "b1 a1 ba -> a1, head says a1; a1 b1 ba -> a1, head says b1"


@pytest.mark.parametrize("theta", [0.0, 0.3, 1.0])
def test_a_positional_head_that_reads_its_query_computes_retrieval_on_every_small_proper_input(theta):
    # E28: the remark's second half needs "that copies"
    vocabulary = LetterVocabulary(3, 2)
    head = positional_retrieval(theta, 1.0, vocabulary)
    for length in range(1, 5):
        tokens = all_sequences(len(vocabulary), length)
        tokens = tokens[is_proper(tokens, vocabulary)]
        assert not head.errors(tokens, retrieval(tokens, vocabulary)).any()


def test_that_head_is_purely_positional_and_serves_long_inputs():
    head = positional_retrieval(1.0, 1.0)
    tokens = random_left_unique(60, 17, LETTERS, seed=3)
    scores = score(head.trace(tokens))
    assert float(scores.each_positional.min()) == pytest.approx(1, abs=1e-12)
    assert float(scores.symbolic[0, 0]) < 0.6
    long = random_left_unique(5, 850, LETTERS, seed=3)
    assert not head.errors(long, retrieval(long, LETTERS)).any()


def test_the_constructed_retrieval_head_survives_its_own_counterexample():
    example = positional_retrieval_counterexample(0.0027, 10.1)
    np.testing.assert_array_equal(retrieval_head(0.0027, 10.1).apply(example.inputs)[:, -1], example.wanted)


def test_by_default_the_inputs_are_as_long_as_documented():
    assert symbolic_index_counterexample(index_head(1.0, 20.0)).inputs.shape == (2, 17)
    example = positional_retrieval_counterexample(1.0, 20.0)
    assert example.inputs.shape == (2, 3)
    assert example != positional_retrieval_counterexample(1.0, 20.0), "told apart by what they are"
    shown = symbolic_index_counterexample(index_head(1.0, 20.0), length=3).show(NUMBERS)
    assert shown == "a b 2 -> a, head says 2; b a 2 -> b, head says 2"


def test_a_positional_head_gives_the_sought_token_two_and_each_token_its_attention():
    outputs = positional_retrieval(1.0, 1.0).outputs(LETTERS.encode("a1 ba")[None])[0].numpy()
    attention = np.exp([math.cos(1.0), 1.0])
    attention /= attention.sum()
    ids = LETTERS.encode("a1 aa ba b1")
    assert outputs[0, ids] == pytest.approx([3, 0, 0, 0])  # an LI query seeks itself
    assert outputs[1, ids] == pytest.approx([2 + attention[0], 2, attention[1], 0])
