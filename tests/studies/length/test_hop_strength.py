from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from whatwhere.studies.length.hop_strength import HopStrength, chain_rows, hop_rows, lead, measure_hops, path_hops
from whatwhere.studies.length.prediction import predict_hops
from whatwhere.studies.length.tables import working_cells
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.trace.interventions import ScaleLogits
from whatwhere.trace.traceable import trace

TASKS = [NumberTask(), LetterTask(), LetterTask(generator="decoy")]


def test_the_lead_is_margin_and_mass() -> None:
    logits = torch.tensor([[[2.0, 1.0, 0.0, -torch.inf]]])
    found = lead(logits, np.array([[False, True, False, False]]))
    assert found.shape == (1, 2, 1)
    assert found[0, :, 0] == pytest.approx([-1.0, math.e / (math.e**2 + math.e + 1)])


@pytest.mark.parametrize("task", TASKS)
def test_every_hop_of_a_path_is_looked_at_once(task: Task) -> None:
    batch = task.sample(16, seed=0)
    kinds = {(to_go, jump): (rows, starts, goals) for to_go, jump, rows, starts, goals in path_hops(task, batch)}
    assert set(kinds) == {(s, t) for s in range(1, 5) for t in range(1, s + 1)}
    rows, starts, goals = kinds[4, 1]
    assert (batch.hops[rows] == 4).all()
    assert (starts == 16).all()
    rows, starts, goals = kinds[1, 1]
    assert len(rows) == 16
    np.testing.assert_array_equal(batch.tokens[rows, goals], batch.answers)
    there, _ = task.step(batch.tokens[rows], starts)
    np.testing.assert_array_equal(there, goals)


@pytest.mark.parametrize("task", TASKS)
def test_measured_hops_are_those_of_the_trace_and_answers_those_of_the_model(
    task: Task, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.hop_strength.TOKENS_AT_ONCE", 60)  # several batches
    model = tiny(task, heads=2)
    batch = task.sample(8, seed=0, extra_target=3)
    strength = measure_hops(model, task, batch)
    np.testing.assert_array_equal(strength.right, model.predict(batch.tokens) == batch.answers)
    with torch.no_grad():
        layer = trace(model, batch.tokens, layers=[1], queries=range(20)).layers[0]
    logits, attention = layer.logits().numpy(), layer.attention().numpy()
    for row in range(8):
        path, hops = batch.paths[row], int(batch.hops[row])
        for to_go in range(1, 5):
            for jump in range(1, to_go + 1):
                place = 1, 1, to_go - 1, jump - 1, row
                margin, mass = strength.margin[place], strength.mass[place]
                if to_go > hops:
                    assert np.isnan([margin, mass]).all()
                    continue
                query, goal = path[hops - to_go], path[hops - to_go + jump]
                same = task.vocabulary.same_meaning(batch.tokens[[row]], np.array([goal]))[0]
                seen = np.arange(20) <= query
                best = logits[row, 1, query, same & seen].max()
                rival = logits[row, 1, query, ~same & seen].max()
                assert margin == pytest.approx(best - rival, abs=1e-5)
                assert mass == pytest.approx(attention[row, 1, query, same].sum(), abs=1e-6)


def strength_of(margin: list[float], mass: list[float]) -> HopStrength:
    """One layer and head; two inputs of one hop, and two of two hops whose second step is given too."""
    both = np.full((2, 1, 1, 2, 2, len(margin)), np.nan)
    both[:, 0, 0, 0, 0] = margin, mass
    both[:, 0, 0, 1, 0, 2:] = [[1.0, -1.0], [0.9, 0.95]]
    return HopStrength(both[0], both[1], np.zeros(len(margin), bool))


def test_rows_hold_means_shares_and_counts_and_leave_out_infinite_margins() -> None:
    first, second = hop_rows("measured", 17, strength_of([1.0, np.inf, 3.0, -1.0], [0.9, 1.0, 0.4, 0.2]))
    assert first.cell == (0, 0, 1, 1)
    assert (first.margin.value, first.margin.n) == (pytest.approx(1.0), 3)
    assert (first.mass.value, first.leads.value, first.holds.value) == pytest.approx((0.625, 0.75, 0.5))
    assert (first.mass.n, first.leads.n) == (4, 4)
    assert (second.cell, second.mass.n, second.leads.value) == ((0, 0, 2, 1), 2, 0.5)
    assert first.mass.low < first.mass.value < first.mass.high
    assert working_cells([first, second], 17) == [(0, 0, 2, 1)]
    assert working_cells([first, second], 18) == []


def test_no_rows_without_cells() -> None:
    nothing = np.full((1, 1, 1, 1, 3), np.nan)
    assert hop_rows("measured", 17, HopStrength(nothing, nothing, np.zeros(3, bool))) == []


def test_a_chain_holds_if_each_of_its_hops_does() -> None:
    strength = strength_of([1.0, 1.0, 3.0, 2.0], [0.9, 0.3, 0.8, 0.9])
    rows = chain_rows("measured", 17, strength, np.array([1, 1, 2, 2]), [(0, 0, 1, 1), (0, 0, 2, 1)])
    assert {(row.rule, row.hop): row.share.value for row in rows} == {
        ("margin", 1): 1.0, ("margin", 2): 0.5, ("margin", None): 0.75,
        ("mass", 1): 0.5, ("mass", 2): 1.0, ("mass", None): 0.75,
    }  # fmt: skip
    assert {row.cells for row in rows} == {2}
    assert chain_rows("measured", 17, strength, np.array([1, 1, 2, 2]), []) == []


def test_a_model_with_sharper_logits_has_the_strength_of_one_with_larger_queries(tiny) -> None:
    task = LetterTask()
    batch, changed = task.sample(12), [ScaleLogits(2.0)]
    model, sharper = tiny(task), tiny(task)
    cells = [(layer, 0, 2, 1) for layer in range(2)]
    with torch.no_grad():
        for block in sharper.layers():
            block.w_in[: model.config.d_model] *= 2
    expected, found = measure_hops(sharper, task, batch), measure_hops(model, task, batch, changed)
    assert found.margin == pytest.approx(expected.margin, rel=1e-3, abs=1e-4, nan_ok=True)
    assert found.mass == pytest.approx(expected.mass, abs=1e-4, nan_ok=True)
    assert (found.right == expected.right).all()
    told = predict_hops(model, task, batch, [17, 30], cells, interventions=changed)
    for length, strength in predict_hops(sharper, task, batch, [17, 30], cells).items():
        assert told[length].mass == pytest.approx(strength.mass, abs=1e-4, nan_ok=True)
