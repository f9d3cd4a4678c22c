from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.hops import measure
from whatwhere.studies.hops.measure import looped_answers, stretches
from whatwhere.studies.hops.tables import HopsSettings
from whatwhere.tasks import LetterTask, NumberTask

SMALL: dict[str, Any] = {"inputs": 8, "loops": 2}


@pytest.mark.parametrize(("task", "most"), [(LetterTask(), 7), (NumberTask(), 8), (NumberTask(context=4), 5)])
def test_every_hop_count_that_fits_has_every_loop(tiny, task, most: int) -> None:
    results = ww.study("hops", tiny(task), **SMALL)
    frame = results["accuracy"]
    assert sorted(frame.hops.unique()) == list(range(1, most + 1)) == results["layers"].hops.tolist()
    assert set(frame.groupby("hops").size()) == {1 + 3 * 2}
    assert frame.trained.tolist() == [hops <= 4 for hops in frame.hops]
    plain = frame[frame["first"].isna()]
    for hops, accuracy in zip(plain.hops, plain.accuracy, strict=True):
        batch = task.chains(8, hops)
        assert accuracy == (tiny(task).predict(batch.tokens) == batch.answers).mean()
    assert results["confirmed"].choice.tolist() == ["last block", "best"]
    assert results["confirmed"].iloc[0][["first", "last"]].tolist() == [2, 2]


def test_the_best_loop_is_chosen_on_some_inputs_and_asked_on_others(tiny, monkeypatch) -> None:
    task, seeds = NumberTask(), []
    plain = NumberTask.chains

    def watched(self, n, hops, seed=0):
        seeds.append((hops, seed))
        return plain(self, n, hops, seed)

    monkeypatch.setattr(NumberTask, "chains", watched)
    (_, best) = ww.study("hops", tiny(task), seed=5, **SMALL)["confirmed"].to_dict("records")
    assert {seed for _, seed in seeds[:8]} == {5}
    assert {(hops, seed) for hops, seed in seeds[8:]} == {(hops, 6) for hops in (5, 6, 7, 8)}
    assert best["lead"] == pytest.approx(best["after"] - best["before"])
    assert best["before_n"] == 4 * 8


def test_an_interrupted_study_goes_on(tiny, tmp_path: Path, monkeypatch) -> None:
    task, plain = LetterTask(), measure.observe

    def stops(model, tokens):
        if len(list(tmp_path.glob("hops/layers.csv"))) and len(pd.read_csv(tmp_path / "hops/layers.csv")) == 3:
            raise KeyboardInterrupt
        return plain(model, tokens)

    with monkeypatch.context() as patched:
        patched.setattr(measure, "observe", stops)
        with pytest.raises(KeyboardInterrupt):
            ww.study("hops", tiny(task), out=tmp_path, **SMALL)
    results, whole = ww.study("hops", tiny(task), out=tmp_path, **SMALL), ww.study("hops", tiny(task), **SMALL)
    for table in whole:
        pd.testing.assert_frame_equal(results[table], whole[table])


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"inputs": 2}, "expected inputs of 8 or more, got 2"), ({"loops": 65}, "expected 0 to 64 loops, got 65")],
)
def test_impossible_settings_are_refused(changed, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        HopsSettings(**changed)


def unrolled(model: GPTJ, first: int, last: int, loops: int) -> GPTJ:
    """A deeper model with copies of the looped blocks in their place."""
    order = list(range(model.config.layers))
    order[last + 1 : last + 1] = list(range(first, last + 1)) * loops
    deep = GPTJ(replace(model.config, layers=len(order)))
    weights = model.state_dict()
    made = {name: value for name, value in weights.items() if not name.startswith("blocks.")}
    for place, block in enumerate(order):
        prefix = f"blocks.{block}."
        made |= {
            f"blocks.{place}.{name.removeprefix(prefix)}": value
            for name, value in weights.items()
            if name.startswith(prefix)
        }
    deep.load_state_dict(made)
    return deep


@pytest.mark.parametrize("stretch", [(0, 0), (2, 2), (0, 1), (1, 2), (0, 2)])
def test_a_loop_is_a_deeper_model_whose_blocks_are_the_same(tiny, stretch: tuple[int, int]) -> None:
    model, tokens = tiny(LetterTask()), LetterTask().sample(40).tokens
    found = list(looped_answers(model, tokens, 3, [stretch]))
    assert [(blocks, loops) for blocks, loops, _ in found] == [(stretch, 1), (stretch, 2), (stretch, 3)]
    for _, loops, given in found:
        assert np.array_equal(given, unrolled(model, *stretch, loops).predict(tokens))
    assert not np.array_equal(found[-1][2], model.predict(tokens)), "the loop changes something"


def test_every_block_and_every_third_is_looped() -> None:
    assert stretches(6) == [*((block, block) for block in range(6)), (0, 1), (2, 3), (4, 5)]
    assert stretches(2) == [(0, 0), (1, 1)]
    assert stretches(1) == [(0, 0)]


def test_no_loop_gives_nothing(tiny) -> None:
    assert list(looped_answers(tiny(LetterTask()), LetterTask().sample(4).tokens, 0)) == []
