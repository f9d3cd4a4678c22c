from __future__ import annotations

import hashlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import (
    MULTI_HOP,
    TASKS,
    asked_sequence,
    digest,
    floors,
    follow,
    multi_hop_examples,
    one_hop_examples,
    prompt,
    sequences_in,
    solve,
)
from whatwhere.studies.chat.tables import RUNS, SIZES

GOLDEN = {
    ("number", 12): "4d6b7d185bcbe0e2",
    ("letter", 12): "8fb8334e756aa947",
    ("number", 300): "e2d72cd856de94ad",
    ("letter", 300): "5e187c9cce357b0e",
}


def test_the_published_settings_are_the_defaults() -> None:
    assert SIZES == (12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300)
    assert RUNS == (1, 2, 3, 4, 5)
    assert len(one_hop_examples("number", 12, 1)) == 200


@settings(max_examples=40)
@given(st.sampled_from(TASKS), st.integers(1, 320), st.integers(0, 9), st.integers(1, 60))
def test_every_sequence_has_the_size_and_the_answer_that_a_reader_finds(
    task: str, size: int, seed: int, count: int
) -> None:
    examples = one_hop_examples(task, size, seed, count)
    assert len(examples) == count
    for example in examples:
        tokens = example.sequence.split(" ")
        assert len(tokens) == size + 1
        assert tokens[size - example.distance] == example.answer == solve(example.sequence)
        if task == "number":
            assert tokens[-1] == str(example.distance)
            assert all(token.islower() and len(token) == 1 for token in tokens[:-1])
        else:
            first, second = tokens[-1]
            assert first != second
            assert [token[0] for token in tokens[:-1]].count(second) == 1  # only the queried letter is unique
            assert all(token[0].islower() and token[1] in "123456789" for token in tokens[:-1])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", SIZES)
def test_answers_are_balanced_over_distances_and_values(task: str, size: int) -> None:
    examples = one_hop_examples(task, size, seed=1)
    distances = Counter(example.distance for example in examples)
    assert {distances[distance] for distance in range(1, size + 1)} <= {200 // size, -(-200 // size)}
    values = Counter(example.answer for example in examples)
    assert max(values.values()) - min(values.values()) <= 1


def test_in_a_long_window_other_letters_repeat() -> None:
    for example in one_hop_examples("letter", 48, seed=1, count=20):
        letters = Counter(token[0] for token in example.sequence.split()[:-1])
        assert max(letters.values()) > 1


def test_runs_sizes_and_tasks_differ_and_repeat_exactly() -> None:
    names = [digest(one_hop_examples(task, size, seed, 20)) for task in TASKS for size in (12, 16) for seed in RUNS]
    assert len(set(names)) == len(names)
    assert names == [digest(one_hop_examples(t, size, seed, 20)) for t in TASKS for size in (12, 16) for seed in RUNS]


@pytest.mark.parametrize(("task", "size"), GOLDEN)
def test_the_sequences_are_those_of_every_earlier_release(task: str, size: int) -> None:
    assert digest(one_hop_examples(task, size, seed=1)) == GOLDEN[task, size]


@pytest.mark.parametrize("name", TASKS)
def test_the_reader_agrees_with_the_oracle_of_the_multi_hop_tasks(name: str) -> None:
    task = MULTI_HOP[name]
    batch = task.sample(40, seed=3, extra_target=10)
    for tokens, hops, answer in zip(batch.tokens, batch.hops, batch.answers, strict=True):
        text = task.decode(tokens)
        assert len(follow(text)) == hops + 1
        assert solve(text) == task.decode(np.array([answer]))


@pytest.mark.parametrize("sequence", ["a b 3", "a b 0", "a4 b3 fc"])
def test_a_query_that_points_at_nothing_is_refused(sequence: str) -> None:
    with pytest.raises(WhatwhereError, match="points at nothing before it"):
        follow(sequence)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", [1, 12, 100])
def test_chance_is_what_a_guesser_scores(task: str, size: int) -> None:
    rng = np.random.default_rng(0)
    examples = one_hop_examples(task, size, seed=2, count=1500)
    guesses = [example.sequence.split()[rng.integers(size)] == example.answer for example in examples]
    _, chance = floors(f"one_hop_{task}", size)
    assert abs(np.mean(guesses) - chance) < 4 * (chance * (1 - chance) / 1500) ** 0.5 + 1e-9


def test_the_floor_falls_with_size_to_that_of_a_blind_guess() -> None:
    curve = [floors("one_hop_number", size)[1] for size in SIZES]
    assert all(before > after for before, after in pairwise(curve))
    assert floors("one_hop_number", 10**9) == (pytest.approx(1 / 26), pytest.approx(1 / 26))
    assert floors("one_hop_letter", 100) == (pytest.approx(1 / 9), pytest.approx(0.01))  # one digit of nine is left
    blind, window = floors("multi_hop_number", 16)
    assert blind == pytest.approx(1 / 120)
    assert np.isnan(window)


@pytest.mark.parametrize(
    ("task", "size", "seed", "count", "message"),
    [
        ("word", 12, 1, 2, "expected a one-hop task of number, letter, got 'word'"),
        ("number", 0, 1, 2, "expected a size of 1 or more, got 0"),
        ("letter", 12, -1, 2, "expected a seed of 0 or more, got -1"),
        ("letter", 12, 1, 0, "expected a count of 1 or more, got 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(task: str, size: int, seed: int, count: int, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        one_hop_examples(task, size, seed, count)


def test_longer_multi_hop_sequences_keep_their_hops() -> None:
    short, long = (multi_hop_examples("number", size, 3, 12) for size in (16, 40))
    assert [e.answer for e in short] == [e.answer for e in long]
    assert all(b.sequence.endswith(a.sequence) for a, b in zip(short, long, strict=True))


def test_a_window_shorter_than_the_tasks_is_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected a size of 16 or more for several hops, got 12"):
        multi_hop_examples("letter", 12, 1, 1)


WORDS = {"number": "6e244e01e2cc81e5", "letter": "8927435001afa94b"}
"""Checksums of the words of the paper's table of prompts, made from its source."""


@pytest.mark.parametrize("task", TASKS)
def test_the_papers_prompts_are_quoted_word_for_word(task: str) -> None:
    words = " ".join(prompt(f"one_hop_{task}", "{sequence}").split())
    assert hashlib.sha256(words.encode()).hexdigest()[:16] == WORDS[task]


@pytest.mark.parametrize("kind", ["one_hop", "multi_hop"])
@pytest.mark.parametrize("task", TASKS)
def test_every_worked_example_is_solved_right(kind: str, task: str) -> None:
    text = prompt(f"{kind}_{task}", "a b c 1" if task == "number" else "a1 b2 xa")
    lines = text.splitlines()
    examples = sequences_in(text)[:-1]
    assert len(examples) >= 2
    for example in examples:
        after = lines[lines.index(f'Input: "{example}"') + 1]
        assert after == f"Output: {solve(example)}"
        assert kind == "multi_hop" or len(follow(example)) == 2


def test_the_question_stands_at_the_end() -> None:
    text = prompt("one_hop_letter", "a1 b2 xa")
    assert text.endswith('Task:\nInput: "a1 b2 xa"\nOutput:')
    assert asked_sequence(text) == "a1 b2 xa"
    assert not text.startswith("\n")


def test_a_prompt_without_a_sequence_is_refused() -> None:
    with pytest.raises(WhatwhereError, match='expected a prompt with a line such as Input: "a b 2"'):
        asked_sequence("What is the capital of France?")
