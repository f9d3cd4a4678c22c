from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.geometry.planes import Plane, index_fit, index_slopes
from whatwhere.studies.geometry.tables import QueryTurn, clearest_turns
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.trace.traceable import trace


def test_the_index_construction_has_the_slope_of_its_angle_and_aligned_keys() -> None:
    task, theta = NumberTask(), 0.866
    tokens = task.sample(40, seed=0).tokens
    found = trace(index_head(theta, 30.0), tokens, queries=range(task.target, task.length))
    plane = Plane(task, found.layers[0], tokens, 0, 1)
    assert [row.alignment.value for row in plane.alignments()] == pytest.approx([1.0] * 3)
    for row in plane.turns():
        assert (row.slope.value, *row.slope.interval) == pytest.approx((-theta,) * 3)
        assert (row.predicted, row.r2, row.agreement) == pytest.approx((-theta, 1.0, 1.0))
        assert (row.aim_target, row.aim_pointers) == pytest.approx((1.0, 1.0))
    assert [row.integers for row in plane.turns()] == ["1-16", "1-8", "9-16"]
    assert plane.matchings() == []


@pytest.mark.parametrize("generator", ["paper", "decoy"])
def test_the_retrieval_construction_matches_queries_to_keys(generator: str) -> None:
    task = LetterTask(generator=generator)
    tokens = task.sample(200, seed=0).tokens
    found = trace(retrieval_head(0.0027, 12.0), tokens, queries=range(task.target, task.length))
    plane = Plane(task, found.layers[0], tokens, 0, 1)
    (row,) = plane.matchings()
    # Eight letters at equal angles: cosine 1 with their own key, -1/7 on average with the others'.
    assert row.matching.value == pytest.approx(8 / 7, abs=1e-6)
    assert row.matching.low <= row.matching.value + 1e-9
    assert plane.turns() == []
    names = {(vector.role, vector.name) for vector in plane.vectors()}
    assert names == {(role, letter) for role in ("query", "key") for letter in "abcdefgh"}


def test_opposite_groups_of_keys_cancel_together_and_align_apart() -> None:
    task = NumberTask()
    tokens = task.sample(20, seed=1).tokens
    layer = trace(index_head(1.0, 30.0), tokens, queries=range(8, 17)).layers[0]
    sign = torch.where(torch.as_tensor(task.vocabulary.points(tokens)), -1.0, 1.0)
    flipped = replace(layer, keys=layer.keys * sign[:, None, :, None].to(layer.keys.dtype))
    plane = Plane(task, flipped, tokens, 0, 1)
    every, target, pointers = (row.alignment.value for row in plane.alignments())
    assert every == pytest.approx(1 / 17)  # nine pointers against eight target tokens
    assert (target, pointers) == pytest.approx((1.0, 1.0))
    assert (plane.turns()[0].aim_target, plane.turns()[0].aim_pointers) == pytest.approx((1.0, -1.0))


def test_a_line_needs_three_integers_and_leaves_out_unknown_ones() -> None:
    integers = np.arange(1, 6)
    angles = 0.3 - 0.7 * integers
    queries = np.stack([np.cos(angles), np.sin(angles)], -1)
    queries[3] = np.nan
    slope, r2, forward = index_fit(queries, integers, 0.7)
    assert (slope, r2) == pytest.approx((-0.7, 1.0))
    np.testing.assert_allclose(forward, [math.cos(0.3), math.sin(0.3)])
    assert np.isnan(index_fit(queries[:2], integers[:2], 0.7)[0])


def test_the_clearest_range_of_each_head_is_found_and_undefined_ones_are_not() -> None:
    def turn(layer: int, integers: str, agreement: float) -> QueryTurn:
        return QueryTurn(layer, 0, 1, integers, Estimate(-1.0, -1.0, -1.0, 4), -1.0, 1.0, agreement, 1.0, 1.0)

    rows = [turn(1, "1-16", math.nan), turn(1, "1-8", 0.9), turn(1, "9-16", math.nan), turn(0, "1-16", 0.2),
            turn(0, "1-8", 0.1), turn(2, "1-16", math.nan)]  # fmt: skip
    assert [(row.layer, row.integers) for row in clearest_turns(rows)] == [(0, "1-16"), (1, "1-8")]


def test_slopes_of_many_sets_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    integers = np.arange(1, 9)
    queries = rng.normal(size=(30, 8, 2))
    queries[::3, 2] = np.nan
    queries[::5, 6] = np.nan
    queries[7, :6] = np.nan
    each = [index_fit(one, integers, 0.5)[0] for one in queries]
    np.testing.assert_allclose(index_slopes(queries, integers), each, atol=1e-12)
    assert np.isnan(each[7])
