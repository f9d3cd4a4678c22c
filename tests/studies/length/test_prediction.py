from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whatwhere.studies.length.hop_strength import measure_hops
from whatwhere.studies.length.prediction import further_keys, predict_hops
from whatwhere.tasks import LetterTask, NumberTask, Task

TASKS = [NumberTask(), LetterTask(), LetterTask(generator="decoy"), LetterTask(generator="strict", letters=17)]


@pytest.mark.parametrize("task", TASKS)
def test_a_prediction_of_the_first_layer_is_what_inputs_with_these_further_tokens_give(
    task: Task, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.prediction.CELLS_AT_ONCE", 300)  # a few inputs at a time
    model = tiny(task)
    batch = task.sample(12, seed=0)
    cells = [(0, 0, s, t) for s in range(1, 5) for t in range(1, s + 1)]
    predicted = predict_hops(model, task, batch, [17, 20, 29], cells, seed=5)
    drawn = further_keys(task, batch, 12, seed=5)
    for length, strength in predicted.items():
        extra = length - 17
        before = np.take_along_axis(batch.tokens, drawn[:, :extra], 1)[:, ::-1]  # the nearest stands last
        longer = replace(
            batch,
            tokens=np.hstack([before, batch.tokens]).astype(np.int32),
            paths=np.where(batch.paths < 0, -1, batch.paths + np.int32(extra)),
        )
        real = measure_hops(model, task, longer)
        np.testing.assert_allclose(strength.margin[0], real.margin[0], atol=1e-4)
        np.testing.assert_allclose(strength.mass[0], real.mass[0], atol=1e-5)
        assert np.isnan(strength.mass[1]).all()  # not asked for
        assert not len(strength.right)


@pytest.mark.parametrize("task", TASKS)
def test_further_keys_do_not_change_the_answer(task: Task) -> None:
    batch = task.sample(50, seed=0)
    drawn = further_keys(task, batch, 30, seed=0)
    lent = np.take_along_axis(batch.tokens, drawn, 1)
    assert (drawn < task.target).all()
    assert (lent != batch.answers[:, None]).all()
    np.testing.assert_array_equal(task.solve(np.hstack([lent, batch.tokens])), batch.answers)
    assert all(len(np.unique(row)) > 1 for row in drawn)
