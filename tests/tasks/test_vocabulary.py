from itertools import pairwise

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary, letter_names, smallest_base

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
    with pytest.raises(WhatwhereError, match=r"'a' to '16'.*got 'dq', which is none of these 136"):
        NUMBERS.encode("a dq")


@pytest.mark.parametrize("wrong", [-1, 136])
def test_an_id_outside_the_vocabulary_is_refused(wrong):
    with pytest.raises(WhatwhereError, match=f"expected token ids from 0 to 135, got {wrong}"):
        NUMBERS.decode(np.array([0, wrong]))


def test_encode_takes_a_text_or_a_list_of_names():
    assert LETTERS.encode("c2 b1 gh").tolist() == LETTERS.encode(["c2", "b1", "gh"]).tolist()
    assert LETTERS.encode("").tolist() == []


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor, lambda ids: np.array(ids, np.uint8)])
def test_decode_takes_what_holds_whole_numbers(kind):
    assert NUMBERS.decode(kind([0, 1, 120])) == "a b 1"
    assert NUMBERS.decode(kind([[0, 1], [120, 135]])) == ["a b", "1 16"]


def test_decode_of_one_token_is_its_name():
    assert NUMBERS.decode(26) == NUMBERS.decode(np.int32(26)) == NUMBERS.decode(torch.tensor(26)) == "aa"
    assert NUMBERS.decode([]) == ""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NUMBERS.encode(3), "expected a text or a list of token names, got int"),
        (lambda: NUMBERS.encode(["a", 3]), "expected tokens from 'a' to '16' .*got 3"),
        (lambda: NUMBERS.decode("a b"), "expected whole numbers with at most two axes"),
        (lambda: NUMBERS.decode([0.5, 1.0]), r"got float64 of shape \(2,\)"),
        (lambda: NUMBERS.decode([True]), r"got bool of shape \(1,\)"),
        (lambda: NUMBERS.decode(np.zeros((1, 1, 1), int)), r"got int64 of shape \(1, 1, 1\)"),
        (lambda: NUMBERS.decode([[1, 2], [3]]), "expected token ids in sequences of equal length"),
        (lambda: NUMBERS.decode(None), "expected whole numbers"),
    ],
)
def test_what_is_neither_text_nor_ids_is_refused(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


def test_each_vocabulary_names_its_ideal_function_and_its_pointers():
    assert (NUMBERS.function, NUMBERS.pointer, NUMBERS.label) == ("index", "a number", "symbol")
    assert (LETTERS.function, LETTERS.pointer, LETTERS.label) == ("retrieval", "a pair of letters", "left letter")


def test_goals_are_where_pointers_point_and_nothing_else():
    assert NUMBERS.goals(NUMBERS.encode("a b 2 9 1")[None]).tolist() == [[-1, -1, 0, -1, 3]]
    assert LETTERS.goals(LETTERS.encode("c2 b1 ac da fe")[None]).tolist() == [[-1, -1, 0, 2, -1]]
    assert LETTERS.goals(LETTERS.encode("c2 c3 aa ac")[None]).tolist() == [[-1, -1, -1, 0]]


def test_requests_are_the_integer_or_the_right_letter_of_a_pointer():
    numbers, pairs = NUMBERS.encode("b 1 16"), LETTERS.encode("b1 ca gh")
    assert NUMBERS.requests(numbers).tolist() == [-1, 0, 15]
    assert NUMBERS.request_names == [str(i) for i in range(1, 17)]
    assert LETTERS.requests(pairs).tolist() == [-1, 0, 7]
    assert LETTERS.request_names == list("abcdefgh")


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()], ids=lambda task: task.name)
def test_what_a_pointer_would_have_to_ask_for_is_what_the_pointers_of_a_path_ask_for(task):
    batch = task.sample(200, hops=3, seed=0)
    for start, goal in pairwise(batch.paths.T[:4]):
        asked = task.vocabulary.requests(batch.tokens[np.arange(200), start])
        assert (task.vocabulary.request_for(batch.tokens, start, goal) == asked).all()


def test_labels_are_left_letters_or_whole_tokens():
    assert [LETTERS.label_names[i] for i in LETTERS.labels(LETTERS.encode("b1 ca"))] == ["b", "c"]
    assert [NUMBERS.label_names[i] for i in NUMBERS.labels(NUMBERS.encode("b 16"))] == ["b", "16"]


def test_equal_tokens_mean_the_same_but_an_integer_only_itself():
    tokens = np.stack([NUMBERS.encode("a b a 2 2 3")] * 2)
    assert NUMBERS.same_meaning(tokens, np.array([0, 3])).tolist() == [
        [True, False, True, False, False, False],
        [False, False, False, True, False, False],
    ]
    pairs = LETTERS.encode("a1 b2 ca ca dc")[None]
    assert LETTERS.same_meaning(pairs, np.array([2])).tolist() == [[False, False, True, True, False]]


def test_alternatives_are_all_pointers_that_may_stand_at_a_place():
    assert NUMBERS.decode(NUMBERS.alternatives(NUMBERS.encode("3 4")).T)[0].split() == NUMBERS.request_names
    assert LETTERS.decode(LETTERS.alternatives(LETTERS.encode("ca gh")).T)[1] == "ga gb gc gd ge gf gg gh"


def test_a_hop_is_described_in_words():
    assert (NUMBERS.describe_hop("12"), LETTERS.describe_hop("gh")) == ("12 back", "to h")


@pytest.mark.parametrize("digits", [1, 2, 3, 5])
def test_the_smallest_base_is_that_of_trying_one_after_another(digits):
    for numbers in [*range(1, 300), 52**2, 10**6 - 1, 10**6]:
        base = smallest_base(numbers, digits)
        assert base**digits >= numbers
        assert base == 1 or (base - 1) ** digits < numbers


def test_names_of_letters_have_one_length_and_grow_with_their_number():
    assert letter_names(3) == ["a", "b", "c"]
    assert letter_names(52)[-1] == "Z"
    assert letter_names(53)[:2] == ["aa", "ab"]
    assert letter_names(53)[-1] == "ge"  # two of 8 letters: the 53rd has 6 * 8 + 4 before it
    assert letter_names(5, syllables=2) == ["aa", "ab", "ac", "ba", "bb"]


def test_a_sequence_of_one_token_has_no_goals():
    assert NUMBERS.goals(NUMBERS.encode("1")[None]).tolist() == [[-1]]
    assert LETTERS.goals(LETTERS.encode("ab")[None]).tolist() == [[-1]]


def test_matches_are_the_leftmost_token_and_the_first_other_one():
    first, other = LETTERS.matches(LETTERS.encode("b1 a1 a1 a2 ca cd")[None])
    assert first[0].tolist() == [6, 6, 6, 6, 1, 6]
    assert other[0].tolist() == [6, 6, 6, 6, 3, 6]


def test_labels_and_names_are_of_the_tokens_unless_letters_tell_them_apart():
    ids = np.array([0, 135])
    assert NUMBERS.labels(ids).tolist() == [0, 135]
    assert NUMBERS.label_names[135] == "16"
    assert LETTERS.label_names == LETTERS.request_names
    assert (NumberVocabulary(2, 3).integer(np.array([3])), NumberVocabulary(2, 3).value(np.array([0, 2]))[1]) == (4, 1)
