from dataclasses import replace

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import hops_of, paths_through

TASK = LetterTask()


def test_a_batch_is_cut_by_numbers_slices_masks_and_indices():
    batch = NumberTask().sample(8)
    assert len(batch[2:5]) == 3
    assert (batch[np.array([5, 1])].tokens == batch.tokens[[5, 1]]).all()
    assert set(batch[batch.hops == 2].hops.tolist()) == {2}
    assert batch[-1].tokens.tolist() == batch.tokens[7:].tolist()
    assert batch[2:5].vocabulary == NumberTask().vocabulary


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        (TASK.sample(1000), "Batch(1,000 sequences of 17 tokens, hops 1 2 3 4)"),
        (TASK.sample(2, hops=3, extra_target=1000), "Batch(2 sequences of 1,017 tokens, hops 3)"),
        (TASK.sample(2)[:0], "Batch(0 sequences of 17 tokens, hops none)"),
    ],
)
def test_a_batch_prints_as_one_line(batch, text):
    assert repr(batch) == text


def test_a_frame_has_a_row_for_each_sequence_as_text():
    batch = TASK.sample(6, seed=1)
    frame = batch.to_frame()
    assert list(frame.columns) == ["hops", "answer", "tokens"]
    assert frame["hops"].tolist() == [1, 2, 3, 4, 1, 2]
    assert frame["tokens"].tolist() == TASK.decode(batch.tokens)
    assert frame["answer"].tolist() == TASK.decode(batch.answers).split()


def test_a_notebook_shows_the_first_sequences():
    batch = TASK.sample(600, seed=1)
    html = batch._repr_html_()
    assert "600 sequences of 17 tokens" in html
    assert html.count("<tr") == 6
    assert "<table" not in replace(batch, vocabulary=None)._repr_html_()


def test_bare_ids_cannot_become_text():
    with pytest.raises(WhatwhereError, match="expected a batch with a vocabulary, got one of bare ids"):
        replace(TASK.sample(2), vocabulary=None).to_frame()


def test_hops_are_counted_from_paths():
    assert hops_of(np.array([[16, 9, 3, -1], [16, 2, -1, -1], [16, 15, 14, 1]])).tolist() == [2, 1, 3]


def test_batches_are_told_apart_by_what_they_are_and_not_by_what_they_hold():
    batch = TASK.sample(2)
    assert batch != replace(batch)
    assert len({batch, replace(batch), batch}) == 2


def test_a_path_goes_from_the_query_through_the_visited_tokens_to_the_answer():
    visited = np.array([[True, False, False], [False, False, True], [True, False, False]])
    paths = paths_through(visited, np.array([4, 0, 3]), target=5, max_hops=3)
    assert paths.tolist() == [[8, 7, 5, 4], [8, 0, -1, -1], [8, 6, 3, -1]]
    assert paths.dtype == hops_of(paths).dtype == np.int32
