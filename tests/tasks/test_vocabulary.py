import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary

NUMBERS, LETTERS = NumberVocabulary(120, 16), LetterVocabulary(8, 8)


def test_the_paper_s_vocabularies_have_136_and_128_tokens():
    assert (len(NUMBERS), len(LETTERS)) == (136, 128)
    assert len(set(NUMBERS.names)) == 136
    assert len(set(LETTERS.names)) == 128


def test_number_symbols_run_from_a_to_dp_and_integers_follow():
    assert NUMBERS.decode(np.array([0, 25, 26, 51, 52, 119, 120, 135])) == "a z aa az ba dp 1 16"


def test_letter_ids_are_the_one_hot_coordinates_of_the_proof():
    # phi counts from 1: letters 1..8, then integers 9..16; index (phi(L)-1)*16 + phi(R), also from 1.
    for name, phi_left, phi_right in (("aa", 1, 1), ("ah", 1, 8), ("a1", 1, 9), ("h8", 8, 16), ("ca", 3, 1)):
        assert LETTERS.encode(name)[0] + 1 == (phi_left - 1) * 16 + phi_right


@pytest.mark.parametrize("vocabulary", [NUMBERS, LETTERS, LetterVocabulary(52, 3), NumberVocabulary(1000, 20)])
def test_decode_undoes_encode_for_every_token(vocabulary):
    ids = np.arange(len(vocabulary))
    assert (vocabulary.encode(vocabulary.decode(ids)) == ids).all()


def test_parts_of_a_pair_put_together_give_the_pair():
    ids = np.arange(len(LETTERS))
    assert (LETTERS.pair(LETTERS.left(ids), LETTERS.right(ids)) == ids).all()
    assert LETTERS.points(ids).sum() == 64


def test_value_and_integer_are_inverse_and_symbols_do_not_point():
    ids = NUMBERS.integer(np.arange(1, 17))
    assert [NUMBERS.names[i] for i in ids] == [str(i) for i in range(1, 17)]
    assert (NUMBERS.value(ids) == np.arange(1, 17)).all()
    assert NUMBERS.points(np.arange(136)).tolist() == [False] * 120 + [True] * 16


def test_an_unknown_word_is_refused_by_name():
    with pytest.raises(WhatwhereError, match=r"'a' to '16'.*'dq' is none of these 136"):
        NUMBERS.encode("a dq")


@pytest.mark.parametrize("wrong", [-1, 136])
def test_an_id_outside_the_vocabulary_is_refused(wrong):
    with pytest.raises(WhatwhereError, match=f"ids from 0 to 135 were expected, and {wrong} arrived"):
        NUMBERS.decode(np.array([0, wrong]))
