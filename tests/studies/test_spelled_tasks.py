"""Studies on models whose pointers several tokens spell: measured where the definition holds, refused elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.length.hop_strength import path_hops
from whatwhere.tasks import LetterTask, NumberTask, Task

TASKS = [
    NumberTask(parts=2, integers=6, target=4, context=4, max_hops=2, symbols=8),
    LetterTask(parts=2, target=4, context=4, max_hops=2, generator="decoy"),
]


def tiny(task: Task) -> GPTJ:
    model = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=16, d_mlp=16, init_std=0.3), seed=0)
    model.task = task
    return model


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("study", ["mechanism", "geometry"])
def test_what_is_defined_by_single_tokens_is_refused(study: str, task: Task):
    with pytest.raises(WhatwhereError, match=f"one token each, got parts=2: {study} changes or compares single tokens"):
        ww.study(study, tiny(task))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_length_and_hops_are_measured_at_last_tokens(task: Task):
    model = tiny(task)
    length = ww.study("length", model, inputs=16, lengths=(20,), varied_lengths=())
    assert set(length["accuracy"]["length"]) == {14, 20}
    assert set(length["hops"]["to_go"]) == {1, 2}
    assert set(ww.study("hops", model, inputs=16, loops=0)["accuracy"]["hops"]) == {1, 2, 3, 4, 5}
    batch = task.sample(40, seed=0)
    for *_, rows, queries, goals in path_hops(task, batch):
        assert np.isin(queries, task.ends[task.target :]).all()
        assert np.isin(goals, task.ends).all()
        assert len(rows)
