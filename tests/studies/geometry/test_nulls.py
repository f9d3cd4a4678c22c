"""Nulls of the geometric statements, on the constructions and on random vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.studies.geometry.nulls import agreement, compared, null_comparisons
from whatwhere.studies.geometry.planes import Plane
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import trace


class Head(NamedTuple):
    task: NumberTask
    layer: LayerTrace
    tokens: np.ndarray


@pytest.fixture(scope="module")
def one_plane_turns() -> Head:
    """A number head of four planes: T_Index in the second, random queries and keys in the others."""
    task = NumberTask()
    tokens = task.sample(60, seed=0).tokens
    frequencies = rope_frequencies(8, 100.0)
    random = torch.Generator().manual_seed(0)
    places = torch.arange(task.target, task.length)
    queries = torch.randn(60, 1, len(places), 8, generator=random, dtype=torch.float64)
    keys = torch.randn(60, 1, task.length, 8, generator=random, dtype=torch.float64)
    angle = -torch.as_tensor(task.whole.value(tokens[:, places.numpy()])) * frequencies[1]
    queries[:, 0, :, 1], queries[:, 0, :, 5] = angle.cos(), angle.sin()
    keys[..., 1], keys[..., 5] = 1.0, 0.0
    visible = torch.arange(task.length) <= places[:, None]
    return Head(task, LayerTrace(1, queries, keys, Rotation(frequencies), 1.0, places, visible), tokens)


def test_the_plane_that_turns_stands_out_from_all_nulls(one_plane_turns: Head) -> None:
    rows = {(row.statement, row.null): row for row in null_comparisons(*one_plane_turns, 0, 2)}
    for statement in ("queries turn 1-16", "queries turn 1-8", "keys aligned all", "keys aligned pointers"):
        planes = rows[statement, "other planes"]
        assert (planes.value, planes.nulls, planes.reached) == (pytest.approx(1.0), 3, 0)
        assert planes.median < planes.high < 0.9
    shuffled = rows["queries turn 1-16", "shuffled names"]
    assert (shuffled.nulls, shuffled.reached) == (1000, 0)
    assert ("keys aligned all", "shuffled names") not in rows


def test_values_are_those_of_the_other_tables(one_plane_turns: Head) -> None:
    for at in (1, 2, 4):
        values = {row.statement: row.value for row in null_comparisons(*one_plane_turns, 0, at)}
        plane = Plane(*one_plane_turns, 0, at)
        for row in plane.turns():
            assert values[f"queries turn {row.integers}"] == pytest.approx(row.agreement)
        for row in plane.alignments():
            assert values[f"keys aligned {row.keys}"] == pytest.approx(row.alignment.value)


def test_letters_match_better_than_shuffled_ones() -> None:
    task = LetterTask()
    tokens = task.sample(100, seed=0).tokens
    (layer,) = trace(retrieval_head(0.0027, 12.0), tokens, queries=range(task.target, task.length)).layers
    rows = {(row.statement, row.null): row for row in null_comparisons(task, layer, tokens, 0, 1)}
    match = rows["queries match keys", "shuffled names"]
    assert match.value == pytest.approx(8 / 7, abs=1e-6)
    assert match.reached <= 3  # of 40,320 orders of eight letters, those that change nothing
    assert match.median == pytest.approx(0, abs=0.15)
    assert rows["queries match keys", "other planes"].nulls == 0


def test_undefined_nulls_are_left_out_and_too_few_integers_are_undefined() -> None:
    row = compared(1, 0, 2, "x", "other planes", 0.5, np.array([0.4, np.nan, 0.5, 0.6]))
    assert (row.nulls, row.reached, row.median) == (3, 2, 0.5)
    angles = np.array([[0.0, np.nan, np.nan, 0.1], [0.0, -1.0, np.nan, -3.0]])
    assert agreement(angles, np.arange(4), np.ones(2)).tolist() == pytest.approx([np.nan, 1.0], nan_ok=True)
