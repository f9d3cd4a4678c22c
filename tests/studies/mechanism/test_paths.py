from __future__ import annotations

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.mechanism.paths import as_batch, chains, change_one_hop, decoys, follow, most_hops
from whatwhere.tasks import LetterTask, NumberTask

TASKS = [NumberTask(), LetterTask()]


@pytest.mark.parametrize("task", TASKS)
def test_following_finds_the_paths_that_the_generator_drew(task: NumberTask | LetterTask) -> None:
    batch = task.sample(200, seed=1)
    paths, answered = follow(task, batch.tokens)
    assert answered.all()
    assert (paths == batch.paths).all()


def test_following_tells_what_has_no_answer() -> None:
    task = NumberTask(distractors="any")
    tokens = np.stack([task.encode("a b 9 1"), task.encode("a b 2 1")])
    paths, answered = follow(task, tokens)
    assert answered.tolist() == [False, True]
    assert paths[1].tolist() == [3, 2, 0]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("hop", [1, 2, 3, 4])
def test_a_changed_hop_is_one_token_and_another_answer(task: NumberTask | LetterTask, hop: int) -> None:
    plain, changed = change_one_hop(task, task.sample(100, hops=4, seed=2), hop, seed=5)
    assert len(plain) > 20
    differs = plain.tokens != changed.tokens
    assert (differs.sum(1) == 1).all()
    assert (differs.argmax(1) == plain.paths[:, hop - 1]).all()
    assert (plain.answers != changed.answers).all()
    assert (task.solve(changed.tokens) == changed.answers).all()
    assert (changed.paths[:, :hop] == plain.paths[:, :hop]).all()
    assert changed.hops.max() <= task.max_hops
    if hop == 4:  # another target token is always to be had
        assert (changed.hops == plain.hops).all()


@pytest.mark.parametrize("task", TASKS)
def test_chains_have_their_hops_and_answers(task: NumberTask | LetterTask) -> None:
    for hops in range(1, most_hops(task) + 1):
        batch = chains(task, 60, hops, seed=3)
        paths, answered = follow(task, batch.tokens)
        assert answered.all()
        assert (batch.hops == hops).all()
        assert (paths == batch.paths[:, : hops + 1]).all()
        assert (task.solve(batch.tokens) == batch.answers).all()


def test_letters_run_out_and_decoys_with_them() -> None:
    task = LetterTask()
    assert most_hops(task) == 7
    assert [decoys(task, hops) for hops in range(4, 8)] == [2, 2, 1, 0]
    assert (most_hops(NumberTask()), decoys(NumberTask(), 5)) == (9, 0)


def test_decoys_in_chains_look_like_the_answer() -> None:
    """They are alone with their left letter, as the answer is, and every other target token is not pointed at."""
    task = LetterTask()
    batch = chains(task, 200, 5, seed=0)
    left, right = task.vocabulary.left(batch.tokens), task.vocabulary.right(batch.tokens[:, 8:])
    alone = (left[:, :8, None] == left[:, None]).sum(2) == 1
    pointed = (left[:, :8, None] == right[:, None]).any(2)
    assert (alone.sum(1) == 3).all()
    assert not (pointed & ~alone).any()
    first_alone = batch.tokens[np.arange(200), alone.argmax(1)]
    assert 0.2 < (first_alone == batch.answers).mean() < 0.47  # a third, so that place tells nothing


def test_what_cannot_be_is_refused() -> None:
    task = NumberTask()
    with pytest.raises(WhatwhereError, match="it is empty"):
        as_batch(task, task.encode(""))
    with pytest.raises(WhatwhereError, match=r"'b' does not point\. End it with a number"):
        as_batch(task, task.encode("a b"))
    with pytest.raises(WhatwhereError, match="End it with a pair of letters"):
        as_batch(LetterTask(), LetterTask().encode("a1 b2"))
    with pytest.raises(WhatwhereError, match="has no answer"):
        as_batch(task, task.encode("a b 9"))
    with pytest.raises(WhatwhereError, match="chains of 1 to 7 hops fit this task, and 8"):
        chains(LetterTask(), 1, 8)


def test_any_text_with_a_path_is_an_input() -> None:
    batch = as_batch(LetterTask(), LetterTask().encode("c2 b1 ac da"))
    assert (batch.paths.tolist(), batch.hops.tolist()) == ([[3, 2, 0]], [2])
    assert LetterTask().decode(batch.answers) == "c2"
