from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import rope_frequencies
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.geometry.frequency_gating import GatedAccuracy, measure_gating
from whatwhere.studies.geometry.measure import PAPER_IDS, FrequencyRow, PlaneWeight, measure_geometry, steps_of
from whatwhere.studies.geometry.planes import (
    KeyAlignment,
    Plane,
    QueryTurn,
    clearest_turns,
    index_fit,
)
from whatwhere.studies.length.variations import (
    Variation,
    band_of,
    bands,
    gating_variations,
    length_variations,
    sliding_bands,
)
from whatwhere.studies.mechanism.accuracy import shares_by_hop
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head


def tiny(task: Task, *, seed: int = 0, layers: int = 2) -> GPTJ:
    model = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=layers, d_model=32, d_mlp=32, init_std=0.3), seed=seed)
    model.task = task
    return model


def test_the_index_construction_has_the_slope_of_its_angle_and_aligned_keys() -> None:
    task, theta = NumberTask(), 0.866
    tokens = task.sample(40, seed=0).tokens
    trace = index_head(theta, 30.0).trace(tokens, queries=range(task.target, task.length))
    plane = Plane(task, trace.layers[0], tokens, 0, 1)
    assert [row.alignment for row in plane.alignments()] == pytest.approx([1.0] * 3)
    for row in plane.turns():
        assert (row.slope, row.slope_low, row.slope_high) == pytest.approx((-theta,) * 3)
        assert (row.predicted, row.r2, row.agreement) == pytest.approx((-theta, 1.0, 1.0))
        assert (row.aim_target, row.aim_pointers) == pytest.approx((1.0, 1.0))
    assert [row.integers for row in plane.turns()] == ["1-16", "1-8", "9-16"]
    assert plane.matchings() == []


def test_the_retrieval_construction_matches_queries_to_keys() -> None:
    task = LetterTask()
    tokens = task.sample(200, seed=0).tokens
    trace = retrieval_head(0.0027, 12.0).trace(tokens, queries=range(task.target, task.length))
    plane = Plane(task, trace.layers[0], tokens, 0, 1)
    (row,) = plane.matchings()
    # Eight letters at equal angles: cosine 1 with their own key, -1/7 on average with the others'.
    assert row.matching == pytest.approx(8 / 7, abs=1e-6)
    assert row.low <= row.matching + 1e-9
    assert plane.turns() == []
    names = {(vector.role, vector.name) for vector in plane.vectors()}
    assert names == {(role, letter) for role in ("query", "key") for letter in "abcdefgh"}


def test_antipodal_groups_of_keys_cancel_together_and_align_apart() -> None:
    task = NumberTask()
    tokens = task.sample(20, seed=1).tokens
    trace = index_head(1.0, 30.0).trace(tokens, queries=range(8, 17))
    layer = trace.layers[0]
    sign = torch.where(torch.as_tensor(task.vocabulary.points(tokens)), -1.0, 1.0)
    flipped = type(layer)(
        layer.layer, layer.queries, layer.keys * sign[:, None, :, None].to(layer.keys.dtype), layer.rotation,
        layer.scale, layer.query_positions, layer.visible,
    )  # fmt: skip
    plane = Plane(task, flipped, tokens, 0, 1)
    every, target, pointers = (row.alignment for row in plane.alignments())
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
        return QueryTurn(layer, 0, 1, integers, -1.0, -1.0, -1.0, -1.0, 1.0, agreement, 1.0, 1.0, 4)

    rows = [turn(1, "1-16", math.nan), turn(1, "1-8", 0.9), turn(1, "9-16", math.nan), turn(0, "1-16", 0.2),
            turn(0, "1-8", 0.1), turn(2, "1-16", math.nan)]  # fmt: skip
    assert [(row.layer, row.integers) for row in clearest_turns(rows)] == [(0, "1-16"), (1, "1-8")]


def test_bands_are_told_by_turns_within_the_training_length() -> None:
    assert band_of([1.0, 0.1, 0.001, 0.0], 17) == ["fast", "middle", "slow", "slow"]
    model = tiny(NumberTask())
    named = bands(model, 17)
    assert sorted(plane for ids in named.values() for plane in ids) == list(range(1, 17))
    assert named["fast"][0] == 1
    assert sliding_bands(64)[0] == tuple(range(1, 9))
    assert sliding_bands(64)[-1] == tuple(range(57, 65))
    assert sliding_bands(4) == [(1, 2, 3, 4)]


