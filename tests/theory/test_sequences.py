import math
from collections import Counter
from hashlib import sha256

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import index, retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary
from whatwhere.theory.sequences import (
    all_sequences,
    index_failures,
    is_in_range,
    is_left_unique,
    is_proper,
    random_in_range,
    random_left_unique,
    retrieval_failures,
)

NUMBERS, LETTERS, SMALL = NumberVocabulary(120, 16), LetterVocabulary(8, 8), LetterVocabulary(2, 2)


def test_all_sequences_are_all_of_them_once():
    tokens = all_sequences(4, 3)
    assert tokens.shape == (64, 3)
    assert len(np.unique(tokens, axis=0)) == 64


def test_proper_is_what_strict_retrieval_accepts():
    for tokens in all_sequences(len(SMALL), 3):
        try:
            retrieval(tokens[None], SMALL, strict=True)
            accepted = True
        except WhatwhereError:
            accepted = False
        assert is_proper(tokens[None], SMALL)[0] == accepted, SMALL.decode(tokens)


def test_in_range_is_what_strict_index_accepts():
    tokens = NUMBERS.encode("a 1 3 3")[None]
    assert is_in_range(tokens, NUMBERS)[0].tolist() == [True, True, False, True]
    with pytest.raises(WhatwhereError, match="points before"):
        index(tokens, NUMBERS, strict=True)


def test_left_unique_means_one_token_for_each_left_letter():
    assert is_left_unique(LETTERS.encode("a1 b2 a1 ca")[None], LETTERS)[0]
    assert not is_left_unique(LETTERS.encode("a1 b2 a2 cb")[None], LETTERS)[0]


def test_random_inputs_belong_to_their_class_and_hold_both_kinds_of_token():
    numbers, pairs = random_in_range(500, 17, NUMBERS, 0), random_left_unique(500, 17, LETTERS, 0)
    assert is_in_range(numbers, NUMBERS).all()
    assert is_proper(pairs, LETTERS).all()
    assert is_left_unique(pairs, LETTERS).all()
    assert 0.2 < NUMBERS.points(numbers).mean() < 0.6
    assert 0.2 < LETTERS.points(pairs).mean() < 0.6
    assert set(NUMBERS.value(numbers[NUMBERS.points(numbers)])) == set(range(1, 17))
    np.testing.assert_array_equal(numbers, random_in_range(500, 17, NUMBERS, 0))
    np.testing.assert_array_equal(pairs, random_left_unique(500, 17, LETTERS, 0))


def test_each_task_s_inputs_are_of_the_class_that_its_generator_promises():
    tokens = {name: LetterTask(generator=name).sample(200).tokens for name in ("paper", "decoy", "strict")}
    assert is_in_range(NumberTask().sample(200).tokens, NUMBERS).all()
    assert not is_proper(tokens["paper"], LETTERS).all()  # off the path, pointers may point at nothing
    assert is_proper(tokens["decoy"], LETTERS).all()
    assert not is_left_unique(tokens["decoy"], LETTERS).all()
    assert is_left_unique(tokens["strict"], LETTERS).all()


def test_an_li_token_fails_where_another_token_with_its_left_letter_is_as_common():
    tokens = all_sequences(len(SMALL), 4)
    expected = np.zeros(tokens.shape, bool)
    for row, words in enumerate(SMALL.decode(tokens)):
        names = words.split()
        for place, name in enumerate(names):
            votes = Counter(other for other in names[: place + 1] if other[0] == name[0])
            own = votes.pop(name)
            expected[row, place] = name[1].isdigit() and max(votes.values(), default=0) >= own
    assert expected.any()
    np.testing.assert_array_equal(retrieval_failures(tokens, SMALL), expected)


def test_an_integer_out_of_range_fails_where_the_key_nearest_in_angle_holds_a_letter():
    small, theta = NumberVocabulary(1, 5), 1.0
    tokens = all_sequences(len(small), 4)
    expected = np.zeros(tokens.shape, bool)
    for row, words in enumerate(small.decode(tokens)):
        names = words.split()
        for place, name in enumerate(names):
            if name.isdigit() and int(name) > place:
                best = max(range(place + 1), key=lambda key: math.cos((place - key - int(name)) * theta))
                expected[row, place] = names[best].isalpha()
    assert 0 < expected.sum() < (~is_in_range(tokens, small)).sum()
    np.testing.assert_array_equal(index_failures(tokens, small, theta), expected)


def test_the_inputs_of_a_seed_stay_what_they_were():
    def digest(tokens: np.ndarray) -> str:
        return sha256(np.ascontiguousarray(tokens).tobytes()).hexdigest()[:12]

    assert digest(random_in_range(50, 17, NUMBERS, 3)) == "a4a61d99af10"
    assert digest(random_in_range(50, 30, NUMBERS, 3)) == "659acc47a5b3"
    assert digest(random_left_unique(50, 17, LETTERS, 3)) == "655ce085f3ad"
