from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import COLUMNS, Settings, read_history, read_rows, write_rows
from whatwhere.training.run import Run

SETTINGS = Settings(inputs=8)
CHOSEN = [(1, 0), (1, 2), (3, 1)]


def scored(run: Run) -> Path:
    score_run(run, SETTINGS)
    return run.scores_path


def test_the_table_has_the_columns_of_the_contract_first(run: Run) -> None:
    header = scored(run).read_text().splitlines()[0].split(",")
    assert header[:8] == ["step", "layer", "head", "positional", "symbolic", "entropy", "tau", "inputs"]
    assert header == [*COLUMNS, "seal"]


def test_rows_come_back_as_they_were_written(run: Run) -> None:
    path = scored(run)
    before = path.read_bytes()
    write_rows(path, read_rows(path))
    assert path.read_bytes() == before


def test_history_is_arrays_by_step_layer_and_head(run: Run) -> None:
    history = read_history(scored(run))
    assert history.steps.tolist() == [0, 5, 10]
    assert history.positional.shape == history.entropy.shape == (3, 2, 1)
    assert history.settings == SETTINGS
    np.testing.assert_allclose(history.entropy_share, history.entropy / np.log(17), rtol=1e-8)


def test_heads_that_were_not_scored_are_undefined(tmp_path: Path) -> None:
    rows = {step: [(step, layer, head, 0.9, 0.2, 1.0, 0.01, 4, 0, "keys", 0.5, 0.0, 0) for layer, head in CHOSEN]
            for step in (0, 7)}  # fmt: skip
    write_rows(tmp_path / "scores.csv", rows)
    history = read_history(tmp_path / "scores.csv")
    assert history.positional.shape == (2, 4, 3)
    assert [tuple(at) for at in np.argwhere(~np.isnan(history.positional[1])).tolist()] == CHOSEN


def test_damaged_tables_are_refused(run: Run) -> None:
    path = scored(run)
    whole = "".join(line.rpartition(",")[0] + "\n" for line in path.read_text().splitlines())  # without the seal
    header, first, *rest = whole.splitlines(keepends=True)
    step, layer, head, _, *others = first.split(",")
    for text, message in [
        (header + ",".join([step, layer, head, "much", *others]) + "".join(rest), "damaged: could not convert"),
        (header + "".join(rest), "one row for each of 3 steps"),
        (header + first + first + "".join(rest[1:]), "one row for each of"),
        (whole.replace("\n5,0,", "\n5,-1,"), "one row for each of"),
        (header, "one set of settings, and have no rows"),
        (whole.replace(",0.01,8,", ",0.5,8,", 1), "one set of settings, and have tau 0.01"),
    ]:
        path.write_text(text)
        with pytest.raises(WhatwhereError, match=message):
            read_history(path)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(WhatwhereError, match="number of inputs must be 1 or more"):
        Settings(inputs=0)
    with pytest.raises(WhatwhereError, match="tau must be"):
        Settings(tau=-1.0)


def test_a_table_that_names_a_billionth_head_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(",".join(COLUMNS) + "\n0,99999999999999,0,1,1,1,0.01,8,0,keys,1,0,0\n")
    with pytest.raises(WhatwhereError, match="would take about"):
        read_history(path)
