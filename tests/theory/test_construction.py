import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.functions import index, retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary
from whatwhere.theory.construction import hard_attention
from whatwhere.theory.feasibility import LETTERS, NUMBERS
from whatwhere.theory.index_head import index_head
from whatwhere.theory.oracle import index_oracle, retrieval_oracle
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import (
    all_sequences,
    is_in_range,
    is_left_unique,
    is_proper,
    random_in_range,
    random_left_unique,
)
from whatwhere.trace.traceable import trace

INDEX = index_head(1.0, 18.1)
RETRIEVAL = retrieval_head(0.0027, 10.1)
NUMBER_TOKENS = random_in_range(300, 17, NUMBERS, seed=5)
LETTER_TOKENS = random_left_unique(300, 17, LETTERS, seed=5)


@pytest.mark.parametrize("attention", ["softmax", "hard"])
def test_transformer_and_plain_oracle_agree_output_by_output(attention):
    ours = INDEX.outputs(NUMBER_TOKENS, attention).numpy()
    np.testing.assert_allclose(ours, index_oracle(NUMBER_TOKENS, 1.0, 18.1, attention=attention), atol=1e-12)
    ours = RETRIEVAL.outputs(LETTER_TOKENS, attention).numpy()
    np.testing.assert_allclose(ours, retrieval_oracle(LETTER_TOKENS, 0.0027, 10.1, attention=attention), atol=1e-12)


@pytest.mark.parametrize("attention", ["softmax", "hard"])
def test_transformer_and_plain_oracle_agree_on_every_small_input_valid_or_not(attention):
    tokens = all_sequences(5, 4)
    ours = index_head(0.866, 7.0, symbols=2, integers=3).outputs(tokens, attention).numpy()
    plain = index_oracle(tokens, 0.866, 7.0, symbols=2, integers=3, attention=attention)
    np.testing.assert_allclose(ours, plain, atol=1e-12)
    for theta in (0.0, 0.3):
        tokens = all_sequences(15, 3)
        ours = retrieval_head(theta, 4.0, letters=3, integers=2).outputs(tokens, attention).numpy()
        plain = retrieval_oracle(tokens, theta, 4.0, letters=3, integers=2, attention=attention)
        np.testing.assert_allclose(ours, plain, atol=1e-12)


def test_the_logits_of_the_trace_are_the_cosines_of_the_proof():
    n = np.arange(17)
    layer = trace(INDEX, NUMBER_TOKENS, queries=range(17)).layers[0]
    asked = np.where(NUMBER_TOKENS < 120, 0, NUMBER_TOKENS - 119)
    expected = 18.1 * np.cos(n[:, None] - n - asked[:, :, None])
    logits = layer.logits()[:, 0].numpy()
    np.testing.assert_allclose(np.tril(np.where(np.isinf(logits), 0, logits)), np.tril(expected), atol=1e-12)
    assert np.isinf(logits[:, ~np.tri(17, dtype=bool)]).all()


def test_the_trace_holds_the_last_query_unless_asked_and_counts_negative_positions_from_the_end():
    last = INDEX.trace(NUMBER_TOKENS).layers[0]
    assert (last.layer, last.query_positions.tolist()) == (0, [16])
    chosen = INDEX.trace(NUMBER_TOKENS, layers=[0], queries=[3, -1]).layers[0]
    assert chosen.query_positions.tolist() == [3, 16]
    torch.testing.assert_close(chosen.attention()[:, :, 1], last.attention()[:, :, 0])
    assert chosen.attention()[:, 0, 0, 4:].abs().max() == 0


@pytest.mark.parametrize(("head", "tokens"), [(INDEX, NUMBER_TOKENS), (RETRIEVAL, LETTER_TOKENS)])
def test_the_residual_stream_decodes_to_the_outputs_and_a_run_gives_them(head, tokens):
    before = head.embedding[torch.as_tensor(tokens)]  # [batch, seq, d_model]
    attention = head.trace(tokens, queries=range(tokens.shape[1])).layers[0].attention()[:, 0]
    after = attention @ (before @ head.value.T) + float(head.residual) * before
    torch.testing.assert_close(after @ head.unembedding.T, head.outputs(tokens))
    torch.testing.assert_close(head.run(tokens), head.outputs(tokens))


