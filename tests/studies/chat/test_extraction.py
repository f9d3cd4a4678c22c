from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.studies.chat.extraction import TOKENS, Verdict, is_single_token, read_answer

R, W, N = Verdict.RIGHT, Verdict.WRONG, Verdict.NO_ANSWER

LETTER_CASES = [  # reply, strict, lenient; the right answer is k7
    ("k7", R, R),
    ("  k7\n", R, R),
    ("k8", W, W),
    ("z9", W, W),  # well formed, though in no window
    ("K7", N, R),
    ('"k7"', N, R),
    ("**k7**", N, R),
    ("`k7`.", N, R),
    ("Output: k7", N, R),
    ("The answer is k7.", N, R),
    ("The target token is **k7**.", N, R),
    ("The answer is: k8", N, W),
    ("k7\n\nExplanation: the last token is gk, so I look for k.", N, R),
    ("k7\n\nThe answer is l5.", N, N),
    ("The answer is k7. So the answer is l5.", N, N),
    ("The answer is k7. Wait, the answer is k7.", N, N),
    ("The answer is not k7.", N, N),
    ("k7 is not in the sequence", N, N),
    ("I scan back from gk and pass m5, then k7", N, N),
    ('The last token is gk, whose second letter is k; that leads to "k7"', N, R),
    ('Input: "w9 t7 l5 g1 k7 gk"', N, N),  # the question, restated
    ('Input: "w9 t7 l5 g1 k7 gk"\nOutput: k7', N, R),
    ("k7 l5", N, N),
    ("w9 t7 l5 g1 n4 l6 u9 k7 m5 p8 gk", N, N),
    ("k", N, N),
    ("7", N, N),
    ("k77", N, N),
    ("k0", N, N),
    ("gk", N, N),
    ("", N, N),
    (" \n ", N, N),
    ("I cannot help with that.", N, N),
    ("I'm sorry, but the answer is k7, which I can't give", N, N),
]

NUMBER_CASES = [  # the right answer is a, the most dangerous one
    ("a", R, R),
    ("\ta ", R, R),
    ("b", W, W),
    ("A", N, R),
    ("A.", N, R),
    ("'a'", N, R),
    ("I", N, W),  # a whole reply of one letter is that letter
    ("a token", N, N),
    ("I would need a longer look", N, N),
    ("The answer is a letter of the sequence", N, N),
    ("The answer is a", N, R),
    ("The answer is a.", N, R),
    ('The answer is "a" because it stands 5 places back', N, R),
    ("The target token is: **b**", N, W),
    ("Counting back from the end: w, d, x, c, a", N, N),
    ("a\nThat is 5 places to the left.", N, R),
    ("a\nSorry, that was wrong: b", N, N),
    ("Sorry, I can't do that. A", N, N),
    ("5", N, N),
    ("ab", N, N),
    ("", N, N),
]


@pytest.mark.parametrize(("reply", "strict", "lenient"), LETTER_CASES)
def test_replies_to_the_letter_task_are_read_as_decided(reply: str, strict: Verdict, lenient: Verdict) -> None:
    assert read_answer("one_hop_letter", reply).verdicts("k7") == (strict, lenient)


@pytest.mark.parametrize(("reply", "strict", "lenient"), NUMBER_CASES)
def test_replies_to_the_number_task_are_read_as_decided(reply: str, strict: Verdict, lenient: Verdict) -> None:
    assert read_answer("one_hop_number", reply).verdicts("a") == (strict, lenient)


def test_longer_symbols_are_answers_of_the_multi_hop_task_only() -> None:
    assert read_answer("multi_hop_number", "dp").strict == "dp"
    assert read_answer("one_hop_number", "dp").strict is None


@pytest.mark.parametrize("task", TOKENS)
@pytest.mark.parametrize("reply", ["a", "k7", "The answer is k7.", "I"])
def test_a_truncated_reply_is_no_answer(task: str, reply: str) -> None:
    assert read_answer(task, reply, truncated=True).verdicts("a") == (N, N)


@given(
    reply=st.text(alphabet=string.printable + "\u201c\u201d\u2019é", max_size=60), task=st.sampled_from(sorted(TOKENS))
)
def test_strict_is_exact_equality_and_lenient_never_contradicts_it(reply: str, task: str) -> None:
    reading = read_answer(task, reply)
    if reading.strict is not None:
        assert reading.strict == reply.strip() == reading.lenient
    if reading.lenient is not None:
        assert reading.lenient in reply.lower()  # nothing is made up


@given(st.lists(st.sampled_from([f"{a}{b}" for a in "abck" for b in "127"]), min_size=2, max_size=9))
def test_a_list_of_tokens_is_no_answer(tokens: list[str]) -> None:
    assert read_answer("one_hop_letter", " ".join(tokens)).verdicts(tokens[0]) == (N, N)


def test_one_word_is_a_single_token_and_a_chain_of_thought_is_not() -> None:
    assert is_single_token(" k7\n")
    assert not is_single_token("the answer is k7")
    assert not is_single_token("")
