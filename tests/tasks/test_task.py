import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whatwhere
from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask, make_task, task_from_dict

TASKS = [
    NumberTask(),
    NumberTask(distractors="any"),
    LetterTask(),
    LetterTask(generator="strict"),
    LetterTask(letters=16, max_hops=8),
    LetterTask(letters=52, integers=3, target=20, context=30, max_hops=12),
    NumberTask(symbols=1000, integers=64, target=24, context=40, max_hops=20),
]
PAPER = [NumberTask(), LetterTask()]


def by_name(task):
    return "-".join(f"{value}" for value in task.to_dict().values())


@pytest.mark.parametrize("extra", [0, 5, 100])
@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_answers_hops_and_paths_are_those_read_off_the_text_by_hand(task, extra, by_hand):
    batch = task.sample(60, seed=3, extra_target=extra)
    for row in range(len(batch)):
        words = task.decode(batch.tokens[row]).split()
        path = by_hand(words, task.name == "number")
        assert [p for p in batch.paths[row] if p >= 0] == path
        assert batch.hops[row] == len(path) - 1
        assert task.decode(batch.answers[row : row + 1]) == words[path[-1]]
        assert extra <= path[-1] < extra + task.target
        assert (batch.paths[row, len(path) :] == -1).all()


@pytest.mark.slow
@pytest.mark.parametrize("length", [17, 64, 300, 1000])
@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_the_oracle_equals_the_construction_on_100_000_sequences(task, length):
    for seed in range(10):
        batch = task.sample(10_000, seed=seed, extra_target=length - 17)
        assert batch.tokens.shape == (10_000, length)
        assert (task.solve(batch.tokens) == batch.answers).all()


