from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.measure import choose_input, longer_hops, measure
from whatwhere.studies.mechanism.readout import Readable
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.task import Task

TABLES = [
    "ablation", "deliveries", "hops", "layers_used", "moves", "patching", "pointers", "readout", "roles", "verdicts",
    "windows",
]  # fmt: skip


def guesser(task: Task, seed: int = 0) -> GPTJ:
    """A small random model that names one of the possible answers, and is often right where there are two of them."""
    model = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=16, d_mlp=16, init_std=0.5), seed=seed)
    with torch.no_grad():
        model.head.bias.fill_(-100)
        model.head.bias[torch.as_tensor(task.answer_ids)] = 0
    model.task = task
    return model


COIN = NumberTask(symbols=2, target=3, context=3, integers=6, max_hops=2)


def test_every_table_is_written_and_measured_once(tmp_path: Path) -> None:
    told: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        assert 0 < done <= total
        told.append(what)

    results, model = Results(tmp_path), guesser(COIN)
    measure(model, results, inputs=40, progress=progress)
    assert sorted(path.stem for path in tmp_path.glob("*.csv")) == TABLES
    assert (tmp_path / "flow.json").is_file()
    solved = int((model.predict(COIN.sample(40).tokens) == COIN.sample(40).answers).sum())
    assert 0 < solved < 40
    counts = {row.hops: row.count for row in results.read("readout", Readable)}
    assert sum(counts.values()) == solved
    assert len(set(told)) == 4

    told.clear()
    (tmp_path / "hops.csv").unlink()
    measure(model, results, inputs=40, progress=progress)
    assert set(told) == {"trying longer chains"}  # the rest was there


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        measure(guesser(COIN), Results(tmp_path / name), inputs=40, seed=3)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_longer_chains_go_as_far_as_the_vocabulary() -> None:
    number = longer_hops(guesser(NumberTask()), NumberTask(), 20)
    letter = longer_hops(guesser(LetterTask()), LetterTask(), 20)
    assert [row.hops for row in number] == list(range(1, 9))
    assert {row.trained_up_to for row in number} == {4}
    assert [row.guess for row in letter] == pytest.approx([1 / 3] * 5 + [1 / 2, 1])
    assert all(row.count == 20 and row.low <= row.accuracy <= row.high for row in [*number, *letter])


def test_the_shown_input_is_the_users_or_one_that_the_model_solves() -> None:
    model = guesser(COIN)
    own = choose_input(model, "a b b 3", None, 0)
    assert COIN.decode(own.answers) == "a"
    drawn = choose_input(model, None, 1, 0)
    assert drawn.hops.tolist() == [1]
    assert (model.predict(drawn.tokens) == drawn.answers).all()
    assert choose_input(model, None, None, 0).hops.tolist() == [2]


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    nameless = guesser(COIN)
    nameless.task = None
    with pytest.raises(WhatwhereError, match="does not say which task"):
        measure(nameless, Results(tmp_path), inputs=40)
    with pytest.raises(WhatwhereError, match="at least 40 inputs were expected, 20 for each hop class, and 19 arrived"):
        measure(guesser(COIN), Results(tmp_path), inputs=19)
    hopeless = guesser(NumberTask())
    with torch.no_grad():
        hopeless.head.bias[-1] = 1000  # always the last integer
    with pytest.raises(WhatwhereError, match="solves none of 80 inputs"):
        measure(hopeless, Results(tmp_path), inputs=80)
    assert np.all([path.name == "flow.json" for path in tmp_path.iterdir()])