def test_hard_attention_leaves_the_residual_that_the_proof_counts():
    # E10: a letter ends with 3 on itself, an integer on a letter with 2 against 1, an integer on an integer with 1
    # against 0; the bias stays 1, so it is not "three times the embedding".
    head = index_head(1.0, 1.0, symbols=2, integers=3, length=4)
    a, one, three = 0, 2, 4
    outputs = head.outputs(np.array([[a, one, one, three]]), "hard")[0].numpy()
    assert outputs[0].tolist() == [3, 0, 0, 0, 0]
    assert outputs[1].tolist() == [2, 0, 1, 0, 0]
    assert outputs[2].tolist() == [0, 0, 1, 0, 0]
    assert outputs[3].tolist() == [2, 0, 0, 0, 1]


def test_under_hard_attention_the_right_output_leads_by_1_at_least():
    numbers, letters = NumberVocabulary(2, 3), LetterVocabulary(3, 2)
    heads = index_head(1.0, 1.0, symbols=2, integers=3, length=4), retrieval_head(0.1, 1.0, letters=3, integers=2)
    gaps = []
    for length in range(1, 5):
        tokens = all_sequences(5, length)
        tokens = tokens[is_in_range(tokens, numbers).all(1)]
        gaps.append(heads[0].margins(tokens, index(tokens, numbers), "hard").min())
        pairs = all_sequences(len(letters), length)
        pairs = pairs[is_proper(pairs, letters)]
        pairs = pairs[is_left_unique(pairs, letters)]
        gaps.append(heads[1].margins(pairs, retrieval(pairs, letters), "hard").min())
    np.testing.assert_allclose(gaps, [3, 1, *[1] * 6])  # one letter alone is three times itself


def test_hard_attention_shares_ties_and_is_the_limit_of_softmax():
    tokens = LETTERS.encode("a1 a1 b2 b3 ca")[None]
    tied = hard_attention(retrieval_head(0.0, 5.0).trace(tokens).layers[0])[0, 0, 0]
    assert tied.tolist() == [0.5, 0.5, 0, 0, 0]
    sharp = retrieval_head(0.0, 5000.0).trace(tokens).layers[0].attention()[0, 0, 0]
    torch.testing.assert_close(sharp, tied)


def test_margins_are_the_wanted_output_minus_the_best_other_and_a_tie_is_an_error():
    head = retrieval_head(0.0, 5.0)
    tokens = LETTERS.encode("a1 a2 a2")[None]
    margins = head.margins(tokens, tokens)
    np.testing.assert_allclose(margins, [[1.0, 0.0, 1 / 3]], atol=1e-12)
    assert head.errors(tokens, tokens).tolist() == [[False, True, False]]


def test_runs_in_pieces_give_what_one_piece_gives():
    tokens = random_in_range(600, 9, NUMBERS, seed=1)
    pieces = np.concatenate([INDEX.apply(tokens[i : i + 7]) for i in range(0, 600, 7)])
    np.testing.assert_array_equal(INDEX.apply(tokens), pieces)
    np.testing.assert_array_equal(INDEX.apply(tokens, times=2), INDEX.apply(INDEX.apply(tokens)))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (np.array([0, 1]), r"shape \(2,\)"),
        (np.array([[0, 136]]), "ids from 0 to 136"),
        (np.array([[-1, 3]]), "ids from -1 to 3"),
        (np.zeros((0, 17), int), r"shape \(0, 17\)"),
    ],
)
def test_ids_outside_the_vocabulary_are_refused(tokens: np.ndarray, message: str):
    with pytest.raises(WhatwhereError, match=f"expected token ids .* from 0 to 135, got .*{message}"):
        INDEX.apply(tokens)


def test_a_layer_or_query_that_does_not_exist_is_refused():
    with pytest.raises(WhatwhereError, match=r"expected a layer from 0 to 0 .*, got 1"):
        INDEX.trace(NUMBER_TOKENS, layers=[1])
    with pytest.raises(WhatwhereError, match=r"expected a query position from 0 to 16 .*, got 17"):
        INDEX.trace(NUMBER_TOKENS, queries=[17])


