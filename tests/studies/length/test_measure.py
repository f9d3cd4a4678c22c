from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from whatwhere.experiments import length as length_module

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.length.breaks import BreakRow, break_length, break_rows
from whatwhere.studies.length.forecast import foretell_hops, further_keys
from whatwhere.studies.length.hop_strength import HopStrength, lead, measure_hops, path_hops, same_meaning
from whatwhere.studies.length.hop_tables import ChainRow, HopRow, chain_rows, hop_rows, working_cells
from whatwhere.studies.length.measure import LengthAccuracy, LengthPlan, measure_length
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.tasks.batch import Batch

TASKS = [NumberTask(), LetterTask()]


def tiny(task: Task, *, layers: int = 2, heads: int = 1) -> GPTJ:
    config = ModelConfig(vocab_size=task.vocab_size, layers=layers, heads=heads, d_model=32, d_mlp=32, init_std=0.4)
    model = GPTJ(config, seed=0)
    model.task = task
    return model


def test_keys_of_the_same_meaning_hold_the_same_token_but_an_integer_only_itself() -> None:
    number = NumberTask()
    tokens = np.stack([number.encode("a b a 2 2 3")] * 2)
    assert same_meaning(number, tokens, np.array([0, 3])).tolist() == [
        [True, False, True, False, False, False],
        [False, False, False, True, False, False],
    ]
    letter = LetterTask()
    pairs = letter.encode("a1 b2 ca ca dc")[None]
    assert same_meaning(letter, pairs, np.array([2])).tolist() == [[False, False, True, True, False]]


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
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.hop_strength.TOKENS_AT_ONCE", 60)  # several batches
    model = tiny(task, heads=2)
    batch = task.sample(8, seed=0, extra_target=3)
    strength = measure_hops(model, task, batch)
    np.testing.assert_array_equal(strength.right, model.predict(batch.tokens) == batch.answers)
    with torch.no_grad():
        layer = model.trace(batch.tokens, layers=[1], queries=range(20)).layers[0]
    logits, attention = layer.logits().numpy(), layer.attention().numpy()
    for row in range(8):
        path, hops = batch.paths[row], int(batch.hops[row])
        for to_go in range(1, 5):
            for jump in range(1, to_go + 1):
                margin, mass = (
                    strength.margin[1, 1, to_go - 1, jump - 1, row],
                    strength.mass[1, 1, to_go - 1, jump - 1, row],
                )
                if to_go > hops:
                    assert np.isnan([margin, mass]).all()
                    continue
                query, goal = path[hops - to_go], path[hops - to_go + jump]
                same = same_meaning(task, batch.tokens[[row]], np.array([goal]))[0]
                seen = np.arange(20) <= query
                best = logits[row, 1, query, same & seen].max()
                rival = logits[row, 1, query, ~same & seen].max()
                assert margin == pytest.approx(best - rival, abs=1e-5)
                assert mass == pytest.approx(attention[row, 1, query, same].sum(), abs=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_a_forecast_of_the_first_layer_is_what_inputs_with_these_further_tokens_give(task: Task) -> None:
    model = tiny(task)
    batch = task.sample(12, seed=0)
    cells = [(0, 0, s, t) for s in range(1, 5) for t in range(1, s + 1)]
    foretold = foretell_hops(model, task, batch, [17, 20, 29], cells, seed=5)
    drawn = further_keys(task, batch, 12, seed=5)
    for length, strength in foretold.items():
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


def test_further_keys_are_never_the_answer_nor_pointed_at() -> None:
    number, letter = NumberTask(), LetterTask()
    batch = number.sample(50, seed=0)
    assert (np.take_along_axis(batch.tokens, further_keys(number, batch, 30, 0), 1) != batch.answers[:, None]).all()
    batch = letter.sample(50, seed=0)
    lent = letter.vocabulary.left(np.take_along_axis(batch.tokens, further_keys(letter, batch, 30, 0), 1))
    asked = letter.vocabulary.right(batch.tokens[:, 8:])
    assert not (lent[:, :, None] == asked[:, None]).any()


def strength_of(margin: list[float], mass: list[float]) -> HopStrength:
    """One layer and head; two inputs of one hop, and two of two hops whose second step is given too."""
    shape = (1, 1, 2, 2, len(margin))
    both = np.full((2, *shape), np.nan)
    both[:, 0, 0, 0, 0] = margin, mass
    both[:, 0, 0, 1, 0, 2:] = [[1.0, -1.0], [0.9, 0.95]]
    return HopStrength(both[0], both[1], np.zeros(len(margin), bool))


def test_hop_tables_hold_means_shares_and_counts() -> None:
    strength = strength_of([1.0, np.inf, 3.0, -1.0], [0.9, 1.0, 0.4, 0.2])
    first, second = hop_rows("measured", 17, strength)
    assert first.cell == (0, 0, 1, 1)
    assert (first.margin, first.mass, first.leads, first.holds, first.inputs) == pytest.approx(
        (1.0, 0.625, 0.75, 0.5, 4)
    )
    assert (second.cell, second.inputs, second.leads) == ((0, 0, 2, 1), 2, 0.5)
    assert first.mass_low < first.mass < first.mass_high
    assert working_cells([first, second], 17) == [(0, 0, 2, 1)]
    assert working_cells([first, second], 18) == []


def test_a_chain_holds_if_each_of_its_hops_does() -> None:
    strength = strength_of([1.0, 1.0, 3.0, 2.0], [0.9, 0.3, 0.8, 0.9])
    rows = chain_rows("measured", 17, strength, np.array([1, 1, 2, 2]), [(0, 0, 1, 1), (0, 0, 2, 1)])
    found = {(row.rule, row.hop): row.share for row in rows}
    assert found == {
        ("margin", 1): 1.0, ("margin", 2): 0.5, ("margin", 0): 0.75,
        ("mass", 1): 0.5, ("mass", 2): 1.0, ("mass", 0): 0.75,
    }  # fmt: skip
    assert {row.cells for row in rows} == {2}
    assert chain_rows("measured", 17, strength, np.array([1, 1, 2, 2]), []) == []


def test_breaks_are_interpolated_in_the_logarithm_of_length() -> None:
    curve = [(100, 0.2), (10, 1.0), (1000, 0.0)]
    assert break_length(curve, 0.6) == pytest.approx(10**1.5)
    assert break_length(curve, 0.1) == pytest.approx(10**2.5)
    assert break_length([(10, 0.3), (20, 0.9)], 0.5) == 10
    assert break_length([(10, 0.9), (20, 0.5)], 0.5) == math.inf
    accuracy = [LengthAccuracy("as trained", n, 0, share, share - 0.1, share + 0.1, 9) for n, share in curve]
    rows = {(row.what, row.threshold): row for row in break_rows(accuracy, [], [])}
    half = rows["accuracy", 0.5]
    assert half.low < half.length < half.high
    assert (half.longest, half.place) == (1000, (-1, -1, 0, 0))


def test_longer_inputs_get_fewer_sequences_and_never_too_few() -> None:
    plan = LengthPlan(inputs=2000)
    assert [plan.sequences(n) for n in (17, 64, 1000)] == [2000, 1000, 250]
    assert [plan.sequences(n, varied=True) for n in (17, 64, 1000)] == [500, 250, 41]
    with pytest.raises(WhatwhereError, match="at least 16 inputs"):
        LengthPlan(inputs=3)


def small_plan(**changes: object) -> LengthPlan:
    plan = LengthPlan(inputs=16, lengths=(17, 19, 24), varied_lengths=(17,))
    return replace(plan, **changes)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("task", TASKS)
def test_lengths_are_measured_once_and_an_interrupted_run_goes_on(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.hop_tables.WORKING", 0.0)  # random heads, so that every cell counts
    model = tiny(task)
    whole = measure_length(model, task, tmp_path / "whole", small_plan())
    seen = []
    real = length_module.measure_hops

    def stops(model: GPTJ, task: Task, batch: Batch) -> HopStrength:
        seen.append(batch.tokens.shape[1])
        if seen == [17, 19, 24]:
            raise KeyboardInterrupt
        return real(model, task, batch)

    monkeypatch.setattr(length_module, "measure_hops", stops)
    with pytest.raises(KeyboardInterrupt):
        measure_length(model, task, tmp_path / "parts", small_plan())
    parts = measure_length(model, task, tmp_path / "parts", small_plan())
    assert seen == [17, 19, 24, 24]
    for table, kind in (("accuracy", LengthAccuracy), ("hops", HopRow), ("chain", ChainRow), ("breaks", BreakRow)):
        assert repr(parts.read(table, kind)) == repr(whole.read(table, kind))
    measure_length(model, task, tmp_path / "parts", small_plan())
    assert seen == [17, 19, 24, 24]
    rows = whole.read("accuracy", LengthAccuracy)
    assert {row.length for row in rows if row.variation == "as trained"} == {17, 19, 24}
    assert len({row.variation for row in rows}) == 7
    assert {(row.source, row.length) for row in whole.read("hops", HopRow)} == {
        (source, n) for source in ("measured", "foretold") for n in (17, 19, 24)
    }


def test_other_settings_do_not_mix(tmp_path: Path) -> None:
    task = NumberTask()
    model = tiny(task)
    plan = small_plan(lengths=(17,), variations=False)
    results = measure_length(model, task, tmp_path, plan)
    assert not results.has("chain")  # no head of a random model does a hop
    with pytest.raises(WhatwhereError, match="made with seed 0, and 1 was asked for"):
        measure_length(model, task, tmp_path, replace(plan, seed=1))
    measure_length(model, task, tmp_path, replace(plan, seed=1), force=True)
    assert results.settings()["seed"] == 1
