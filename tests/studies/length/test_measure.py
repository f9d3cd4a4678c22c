from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import rope_frequencies
from whatwhere.studies.answering import answers, shares_by_hop
from whatwhere.studies.length import LENGTH
from whatwhere.studies.length import measure as measuring
from whatwhere.studies.length.hop_strength import HopStrength
from whatwhere.studies.length.measure import length_variations
from whatwhere.studies.length.tables import LengthSettings
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.tasks.batch import Batch
from whatwhere.trace.traceable import trace

SMALL = {"inputs": 16, "lengths": (17, 19, 24), "varied_lengths": (17,)}


def test_longer_inputs_get_fewer_sequences_and_never_too_few() -> None:
    settings = LengthSettings(inputs=2000, far_inputs=300)
    assert [settings.sequences(n) for n in (17, 64, 324, 325, 1000)] == [2000, 1000, 250, 300, 300]
    assert [settings.sequences(n, varied=True) for n in (17, 64, 1000)] == [500, 250, 41]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inputs": 3}, "expected inputs of 16 or more, got 3; raise inputs"),
        ({"finer": -1}, "expected finer of 0 or more, got -1; raise finer"),
        ({"far_inputs": 0}, "expected far_inputs of 1 or more, got 0; raise far_inputs"),
        ({"lengths": (17, 0)}, "expected lengths of 1 token or more, got 0"),
        ({"varied_lengths": (-1,)}, "expected lengths of 1 token or more, got -1"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        study("length", "letter", **settings)


def test_shares_are_those_of_each_class_and_their_mean() -> None:
    right = np.array([True, False, True, True, True])
    (one, two, mean) = shares_by_hop(right, np.array([1, 1, 2, 2, 2]))
    assert (one[0], one[1].value, one[1].n) == (1, 0.5, 2)
    assert (two[0], two[1].value, two[1].n) == (2, 1.0, 3)
    assert (mean[0], mean[1].value, mean[1].n) == (None, 0.75, 5)
    assert mean[1].low < 0.75 < mean[1].high


@pytest.mark.parametrize("task", [NumberTask(), LetterTask(), LetterTask(generator="decoy")])
@pytest.mark.slow
def test_lengths_are_measured_once_and_an_interrupted_run_goes_on(
    task: Task, tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.tables.WORKING", 0.0)  # random heads, so that every cell counts
    model = tiny(task)
    whole = study("length", model, **SMALL)
    seen = []
    real = measuring.measure_hops

    def stops(model: GPTJ, task: Task, batch: Batch) -> HopStrength:
        seen.append(batch.tokens.shape[1])
        if seen == [17, 19, 24]:
            raise KeyboardInterrupt
        return real(model, task, batch)

    monkeypatch.setattr(measuring, "measure_hops", stops)
    with pytest.raises(KeyboardInterrupt):
        study("length", model, out=tmp_path, **SMALL)
    parts = study("length", model, out=tmp_path, **SMALL)
    assert seen == [17, 19, 24, 24]
    for table in ("accuracy", "hops", "chain", "breaks"):
        pd.testing.assert_frame_equal(parts[table], whole[table], rtol=1e-9)
    study("length", model, out=tmp_path, **SMALL)
    assert seen == [17, 19, 24, 24]
    rows = whole["accuracy"]
    assert set(rows[rows.variation == "as trained"].length) == {17, 19, 24}
    assert rows.variation.nunique() == 7
    assert rows.hop.isna().sum() * 5 == len(rows)  # four classes and their mean
    hops = whole["hops"]
    assert set(zip(hops.source, hops.length, strict=True)) == {
        (source, n) for source in ("measured", "predicted") for n in (17, 19, 24)
    }


@pytest.mark.slow
def test_where_answers_begin_to_fail_lengths_are_finer_whether_interrupted_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"inputs": 48, "lengths": (33, 97), "varied_lengths": (), "finer": 3}
    whole = study("length", "number", **settings)
    assert sorted(set(whole["accuracy"].length)) == [17, 33, 49, 65, 81, 97]
    rows = whole["hops"].groupby("source")["length"].unique()
    assert set(rows["measured"]) == set(rows["predicted"]) == {17, 33, 49, 65, 81, 97}
    real = measuring.measure_hops

    def stops(model: GPTJ, task: Task, batch: Batch) -> HopStrength:
        if batch.tokens.shape[1] == 65:
            raise KeyboardInterrupt
        return real(model, task, batch)

    monkeypatch.setattr(measuring, "measure_hops", stops)
    with pytest.raises(KeyboardInterrupt):
        study("length", "number", out=tmp_path, **settings)
    monkeypatch.setattr(measuring, "measure_hops", real)
    parts = study("length", "number", out=tmp_path, **settings)
    for table in ("accuracy", "hops", "chain", "breaks"):
        pd.testing.assert_frame_equal(parts[table], whole[table], rtol=1e-9)


def test_a_model_whose_heads_do_no_hop_has_accuracy_and_no_chain(tiny) -> None:
    results = study("length", tiny(NumberTask()), inputs=16, lengths=(), varied_lengths=())
    assert len(results["chain"]) == 0
    assert set(results["hops"].source) == {"measured"}
    assert set(results["breaks"].what) == {"accuracy"}
    assert set(results["accuracy"].length) == {17}


def test_a_user_is_told_of_lengths_below_that_of_training(tiny) -> None:
    told = "Inputs of 5, 9 tokens are left out: the model was trained on 17 tokens"
    with pytest.warns(WhatwhereWarning, match=told):
        results = study("length", tiny(NumberTask()), inputs=16, lengths=(5, 9, 19), varied_lengths=())
    assert set(results["accuracy"].length) == {17, 19}


def test_progress_counts_the_tokens_to_be_seen(tiny) -> None:
    told: list[tuple[str, int, int]] = []
    settings = LengthSettings(inputs=16, lengths=(19,), varied_lengths=())
    model = tiny(NumberTask())
    measuring.measure(model, settings, Results(LENGTH, settings), lambda *what: told.append(what))
    total = 16 * 17 + 16 * 19
    assert told == [
        ("as trained, length 17", 0, total),
        ("as trained, length 19", 16 * 17, total),
        ("lengths measured", total, total),
    ]


def test_variations_are_the_same_at_each_length_and_do_what_they_say(tiny) -> None:
    task = NumberTask()
    model = tiny(task)
    tokens = task.sample(3, seed=0, extra_target=17**2 - 17).tokens
    changes = length_variations(model, 17, 17**2)
    assert list(changes) == list(length_variations(model, 17, 17))

    def first_layer(name: str):
        with torch.no_grad():
            return trace(model, tokens, layers=[0], interventions=[changes[name]] if name else []).layers[0]

    plain = first_layer("")
    torch.testing.assert_close(first_layer("logits sharpened").logits(), 2 * plain.logits())
    slower = first_layer("rotary base x 10").rotation.frequencies
    torch.testing.assert_close(slower, rope_frequencies(32, 100_000.0))
    pressed = first_layer("positions interpolated").rotation.frequencies
    torch.testing.assert_close(pressed, plain.rotation.frequencies / 17)
    assert not first_layer("no rotation").rotation.frequencies.any()
    closed = first_layer("fast planes closed").rotation.planes(first_layer("fast planes closed").queries)
    assert not closed[..., 0, :].any()
    assert closed[..., -1, :].any()


def test_answers_with_a_change_do_not_depend_on_how_many_are_run_at_a_time(
    tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = LetterTask()
    model = tiny(task)
    tokens = task.sample(20, seed=0).tokens
    np.testing.assert_array_equal(answers(model, tokens), model.predict(tokens))
    change = length_variations(model, 17, 34)["positions interpolated"]
    together = answers(model, tokens, [change])
    monkeypatch.setattr("whatwhere.studies.answering.TOKENS_AT_ONCE", 60)
    np.testing.assert_array_equal(answers(model, tokens, [change]), together)
    assert (together != model.predict(tokens)).any()
