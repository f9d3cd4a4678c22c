from __future__ import annotations

import numpy as np
import torch

from whatwhere.studies.geometry.gating import Closing, band_of, bands, closings, gated_accuracy, sliding_bands
from whatwhere.tasks import NumberTask


def test_bands_follow_from_turns_within_the_training_length(tiny) -> None:
    assert band_of([1.0, 0.1, 0.001, 0.0], 17) == ["fast", "middle", "slow", "slow"]
    named = bands(tiny(NumberTask()), 17)
    assert sorted(plane for ids in named.values() for plane in ids) == list(range(1, 17))
    assert named["fast"][0] == 1
    assert "middle" not in bands(tiny(NumberTask()), 10**9)
    assert sliding_bands(64)[0] == tuple(range(1, 9))
    assert sliding_bands(64)[-1] == tuple(range(57, 65))
    assert sliding_bands(4) == [(1, 2, 3, 4)]


def test_each_closing_is_measured_once_by_name(tiny) -> None:
    found = closings(tiny(NumberTask(), layers=3), 17)
    names = [closing.name for closing in found]
    assert len(set(names)) == len(names)
    assert {closing.kind for closing in found} == {"as trained", "closed", "alone", "sliding"}
    only = next(closing for closing in found if closing.name == "only fast open")
    fast = next(closing for closing in found if closing.name == "fast closed")
    assert sorted(only.planes + fast.planes) == list(range(1, 17))
    assert [closing.layers for closing in found if closing.name.startswith("fast closed in")] == [(0,), (1,), (2,)]


def test_a_closed_plane_is_a_gate_of_zero(tiny) -> None:
    task = NumberTask()
    model = tiny(task)
    batch = task.sample(32, seed=0)
    rows = gated_accuracy(model, batch, Closing("x", "closed", (1, 3), (1,)))
    gated = tiny(task)
    gated.gates[1, [0, 2]] = 0
    expected = float((gated.predict(batch.tokens) == batch.answers).mean())
    (mean,) = [row for row in rows if row.hop is None]
    np.testing.assert_allclose(mean.accuracy.value, expected)
    assert (mean.first, mean.last, mean.closed, mean.layers) == (1, 3, 2, "1-1")
    assert torch.equal(model.gates, torch.ones_like(model.gates))


def test_every_class_is_counted_with_its_interval(tiny) -> None:
    task = NumberTask()
    rows = gated_accuracy(tiny(task), task.sample(16, seed=0), Closing("as trained", "as trained"))
    assert [(row.hop, row.accuracy.n) for row in rows] == [(1, 4), (2, 4), (3, 4), (4, 4), (None, 16)]
    assert all(row.accuracy.low <= row.accuracy.value <= row.accuracy.high for row in rows)
    assert {(row.first, row.last, row.layers) for row in rows} == {(None, None, None)}
