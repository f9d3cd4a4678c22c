from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.measuring import draw, study
from whatwhere.studies.results import Results


@pytest.mark.slow
def test_figures_are_drawn_from_tables_alone_and_are_the_same_each_time(found: Results, tmp_path: Path) -> None:
    files = draw({"coin": found}, tmp_path / "a")
    assert {path.name for path in files if path.suffix == ".png"} == {
        "copying.png", "figure-3-flow.png", "mechanism.png", "needed-heads.png",
    }  # fmt: skip
    assert {"figure-3-flow-flow.csv", "needed-heads-groups.csv", "mechanism-roles.csv"} <= {path.name for path in files}
    for one, other in zip(files, draw({"coin": found}, tmp_path / "b"), strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_figure_1_shows_the_input_of_each_model(found: Results, guesser: GPTJ, tmp_path: Path) -> None:
    other = study("mechanism", guesser, inputs=40, examples=0, input="b a 2")
    files = draw({"coin": found, "own": other}, tmp_path, kind="models")
    assert [path.name for path in files] == [f"figure-1-tasks.{ending}" for ending in ("pdf", "png", "csv")]
    lines = files[-1].read_text().splitlines()
    assert lines[0] == "result,example,hops,tokens,path,target,answer,predicted"
    assert any(line.startswith("own,0,1,b a 2,2 0,2,b,") for line in lines)
