import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.results import Results, analysis_directory, fingerprint, task_of


@dataclass(frozen=True)
class Row:
    layer: int
    share: float
    label: str
    held: bool


ROWS = [Row(0, 0.25, "a, b", True), Row(1, math.nan, "", False)]


def test_rows_come_back_with_their_types(tmp_path: Path):
    results = Results(tmp_path)
    results.write("table", ROWS)
    first, second = results.read("table", Row)
    assert first == ROWS[0]
    assert (second.layer, second.label, second.held) == (1, "", False)
    assert math.isnan(second.share)


@pytest.mark.parametrize("line", ["x,0.5,a,True", "1,y,a,True", "1,0.5,a,perhaps"])
def test_a_damaged_table_is_refused(tmp_path: Path, line: str):
    results = Results(tmp_path)
    (tmp_path / "table.csv").write_text(f"layer,share,label,held\n{line}\n")
    with pytest.raises(WhatwhereError, match=r"is damaged.*Remove it and measure anew"):
        results.read("table", Row)


def test_what_is_no_file_is_no_table(tmp_path: Path):
    (tmp_path / "table.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(WhatwhereError, match=r"should be a table, and is no file\. Remove it"):
        Results(tmp_path).has("table")


def test_a_table_of_other_results_is_not_taken_for_ones_own(tmp_path: Path):
    for name, inputs in (("mine", 10), ("theirs", 20)):
        results = Results(tmp_path / name)
        results.begin({"inputs": inputs})
        results.write("table", ROWS)
    mine = Results(tmp_path / "mine")
    (tmp_path / "mine" / "table.csv").rename(tmp_path / "mine" / "another.csv")
    with pytest.raises(WhatwhereError, match="belongs to another run or to other settings"):
        mine.read("another", Row)
    (tmp_path / "theirs" / "table.csv").rename(tmp_path / "mine" / "table.csv")
    with pytest.raises(WhatwhereError, match="belongs to another run or to other settings"):
        mine.read("table", Row)


def test_results_survive_moving_and_end_when_their_place_is_removed(tmp_path: Path):
    results = Results(tmp_path / "here")
    results.begin({"inputs": 10})
    results.write("table", ROWS)
    (tmp_path / "here").rename(tmp_path / "there")
    Results(tmp_path / "there").begin({"inputs": 10})
    assert len(Results(tmp_path / "there").read("table", Row)) == 2
    with pytest.raises(WhatwhereError, match="the settings of the results was expected at"):
        results.write("table", ROWS)
    assert not (tmp_path / "here").exists()


def test_results_made_with_other_settings_are_kept_apart(tmp_path: Path):
    results = Results(tmp_path)
    results.begin({"inputs": 10})
    results.write("table", ROWS)
    results.begin({"inputs": 10})
    assert results.has("table")
    with pytest.raises(WhatwhereError, match=r"made with inputs 10, and 20 was asked for\. Replace them with --force"):
        results.begin({"inputs": 20})
    results.begin({"inputs": 20}, force=True)
    assert not results.has("table")
    assert results.settings() == {"inputs": 20}


def test_analyses_go_to_the_run_or_beside_it(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}")
    assert analysis_directory(str(tmp_path), None) == tmp_path
    assert analysis_directory("number", None) == Path("analysis-number")
    assert analysis_directory("number", tmp_path / "x") == tmp_path / "x"


def test_a_model_without_a_task_is_refused():
    with pytest.raises(WhatwhereError, match="does not say its task"):
        task_of(GPTJ(ModelConfig(20, layers=1, d_model=8, d_mlp=8)), "it")


def test_a_fingerprint_tells_weights_apart():
    config = ModelConfig(20, layers=1, d_model=8, d_mlp=8)
    assert fingerprint(GPTJ(config, seed=1)) == fingerprint(GPTJ(config, seed=1)) != fingerprint(GPTJ(config, seed=2))
