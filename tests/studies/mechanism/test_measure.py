from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.measuring import measure, study
from whatwhere.studies.mechanism import MECHANISM
from whatwhere.studies.mechanism.measure import longer_chains
from whatwhere.studies.mechanism.tables import MechanismSettings, Readable
from whatwhere.studies.results import Results
from whatwhere.studies.study import no_progress
from whatwhere.studies.subject import TRAINED
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.task import Task


@pytest.mark.slow
def test_every_table_is_measured(found: Results, guesser: GPTJ) -> None:
    assert list(found) == list(MECHANISM.tables)
    task = guesser.task
    assert task is not None
    drawn = task.sample(80)
    solved = int((guesser.predict(drawn.tokens) == drawn.answers).sum())
    assert 0 < solved < 80
    counts = {row.hops: row.share.n for row in found.rows("readout", Readable)}
    assert sum(counts.values()) == solved
    assert set(found["examples"]["example"]) == {0, 1, 2}


@pytest.mark.slow
def test_an_interrupted_measurement_goes_on_where_it_stopped(tmp_path: Path, guesser: GPTJ, found: Results) -> None:
    told: list[str] = []
    tables: list[set[str]] = []

    def stop(what: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        told.append(what)
        tables.append({path.stem for path in tmp_path.glob("mechanism/*.csv")})
        if what == "patching activations" and len(set(told)) == 6:
            raise KeyboardInterrupt

    settings = MechanismSettings(inputs=80, examples=1)
    opened = TRAINED.open(guesser)
    with pytest.raises(KeyboardInterrupt):
        measure(MECHANISM, opened, settings, tmp_path / "mechanism", progress=stop)
    assert "sufficient" in tables[-1]
    assert "patching" not in tables[-1]
    told.clear()
    again = measure(MECHANISM, opened, settings, tmp_path / "mechanism", progress=stop)
    patching = {"patching activations", "fitting probes", "swapping values", "trying longer chains"}
    assert patching <= set(told) <= patching | {"patching paths"}  # the rest was there
    for name, frame in found.items():  # the same, as if it had not been interrupted
        assert again[name].round(6).to_csv() == frame.round(6).to_csv()


def test_longer_chains_go_as_far_as_the_vocabulary(guesser_of: Callable[[Task], GPTJ]) -> None:
    number = longer_chains(guesser_of(NumberTask()), NumberTask(), 20, 0, no_progress)
    letters = LetterTask(generator="decoy")
    letter = longer_chains(guesser_of(letters), letters, 20, 0, no_progress)
    assert [row.hops for row in number] == list(range(1, 9))
    assert [row.trained for row in number] == [True] * 4 + [False] * 4
    assert [row.guess for row in letter] == pytest.approx([1 / 3] * 5 + [1 / 2, 1])
    assert {row.accuracy.n for row in [*number, *letter]} == {20}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inputs": 39}, "expected at least 40 inputs, 20 for each hop class, got 39"),
        ({"inputs": 0}, "expected inputs of 1 or more, got 0"),
        ({"seed": -1}, "expected seed of 0 or more, got -1"),
        ({"examples": -1}, "expected examples of 0 or more, got -1"),
        ({"input": "a b b 3", "hops": 1}, "expected an input to show or its number of hops, got both"),
        ({"input": "a b"}, "got 'b' at its end"),
        ({"layers": 2}, "expected a setting of inputs, seed, input, hops, examples, got 'layers'"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_leaves_no_table(
    settings: dict, message: str, guesser: GPTJ, tmp_path: Path
) -> None:
    with pytest.raises(WhatwhereError, match=message):
        study("mechanism", guesser, out=tmp_path, **settings)
    assert not list(tmp_path.rglob("*.csv"))


def test_a_model_that_solves_nothing_is_refused(guesser_of: Callable[[Task], GPTJ]) -> None:
    hopeless = guesser_of(NumberTask())
    with torch.no_grad():
        hopeless.head.bias[-1] = 1000  # always the last integer
    with pytest.raises(WhatwhereError, match="got one that solves none of 80; train it further"):
        study("mechanism", hopeless, inputs=80, examples=0)
