from __future__ import annotations

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.mechanism.examples import as_batch
from whatwhere.studies.mechanism.patching import change_one_hop
from whatwhere.tasks import LetterTask, NumberTask

TASKS = [NumberTask(), LetterTask(), LetterTask(generator="decoy")]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("hop", [1, 2, 3, 4, 5])
def test_a_changed_hop_or_answer_is_one_token_and_another_answer(task: NumberTask | LetterTask, hop: int) -> None:
    plain, changed = change_one_hop(task, task.sample(100, hops=4, seed=2), hop, seed=5)
    assert len(plain) > 20
    differs = plain.tokens != changed.tokens
    assert (differs.sum(1) == 1).all()
    assert (differs.argmax(1) == plain.paths[:, hop - 1]).all()
    assert (plain.answers != changed.answers).all()
    assert (task.solve(changed.tokens) == changed.answers).all()
    assert (changed.paths[:, :hop] == plain.paths[:, :hop]).all()
    assert changed.hops.max() <= task.max_hops
    if hop >= 4:  # another target token is always to be had
        assert (changed.hops == plain.hops).all()
    if hop == 5:
        assert (changed.paths == plain.paths).all()


def test_what_cannot_be_is_refused() -> None:
    task = NumberTask()
    with pytest.raises(WhatwhereError, match="got an empty one"):
        as_batch(task, task.encode(""))
    with pytest.raises(WhatwhereError, match="got 'b' at its end; the path starts there, so end it with a number"):
        as_batch(task, task.encode("a b"))
    with pytest.raises(WhatwhereError, match="end it with a pair of letters"):
        as_batch(LetterTask(), LetterTask().encode("a1 b2"))
    with pytest.raises(WhatwhereError, match="has no answer"):
        as_batch(task, task.encode("a b 9"))


def test_any_text_with_a_path_is_an_input() -> None:
    batch = as_batch(LetterTask(), LetterTask().encode("c2 b1 ac da"))
    assert (batch.paths.tolist(), batch.hops.tolist()) == ([[3, 2, 0]], [2])
    assert LetterTask().decode(batch.answers) == "c2"