def test_an_unchanged_variation_is_the_model_itself_and_others_leave_it_alone() -> None:
    task = NumberTask()
    model = tiny(task)
    tokens = task.sample(4, seed=0).tokens
    before = model.predict(tokens)
    assert Variation().apply(model, 17, 17) is model
    frequencies, gates = model.rotation.frequencies.clone(), model.gates.clone()
    for variation in length_variations(model, 17)[1:] + gating_variations(model, 17)[1:]:
        assert variation.apply(model, 34, 17) is not model
    assert torch.equal(model.rotation.frequencies, frequencies)
    assert torch.equal(model.gates, gates)
    np.testing.assert_array_equal(model.predict(tokens), before)


def test_each_variation_changes_what_it_says() -> None:
    model = tiny(NumberTask())
    plain = model.rotation.frequencies
    closed = Variation("x", closed=(1, 3), layers=(1,)).apply(model, 17, 17)
    assert closed.gates[0].tolist() == [1.0] * 16
    assert closed.gates[1].tolist() == [0.0, 1.0, 0.0] + [1.0] * 13
    based = Variation("x", base_factor=10.0).apply(model, 17, 17)
    torch.testing.assert_close(based.rotation.frequencies, rope_frequencies(32, 100_000.0))
    pressed = Variation("x", interpolate=True).apply(model, 34, 17)
    torch.testing.assert_close(pressed.rotation.frequencies, plain / 2)
    assert not Variation("x", unrotated=True).apply(model, 17, 17).rotation.frequencies.any()
    sharp = Variation("x", sharpen=True).apply(model, 17**2, 17)
    torch.testing.assert_close(sharp.gates, torch.full_like(sharp.gates, 2.0))
    with pytest.raises(WhatwhereError, match=r"above 0, and 0\.0"):
        Variation("x", base_factor=0.0)


def test_sharpening_doubles_the_logits_of_the_first_layer() -> None:
    task = NumberTask()
    model = tiny(task)
    tokens = task.sample(3, seed=0, extra_target=17**2 - 17).tokens
    with torch.no_grad():
        plain = model.trace(tokens, layers=[0]).layers[0].logits()
        sharp = Variation("x", sharpen=True).apply(model, 17**2, 17).trace(tokens, layers=[0]).layers[0].logits()
    torch.testing.assert_close(sharp, 2 * plain)


def test_gating_counts_every_class_with_intervals() -> None:
    task = NumberTask()
    rows = measure_gating(tiny(task), task.sample(16, seed=0), 17)
    assert len(rows) == 5 * len(gating_variations(tiny(task), 17))
    assert all(row.low <= row.accuracy <= row.high for row in rows)
    assert {row.inputs for row in rows if row.hop} == {4}
    assert {row.inputs for row in rows if row.hop == 0} == {16}


def test_shares_are_those_of_each_class_and_their_mean() -> None:
    right = np.array([True, False, True, True])
    (one, two, mean) = shares_by_hop(right, np.array([1, 1, 2, 2]))
    assert (one[:2], two[:2], mean[:2]) == ((1, 0.5), (2, 1.0), (0, 0.75))
    assert (one[4], mean[4]) == (2, 4)


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()])
def test_everything_is_on_disk_and_not_measured_twice(task: Task, tmp_path: Path) -> None:
    model = tiny(task)
    calls = []
    results = measure_geometry(model, task, tmp_path, inputs=16, observer=lambda: calls.append(1))
    assert len(calls) == steps_of(model, task)
    weights = results.read("frequency", PlaneWeight)
    table = results.read("table", FrequencyRow)
    assert len(weights) == 3 * 2 * 16
    assert len(table) == 3 * 2
    shares = [row.weight for row in weights if row.measure == "variance" and row.layer == 1]
    assert sum(shares) == pytest.approx(1.0)
    best = next(row for row in table if row.measure == "variance" and row.layer == 1)
    assert best.dominant == int(np.argmax(shares)) + 1
    assert best.dominant_weight == pytest.approx(max(shares))
    assert best.paper_id == 0  # the paper's IDs count 64 planes
    assert {row.keys for row in results.read("keys", KeyAlignment)} == {"all", "target", "pointers"}
    assert results.has("queries") == isinstance(task, NumberTask)
    assert results.has("matching") == isinstance(task, LetterTask)
    assert results.read("gating", GatedAccuracy)
    calls.clear()
    measure_geometry(model, task, tmp_path, inputs=16, observer=lambda: calls.append(1))
    assert calls == []


def test_the_papers_ids_are_those_of_its_table() -> None:
    printed = {1: 1.0, 2: 0.8660, 10: 0.2738, 18: 0.0866, 32: 0.0115, 37: 0.0056, 38: 0.0049, 39: 0.0042,
               40: 0.0037, 41: 0.0032, 42: 0.0027}  # fmt: skip
    frequencies = rope_frequencies(128, 10000.0)
    for ids in PAPER_IDS.values():
        assert len(ids) == 12
        assert all(float(frequencies[i - 1]) == pytest.approx(printed[i], abs=5e-5) for i in ids)