@settings(max_examples=60)
@given(
    name=st.sampled_from(["number", "letter", "strict"]),
    target=st.integers(1, 12),
    context=st.integers(1, 12),
    max_hops=st.integers(1, 8),
    alphabet=st.integers(1, 52),
    integers=st.integers(1, 30),
    n=st.integers(1, 60),
    extra=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_every_possible_size_gives_valid_sequences(name, target, context, max_hops, alphabet, integers, n, extra, seed):
    sizes = {"target": target, "context": context, "max_hops": max_hops, "integers": integers}
    try:
        if name == "number":
            task = NumberTask(symbols=alphabet, **sizes)
        else:
            task = LetterTask(letters=alphabet, generator="strict" if name == "strict" else "decoy", **sizes)
    except WhatwhereError:
        assume(False)
        raise
    batch = task.sample(n, seed=seed, extra_target=extra)
    assert batch.tokens.shape == (n, target + context + 1 + extra)
    assert batch.tokens.dtype == batch.answers.dtype == batch.hops.dtype == batch.paths.dtype == np.int32
    assert (task.solve(batch.tokens) == batch.answers).all()
    assert (np.bincount(batch.hops, minlength=max_hops + 1)[1:] <= -(-n // max_hops)).all()
    points = task.vocabulary.points(batch.tokens)
    assert not points[:, : target + extra].any()
    assert points[:, target + extra :].all()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_longer_inputs_of_a_seed_end_in_the_same_tokens(task):
    short, long = (task.sample(50, seed=7, extra_target=extra) for extra in (0, 200))
    assert (long.tokens[:, 200:] == short.tokens).all()
    assert (long.answers == short.answers).all()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_a_seed_gives_the_same_sequences_and_another_seed_others(task):
    first, again, other = (task.sample(200, seed=seed) for seed in (4, 4, 5))
    assert (first.tokens == again.tokens).all()
    assert not (first.tokens == other.tokens).all(1).any()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_hops_may_be_given_for_all_for_each_or_not_at_all(task):
    assert (task.sample(5, hops=3).hops == 3).all()
    assert task.sample(3, hops=[4, 1, 2]).hops.tolist() == [4, 1, 2]
    assert task.sample(3, hops=np.array([4, 1, 2])).hops.tolist() == [4, 1, 2]
    assert task.sample(6).hops.tolist() == [1, 2, 3, 4, 1, 2]


def test_a_batch_is_cut_by_slices_masks_and_indices():
    batch = NumberTask().sample(8)
    assert len(batch[2:5]) == 3
    assert (batch[np.array([5, 1])].tokens == batch.tokens[[5, 1]]).all()
    assert set(batch[batch.hops == 2].hops.tolist()) == {2}


def test_encode_and_decode_speak_the_task_s_language():
    task = whatwhere.LetterTask()
    assert task.decode(task.encode("c2 b1 gh")) == "c2 b1 gh"


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_a_task_survives_its_description(task):
    assert task_from_dict(task.to_dict()) == task


def test_defaults_are_the_paper_s():
    assert (NumberTask().vocab_size, LetterTask().vocab_size) == (136, 128)
    assert NumberTask().length == LetterTask().length == 17


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_task("word"), "one of number, letter, and 'word' arrived"),
        (lambda: task_from_dict({}), "one of number, letter, and 'None' arrived"),
        (lambda: make_task("number", letters=3), "parameters target, .*, and 'letters' is none of them"),
        (lambda: make_task("number", target="8"), "target of the number task must be of the kind int, and '8' arrived"),
        (lambda: make_task("number", target=True), "must be of the kind int, and True arrived"),
        (lambda: NumberTask(target=0), "target must be 1 or more, and 0 arrived"),
        (lambda: NumberTask(max_hops=5, context=3, integers=64), "visit 4 pre-target tokens, and there are 3"),
        (lambda: NumberTask(integers=15), "16 positions back .*integers end at 15.*Raise integers to 16"),
        (lambda: make_task("number", distractors="none"), "distractors must be one of .*'none' arrived"),
        (lambda: make_task("letter", generator="easy"), "generator must be one of .*'easy' arrived"),
        (lambda: LetterTask(letters=7), "4 hops need 8 letters in the decoy generator.*there are 7"),
        (lambda: LetterTask(letters=6, generator="strict"), "4 hops need 7 letters in the strict generator"),
        (lambda: LetterTask(letters=53), "there are 52 letters.*53 were asked for"),
        (lambda: LetterTask(target=2), "decoy generator needs 3 target tokens.*target is 2"),
        (lambda: LetterTask(target=1, generator="strict"), "strict generator needs 2 target tokens"),
        (lambda: NumberTask().sample(0), "sequences must be 1 or more, and 0 arrived"),
        (lambda: NumberTask().sample(4, hops=5), "hops from 1 to 4 were expected, and 5 arrived"),
        (lambda: NumberTask().sample(4, hops=[1, 2]), "one hop count, or 4 of them, was expected, and 2 arrived"),
        (lambda: NumberTask().sample(4, seed=-1), "seed must be 0 or more, and -1 arrived"),
        (lambda: NumberTask().sample(4, extra_target=-1), "extra_target must be 0 or more, and -1 arrived"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        (NumberTask(), "a b 5", "sequence 1 has no answer: '5' at position 2 points at nothing before it"),
        (LetterTask(), "a1 b1 cd", "'cd' at position 2 points at nothing before it"),
        (LetterTask(), "a1 a2 ba", "'ba' at position 2 points at different tokens"),
        (LetterTask(), "b1 b1 aa", "'aa' at position 2 points at nothing before it"),
    ],
)
def test_the_oracle_refuses_sequences_without_an_answer(task, text, message):
    good = "a b 1" if task.name == "number" else "a1 b1 ca"
    with pytest.raises(WhatwhereError, match=message):
        task.solve(np.stack([task.encode(good), task.encode(text)]))


def test_the_oracle_refuses_ids_outside_the_vocabulary():
    with pytest.raises(WhatwhereError, match="ids from 0 to 135 were expected, and 136 arrived"):
        NumberTask().solve(np.array([[0, 136]]))


def test_windows_hold_every_key_but_the_query():
    task = NumberTask(target=3, context=4)
    assert [position for window in task.windows.values() for position in window] == list(range(task.length - 1))
    assert {name: len(window) for name, window in task.windows.items()} == {"target": 3, "pre-target": 4}
