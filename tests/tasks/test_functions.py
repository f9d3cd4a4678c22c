import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import follow_pointers, index, index_doubling, reflexive, retrieval, retrieval_doubling
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary

NUMBER, LETTER = NumberTask(), LetterTask()
BOTH = [(NUMBER, index, index_doubling), (LETTER, retrieval, retrieval_doubling)]
DECOY = LetterTask(generator="decoy")
SOLVED = [*BOTH, (NumberTask(distractors="any"), index, index_doubling), (DECOY, retrieval, retrieval_doubling)]
FOUR_HOPS = "h1 h2 h7 h1 e1 d2 g3 f3 ed cf gc ac ba hd hd hf gb"


def apply(function, task, text, times=1, **options):
    tokens = task.encode(text)[None]
    for _ in range(times):
        tokens = function(tokens, task.vocabulary, **options)
    return task.decode(tokens[0])


@pytest.mark.parametrize(
    ("before", "after"),
    [("a b 1 2", "a b b b"), ("a b 1 1", "a b b 1"), ("a b b 1", "a b b b"), ("a 3", "a 3"), ("2 a", "2 a")],
)
def test_index_on_the_specification_s_vectors(before, after):
    assert apply(index, NUMBER, before) == after


@pytest.mark.parametrize(("times", "last"), [(1, "ba"), (2, "ac"), (3, "cf"), (4, "f3"), (12, "f3")])
def test_retrieval_on_the_specification_s_four_hop_vector(times, last):
    assert apply(retrieval, LETTER, FOUR_HOPS, times, strict=True).split()[-1] == last


def test_the_vector_s_answer_is_the_oracle_s():
    assert LETTER.decode(LETTER.solve(LETTER.encode(FOUR_HOPS)[None])) == "f3"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a1 ba", "a1 a1"),
        ("a1 bc", "a1 bc"),  # no match: stays
        ("a1 a2 ba", "a1 a2 a1"),  # ambiguous: leftmost
        ("aa", "aa"),  # refers to itself
        ("ab b1", "ab b1"),  # looks back only
        ("b1 ab ca", "b1 b1 ab"),  # reads the old sequence, so one application is one hop
    ],
)
def test_retrieval_in_its_corner_cases(before, after):
    assert apply(retrieval, LETTER, before) == after


@pytest.mark.parametrize(
    ("function", "task", "text", "message"),
    [
        (index, NUMBER, "a 3", "sequence 0 is not valid: '3' at position 1 points before the sequence"),
        (retrieval, LETTER, "a1 bc", "'bc' at position 1 points at nothing up to it"),
        (retrieval, LETTER, "a1 a2 ba", "'ba' at position 2 points at different tokens"),
        (retrieval, LETTER, "a1 aa", "'aa' at position 1 points at different tokens"),
    ],
)
def test_strict_functions_refuse_what_the_definition_leaves_open(function, task, text, message):
    with pytest.raises(WhatwhereError, match=message):
        apply(function, task, text, strict=True)


def test_strict_retrieval_accepts_tokens_that_refer_to_themselves_and_equal_matches():
    assert apply(retrieval, LETTER, "aa b1 b1 cb", strict=True) == "aa b1 b1 b1"


def slow_index(words):
    def one(j, word):
        if word.isdigit() and j - int(word) >= 0 and not words[j - int(word)].isdigit():
            return words[j - int(word)]
        return word

    return [one(j, word) for j, word in enumerate(words)]


def slow_retrieval(words):
    def one(j, word):
        return next((w for w in words[:j] if w[0] == word[1]), word)

    return [one(j, word) for j, word in enumerate(words)]


def some_tokens(vocabulary):
    ids = st.integers(0, len(vocabulary) - 1)
    return st.integers(1, 10).flatmap(
        lambda length: st.lists(st.lists(ids, min_size=length, max_size=length), min_size=1, max_size=4).map(np.array)
    )


FEW_NUMBERS, FEW_LETTERS = NumberVocabulary(4, 6), LetterVocabulary(3, 2)


@given(some_tokens(FEW_NUMBERS))
def test_index_equals_its_definition_done_one_token_at_a_time(tokens):
    for old, new in zip(tokens, index(tokens, FEW_NUMBERS), strict=True):
        assert FEW_NUMBERS.decode(new).split() == slow_index(FEW_NUMBERS.decode(old).split())


