from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.studies.length.summary import outcomes
from whatwhere.studies.measuring import draw

BROKEN = {17: 1.0, 65: 0.3}


@pytest.mark.parametrize("working", [True, False])
@pytest.mark.slow
def test_figures_of_one_model_are_drawn_with_their_data(made_up, working: bool, tmp_path: Path) -> None:
    results = made_up("number", BROKEN, working=working, variation="no rotation" if working else "")
    written = draw({"number": results}, tmp_path)
    assert {path.name for path in written} == {
        "length-accuracy.pdf", "length-accuracy.png", "length-accuracy-accuracy.csv", "length-accuracy-chain.csv",
        "length-margins.pdf", "length-margins.png", "length-margins-hops.csv", "length-margins-breaks.csv",
    }  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in written if path.suffix != ".csv")


@pytest.mark.slow
def test_models_of_both_tasks_and_several_of_one_are_compared_in_one_figure(made_up, tmp_path: Path) -> None:
    number, letter = made_up("number", BROKEN), made_up("letter", {17: 1.0, 850: 0.95})
    for results in ({"number": number, "letter": letter}, {"runs/a": number, "runs/b": number}):
        written = draw(results, tmp_path, kind="models")
        assert [path.name for path in written] == [f"figure-5b-length.{suffix}" for suffix in ("pdf", "png", "csv")]
        assert written[2].read_text().startswith("result,variation,length,hop,accuracy,")


def test_the_summary_tells_accuracy_breaks_and_variations_within_100_columns(made_up) -> None:
    text = made_up("number", BROKEN, variation="no rotation").summary
    assert text.startswith("Accuracy against length: number\n")
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert "layer 0.0, 1 to go, jump 1" in text
    assert "no rotation" in text
    assert [line.split()[1:3] for line in text.splitlines() if line.startswith("accuracy")] == [["21", "44"]]


def test_what_stays_above_is_shown_as_beyond_the_longest(made_up) -> None:
    text = made_up("letter", {17: 1.0, 850: 0.95}, working=False).summary
    assert [line.split() for line in text.splitlines() if line.startswith("accuracy")] == [
        ["accuracy", ">850", ">850", ">850"]
    ]
    assert "change at inference" not in text


def test_a_name_with_brackets_is_shown_as_it_is(made_up) -> None:
    results = made_up("letter", BROKEN)
    results.name = "runs/[bold]"
    assert "runs/[bold]" in results.summary


def test_a_sweep_shows_where_half_of_the_answers_are_wrong(made_up) -> None:
    found = outcomes(made_up("number", BROKEN))
    assert found == {"half_length": pytest.approx(44.4, abs=0.1), "longest_accuracy": pytest.approx(0.3)}