@pytest.mark.parametrize("build", [lambda t, b: index_head(t, b), lambda t, b: retrieval_head(t, b)])
def test_both_heads_refuse_a_bad_angle_or_temperature(build):
    with pytest.raises(WhatwhereError, match="inverse temperature above 0"):
        build(1.0, 0.0)
    with pytest.raises(WhatwhereError, match="angle of 0 or more"):
        build(-1.0, 1.0)


def test_both_heads_refuse_an_alphabet_that_is_too_small():
    with pytest.raises(WhatwhereError, match="alphabet of 2 to"):
        index_head(1.0, 1.0, symbols=1)
    with pytest.raises(WhatwhereError, match="alphabet of 2 to"):
        retrieval_head(0.0, 1.0, letters=1)
    with pytest.raises(WhatwhereError, match="expected 1 to"):
        index_head(1.0, 1.0, integers=0)
    with pytest.raises(WhatwhereError, match="expected 1 to"):
        retrieval_head(0.0, 1.0, integers=0)


def test_both_heads_refuse_a_vocabulary_that_is_too_large():
    with pytest.raises(WhatwhereError, match="at most 4,096 tokens"):
        index_head(1.0, 1.0, symbols=4_090)
    with pytest.raises(WhatwhereError, match="at most 4,096 tokens"):
        retrieval_head(0.0, 1.0, letters=70)


def test_the_index_head_refuses_an_angle_that_repeats_within_its_length():
    with pytest.raises(WhatwhereError, match="5 x theta is 1 full turns"):
        index_head(math.tau / 5, 20.0, length=17)
    index_head(math.tau / 5, 20.0, length=5)


def test_exact_ties_are_shared_at_any_temperature():
    tokens = NUMBERS.encode("a b c d e f 8")[None]  # out of range: no key stands at the wanted place
    ties = [hard_attention(index_head(math.pi / 7, beta, length=7).trace(tokens).layers[0]) for beta in (1.0, 1e6)]
    torch.testing.assert_close(*ties)
    tokens = LETTERS.encode("a1 a2 a3 a4 ba")[None]
    for beta in (1e-3, 1.0, 1e9):
        shared = hard_attention(retrieval_head(0.0, beta).trace(tokens).layers[0])[0, 0, 0]
        assert shared.tolist() == [0.25] * 4 + [0]


def test_distances_that_nearly_repeat_are_told_apart_by_hard_attention():
    """At one radian the distances 0 and 710 have cosines that differ by 1.8e-9."""
    tokens = np.zeros((1, 711), int)
    assert int((hard_attention(index_head(1.0, 1.0, length=711).trace(tokens).layers[0]) > 0).sum()) == 1


def test_a_head_names_its_settings_and_is_told_from_another_by_what_it_is():
    assert repr(INDEX) == "Construction(theta=1, beta=18.1, 136 tokens)"
    assert index_head(1.0, 18.1) != INDEX
    assert (INDEX.depth, INDEX.heads, INDEX.name) == (1, 1, "hand-built head")


@pytest.mark.parametrize("outputs", [1, 10_000])
def test_inputs_are_decoded_some_at_a_time(outputs: int, monkeypatch: pytest.MonkeyPatch):
    wanted = RETRIEVAL.margins(LETTER_TOKENS[:20], LETTER_TOKENS[:20])
    applied = RETRIEVAL.apply(LETTER_TOKENS[:20])
    monkeypatch.setattr("whatwhere.theory.construction.OUTPUTS", outputs)
    np.testing.assert_allclose(RETRIEVAL.margins(LETTER_TOKENS[:20], LETTER_TOKENS[:20]), wanted, atol=1e-12)
    np.testing.assert_array_equal(RETRIEVAL.apply(LETTER_TOKENS[:20]), applied)
    np.testing.assert_array_equal(RETRIEVAL.apply(LETTER_TOKENS[:20], times=1), applied)


def test_a_margin_below_a_billionth_is_no_decoding():
    head = retrieval_head(0.0, 5.0)
    tokens = LETTERS.encode("a1")[None]
    for scale, wrong in ((1e-10, True), (1e-8, False)):
        small = replace(head, unembedding=head.unembedding * scale)
        assert small.errors(tokens, tokens).item() is wrong
