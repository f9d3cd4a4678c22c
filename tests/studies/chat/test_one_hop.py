from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import (
    RUNS,
    SIZES,
    TASKS,
    blind_chance,
    digest,
    follow,
    one_hop_examples,
    solve,
    window_chance,
)
from whatwhere.tasks import make_task

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
    task = make_task(name)
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
    chance = window_chance(task, size)
    assert abs(np.mean(guesses) - chance) < 4 * (chance * (1 - chance) / 1500) ** 0.5 + 1e-9


def test_the_floor_falls_with_size_to_that_of_a_blind_guess() -> None:
    curve = [window_chance("number", size) for size in SIZES]
    assert all(before > after for before, after in pairwise(curve))
    assert blind_chance("number") == pytest.approx(1 / 26) == pytest.approx(window_chance("number", 10**9))
    assert blind_chance("letter") == pytest.approx(1 / 9)  # the query gives the letter away, one digit of nine is left


@pytest.mark.parametrize(
    ("task", "size", "seed", "count", "message"),
    [
        ("word", 12, 1, 2, "must be one of number, letter, and 'word' arrived"),
        ("number", 0, 1, 2, "size must be 1 or more, and 0 arrived"),
        ("letter", 12, -1, 2, "seed must be 0 or more, and -1 arrived"),
        ("letter", 12, 1, 0, "the number of examples must be 1 or more, and 0 arrived"),
    ],
)
def test_what_cannot_be_drawn_is_refused(task: str, size: int, seed: int, count: int, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        one_hop_examples(task, size, seed, count)
