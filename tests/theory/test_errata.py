"""docs/errata.md against the tests that it names, and the errata that are plain arithmetic on printed numbers."""

import inspect
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import rope_frequencies
from whatwhere.studies.chat.one_hop import one_hop_examples
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import index, retrieval
from whatwhere.theory import printed
from whatwhere.theory.discrepancy import retrieval_smallest, retrieval_smallest_bound
from whatwhere.theory.feasibility import LETTERS
from whatwhere.theory.index_head import index_head
from whatwhere.theory.printed import LETTER_IDS, NUMBER_IDS, frequency
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import random_left_unique

ROOT = Path(__file__).parents[2]
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
SECTIONS = {
    int(number): text
    for number, text in re.findall(r"^### E(\d+) \([HML]\) (.*?)(?=^##|\Z)", ERRATA, flags=re.MULTILINE | re.DOTALL)
}
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", ERRATA)

PRINTED = {1: 1.0000, 2: 0.8660, 10: 0.2738, 18: 0.0866, 32: 0.0115, 37: 0.0056, 38: 0.0049, 39: 0.0042}
PRINTED |= {40: 0.0037, 41: 0.0032, 42: 0.0027}
TABLE = {  # size: number and letter accuracy of GPT 5.4, GPT 5.5, Sonnet 3.7
    12: ((0.98, 0.96), (0.55, 0.87), (0.40, 0.92)),
    16: ((0.87, 0.98), (0.56, 0.95), (0.34, 0.89)),
    24: ((0.73, 1.0), (0.42, 0.96), (0.22, 0.88)),
    32: ((0.45, 0.99), (0.23, 0.96), (0.15, 0.88)),
    48: ((0.17, 0.99), (0.21, 0.77), (0.11, 0.80)),
    64: ((0.14, 0.98), (0.12, 0.84), (0.08, 0.87)),
    80: ((0.10, 0.96), (0.10, 0.75), (0.06, 0.89)),
    100: ((0.08, 0.85), (0.07, 0.66), (0.06, 0.86)),
    200: ((0.08, 0.52), (0.06, 0.55), (0.05, 0.77)),
    300: ((0.06, 0.40), (0.04, 0.50), (0.05, 0.80)),
}


def test_every_erratum_has_a_section():
    assert sorted(SECTIONS) == list(range(1, 30))


@pytest.mark.parametrize("number", sorted(SECTIONS))
def test_every_erratum_names_a_test(number: int):
    assert "- Test: `" in SECTIONS[number]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_test_that_the_errata_name_exists(path: str, name: str):
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_printed_frequency_is_that_of_its_whole_id():
    frequencies = rope_frequencies(128, 10000.0).tolist()
    for number in {*NUMBER_IDS, *LETTER_IDS}:
        assert round(frequencies[number - 1], 4) == PRINTED[number]
        assert frequency(number) == pytest.approx(frequencies[number - 1], rel=1e-12)


def test_the_frequency_of_each_layer_is_the_printed_one():
    printed = {  # Table "Frequencies", its column of frequencies
        NUMBER_IDS: "1.0000 0.8660 0.8660 0.8660 0.2738 0.0042 0.0049 0.0049 0.0049 0.0056 0.0056 0.0049",
        LETTER_IDS: "0.0866 0.0115 0.0027 0.0056 0.0037 0.0049 0.0032 0.0049 0.0032 0.0042 0.0049 0.0037",
    }
    for ids, frequencies in printed.items():
        assert [f"{frequency(number):.4f}" for number in ids] == frequencies.split()


def test_the_angles_of_figure_5_are_those_of_layer_index_2():
    assert (NUMBER_IDS[2], LETTER_IDS[2]) == (2, 42)
    assert LETTER_IDS[1] == 32
    assert math.pi / 4 / PRINTED[32] == pytest.approx(68.3, abs=0.05)
    assert retrieval_smallest_bound(68, PRINTED[32]) < 1e-3
    assert retrieval_smallest_bound(70, PRINTED[32]) == 0


def test_figure_5_shows_the_letter_layer_with_the_most_margin_and_most_layers_have_none():
    # E29: at 100 tokens the margin is negative for every angle above omega / 197
    margins = [retrieval_smallest(100, frequency(id)) for id in LETTER_IDS]
    assert [layer for layer, margin in enumerate(margins) if margin < 0] == [0, 1, 3, 5, 7, 9, 10]
    assert max(margins) == margins[2] == pytest.approx(0.0936, abs=5e-5)
    limit = math.pi / 4 / 197
    assert limit == pytest.approx(0.003987, abs=1e-6)
    assert all((frequency(id) > limit) == (margin < 0) for id, margin in zip(LETTER_IDS, margins, strict=True))


def test_850_is_50_times_the_training_length_and_53_times_without_the_query():
    task = LetterTask()
    tokens = task.sample(2, extra_target=833).tokens
    assert tokens.shape[1] == 850 == 50 * task.length
    assert 850 // (task.target + task.context) == 53


def test_statements_about_language_models_against_the_printed_table():
    sizes = [12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300]
    assert [size for size in sizes if size not in TABLE] == [150]
    lower = [
        (size, model) for size, row in TABLE.items() for model, (number, letter) in enumerate(row) if letter <= number
    ]
    assert lower == [(12, 0)]
    assert [letter > 0.88 for _, letter in TABLE[32]] == [True, True, False]
    assert all(number < 0.5 for number, _ in TABLE[32])
    assert all(number < 0.1 and letter > 0.65 for number, letter in TABLE[100])


