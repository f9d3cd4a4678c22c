from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import frequency_use
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import rope_frequencies
from whatwhere.studies.geometry import GEOMETRY
from whatwhere.studies.geometry import measure as measuring
from whatwhere.studies.geometry.tables import PAPER_IDS, GeometrySettings
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.trace.traceable import trace


@pytest.mark.parametrize("task", [NumberTask(), LetterTask(), LetterTask(generator="decoy")])
def test_the_tables_are_what_the_trace_gives(task: Task, tiny) -> None:
    model = tiny(task)
    results = study("geometry", model, inputs=16)
    weights, ids = results["weights"], results["ids"]
    assert (len(weights), len(ids)) == (3 * 2 * 16, 6 * 2)
    tokens = task.sample(16, seed=0).tokens
    with torch.no_grad():
        use = frequency_use(trace(model, tokens))
        pointers = trace(model, tokens, queries=range(task.target, task.length))
    for measure in ("norm", "variance", "margin"):
        found = ids[ids.measure == f"{measure} at pointers"].weighted_id
        np.testing.assert_allclose(found, frequency_use(pointers, measure).weighted_id[:, 0])
    mine = weights[(weights.measure == "variance") & (weights.layer == 1)]
    np.testing.assert_allclose(mine.weight, use.weights[1, 0], rtol=1e-6)
    assert mine.weight.sum() == pytest.approx(1.0)
    best = ids[(ids.measure == "variance") & (ids.layer == 1)].iloc[0]
    assert best.dominant == int(np.argmax(mine.weight)) + 1
    assert best.dominant_weight == pytest.approx(mine.weight.max())
    assert best.weighted_id == pytest.approx(use.weighted_id[1, 0])
    assert best.weighted_id_low < best.weighted_id < best.weighted_id_high
    assert pd.isna(best.paper_id)  # the paper's IDs count 64 planes
    assert (best.weighted_id_n, best.undefined) == (16, 0)
    assert set(results["keys"]["keys"]) == {"all", "target", "pointers"}
    assert bool(len(results["queries"])) == isinstance(task, NumberTask)
    assert bool(len(results["matching"])) == isinstance(task, LetterTask)
    nulls = results["nulls"]
    assert set(nulls["null"]) == {"other planes", "shuffled names", "other layers"}
    assert (nulls[nulls.null == "other planes"].nulls == 15).all()
    keys = nulls[(nulls.statement == "keys aligned all") & (nulls.null == "other layers")]
    np.testing.assert_allclose(keys.value, results["keys"].query("keys == 'all'").alignment)
    assert list(keys["median"]) == list(keys["value"])[::-1]  # two layers, each the other's null
    assert results.claims.verdict.unique().tolist() == ["not tested"]  # a random model has learned nothing


@pytest.mark.slow
def test_an_interrupted_study_goes_on_with_the_closing_that_is_missing(
    tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(NumberTask())
    whole = study("geometry", model, inputs=16)
    seen: list[str] = []
    real = measuring.gated_accuracy

    def stops(model: GPTJ, batch, closing):
        seen.append(closing.name)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return real(model, batch, closing)

    monkeypatch.setattr(measuring, "gated_accuracy", stops)
    with pytest.raises(KeyboardInterrupt):
        study("geometry", model, inputs=16, out=tmp_path)
    monkeypatch.setattr(measuring, "_measure_planes", lambda *_: pytest.fail("measured twice"))
    parts = study("geometry", model, inputs=16, out=tmp_path)
    assert seen[2] == seen[3]
    assert len(seen) == 1 + len(set(seen))
    for table in whole:
        pd.testing.assert_frame_equal(parts[table], whole[table], rtol=1e-9, check_dtype=False)


def test_progress_counts_layers_and_closings(tiny) -> None:
    told: list[tuple[str, int, int]] = []
    settings = GeometrySettings(inputs=16)
    measuring.measure(tiny(NumberTask()), settings, Results(GEOMETRY, settings), lambda *what: told.append(what))
    assert told[:3] == [
        ("planes of each layer", 0, told[0][2]),
        ("planes of each layer", 1, told[0][2]),
        ("planes closed: as trained", 2, told[0][2]),
    ]
    assert told[-1] == ("geometry measured", told[0][2], told[0][2])


def test_a_model_whose_last_layers_do_not_rotate_is_measured(tiny) -> None:
    task = NumberTask()
    model = GPTJ(replace(tiny(task).config, nope_from=1), seed=0)
    model.task = task
    results = study("geometry", model, inputs=16)
    weights = results["weights"]
    assert (weights[weights.layer == 1].frequency == 0).all()
    assert (weights[weights.layer == 0].frequency > 0).all()


def test_too_few_inputs_are_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected inputs of 16 or more, got 3; raise inputs"):
        study("geometry", "number", inputs=3)


def test_the_papers_ids_are_those_of_its_table() -> None:
    printed = {1: 1.0, 2: 0.8660, 10: 0.2738, 18: 0.0866, 32: 0.0115, 37: 0.0056, 38: 0.0049, 39: 0.0042,
               40: 0.0037, 41: 0.0032, 42: 0.0027}  # fmt: skip
    frequencies = rope_frequencies(128, 10000.0)
    for ids in PAPER_IDS.values():
        assert len(ids) == 12
        assert all(float(frequencies[i - 1]) == pytest.approx(printed[i], abs=5e-5) for i in ids)