@given(some_tokens(FEW_LETTERS))
def test_retrieval_equals_its_definition_done_one_token_at_a_time(tokens):
    for old, new in zip(tokens, retrieval(tokens, FEW_LETTERS), strict=True):
        assert FEW_LETTERS.decode(new).split() == slow_retrieval(FEW_LETTERS.decode(old).split())


@pytest.mark.slow
@pytest.mark.parametrize(("task", "function", "doubling"), SOLVED, ids=["number", "letter", "any integer", "decoy"])
def test_exactly_h_applications_solve_h_hops_and_reflexive_keeps_the_answer(task, function, doubling):
    """Section 3.2, whatever the tokens off the path point at."""
    batch = task.sample(40_000, seed=1)
    tokens = batch.tokens
    for applied in range(1, 13):
        tokens = function(tokens, task.vocabulary) if applied <= 8 else reflexive(tokens)
        assert ((tokens[:, -1] == batch.answers) == (batch.hops <= applied)).all()
    tokens = batch.tokens
    for doublings in range(4):
        solved = function(tokens, task.vocabulary)[:, -1] == batch.answers
        assert (solved == (np.ceil(np.log2(batch.hops)) <= doublings)).all()
        tokens = doubling(tokens, task.vocabulary)


@pytest.mark.parametrize(("task", "function", "doubling"), BOTH, ids=["number", "letter"])
def test_functions_leave_their_input_and_the_target_window_alone(task, function, doubling):
    tokens = task.sample(100, seed=2).tokens
    kept = tokens.copy()
    for change in (lambda x: function(x, task.vocabulary), lambda x: doubling(x, task.vocabulary), reflexive):
        new = change(tokens)
        assert (tokens == kept).all()
        assert (new[:, :8] == kept[:, :8]).all()
        assert not np.shares_memory(new, tokens)


@pytest.mark.parametrize(("task", "function"), [(NUMBER, index), (DECOY, retrieval)], ids=["number", "decoy"])
def test_data_that_are_proper_everywhere_stay_so(task, function):
    tokens = task.sample(2000, seed=4).tokens
    for _ in range(8):
        tokens = function(tokens, task.vocabulary, strict=True)


@pytest.mark.parametrize(("task", "function"), [(NUMBER, index), (LETTER, retrieval)], ids=["number", "letter"])
def test_pointers_are_followed_by_the_function_that_the_vocabulary_names(task, function):
    tokens = task.sample(100, seed=5).tokens
    assert function.__name__ == task.vocabulary.function
    assert (follow_pointers(tokens, task.vocabulary) == function(tokens, task.vocabulary)).all()


def test_index_resolves_positions_from_the_target_side():
    batch = NUMBER.sample(500, hops=4, seed=3)
    tokens = index(batch.tokens, NUMBER.whole)
    on_path = np.take_along_axis(NUMBER.vocabulary.points(tokens), batch.paths, 1)
    assert (on_path == [True, True, True, False, False]).all()


def test_doubling_leaves_sums_that_no_integer_can_say():
    vocabulary = NumberVocabulary(2, 3)
    tokens = vocabulary.encode("a 1 2 2")[None]
    assert vocabulary.decode(index_doubling(tokens, vocabulary)[0]) == "a 1 2 3"
    tokens = vocabulary.encode("a b 1 2 2 2")[None]
    assert vocabulary.decode(index_doubling(tokens, vocabulary)[0]) == "a b 1 2 3 2"


def test_a_sequence_of_one_pointer_points_nowhere_and_stays():
    assert apply(index, NUMBER, "1") == apply(index_doubling, NUMBER, "1") == "1"
    assert apply(retrieval, LETTER, "ab") == apply(retrieval_doubling, LETTER, "ab") == "ab"


def test_an_integer_just_within_the_sequence_or_the_vocabulary_is_doubled():
    vocabulary = NumberVocabulary(2, 4)
    tokens = vocabulary.encode("a 1 1 2 4")[None]
    assert vocabulary.decode(index_doubling(tokens, vocabulary)[0]) == "a 1 2 3 4"