@pytest.mark.parametrize("size", [32, 300])
def test_in_long_windows_only_the_queried_letter_can_be_unique(size: int):
    for example in one_hop_examples("letter", size, seed=0, count=20):
        *window, query = example.sequence.split()
        firsts = [token[0] for token in window]
        assert firsts.count(query[1]) == 1
        assert max(map(firsts.count, firsts)) > 1  # pigeonhole: 25 letters are left for the other tokens
        if size > 25 * 9 + 1:
            assert len(set(window)) < size


def test_the_lemma_s_lower_estimate_needs_beta_in_the_exponent():
    # E10: two largest logits of -1, beta 2
    logits, beta = [-1.0, -1.0, -3.0], 2.0
    total = sum(math.exp(beta * logit) for logit in logits)
    assert total < 2 * math.exp(max(logits)), "as printed it is no lower bound"
    assert total >= 2 * math.exp(beta * max(logits))


def test_with_the_angle_that_the_conclusion_names_retrieval_fails():
    # E10: "theta = 2 pi / |Alph|" is omega, the angle between letters; the condition of the proof is far smaller
    tokens = random_left_unique(200, 17, LETTERS, seed=0)
    wanted = retrieval(tokens, LETTERS)
    assert retrieval_head(math.tau / 8, 10.0).errors(tokens, wanted, "hard").any(1).all()
    assert not retrieval_head(0.5 * math.tau / 8 / 34, 10.0).errors(tokens, wanted, "hard").any()


def listed_index(words: Sequence[str]) -> list[str]:
    """The listing of Index, which leaves to Python what a place before the sequence is."""
    new = list(words)
    for at, word in enumerate(words):
        if word.isdigit() and not words[at - int(word)].isdigit():
            new[at] = words[at - int(word)]
    return new


def listed_retrieval(words: Sequence[str]) -> list[str]:
    """The listing of Retrieval, where a pair counts as letters if its second half is one."""
    new = list(words)
    for at, word in enumerate(words):
        if not word[1].isdigit():
            new[at] = next((earlier for earlier in words[:at] if earlier[0] == word[1]), word)
    return new


@pytest.mark.parametrize(
    ("text", "listed", "defined"),
    [("a 2 1 b", "a b 1 b", "a 2 1 b"), ("1 b a", "a b a", "1 b a"), ("a b 1 2", "a b b b", "a b b b")],
)
def test_the_listing_of_index_takes_a_place_before_the_sequence_from_its_end(text: str, listed: str, defined: str):
    vocabulary = NumberTask().whole
    assert listed_index(text.split()) == listed.split()
    assert vocabulary.decode(index(vocabulary.encode(text)[None], vocabulary)[0]) == defined


def test_the_listing_of_retrieval_takes_the_first_of_several_matches_where_the_definition_has_none():
    assert listed_retrieval(["a1", "a2", "ba"]) == ["a1", "a2", "a1"]
    with pytest.raises(WhatwhereError, match="'ba' at position 2 points at different tokens"):
        retrieval(LETTERS.encode("a1 a2 ba")[None], LETTERS, strict=True)
    assert listed_retrieval(["b1", "ab", "ca"]) == ["b1", "b1", "ab"]  # it reads the old sequence, as the definition


def test_lengths_leave_the_label_out_and_base_and_angle_have_names_of_their_own():
    task = NumberTask()
    batch = task.sample(4, seed=0)
    assert batch.tokens.shape == (4, task.length) == (4, 17)
    assert batch.answers.shape == (4,)  # with the label, 18 tokens
    assert "base" in inspect.signature(rope_frequencies).parameters
    assert "theta" in inspect.signature(index_head).parameters


def test_the_token_indexed_second_in_figure_3_holds_a_letter_only_after_the_first_layer():
    # The text: "6" finds "n" at layer 0, and "2" finds the token "6" at layer 1.
    vocabulary = NumberTask().whole
    tokens = vocabulary.encode("a b n c d e f g 6 1 2")[None]
    six, two = 8, 10
    assert vocabulary.points(tokens)[0, [six, two]].all()
    after = index(tokens, vocabulary)
    assert vocabulary.decode(after[0, [six]]) == "n"
    assert after[0, two] == tokens[0, two]  # it looked at an integer, and copied nothing
    assert vocabulary.decode(index(after, vocabulary)[0, [two]]) == "n"


def test_the_printed_numbers_are_those_of_the_paper():
    assert printed.NUMBER_IDS == (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38)
    assert printed.LETTER_IDS == (18, 32, 42, 37, 40, 38, 41, 38, 41, 39, 38, 40)
    assert (printed.PLANES, printed.BASE, printed.LENGTH) == (64, 10_000, 17)
    assert (printed.INDEX_THETA, printed.RETRIEVAL_THETA, printed.CAPTION_THETA) == (0.866, 0.0027, 0.8)
    assert (printed.LETTERS, printed.INTEGERS) == (LetterTask().letters, NumberTask().integers) == (8, 16)
    assert NumberTask().length == printed.LENGTH
