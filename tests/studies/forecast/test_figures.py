from __future__ import annotations

import math
from pathlib import Path

import pytest

from whatwhere.studies.forecast.summary import outcomes
from whatwhere.studies.measuring import draw

BREAKS = {"as-trained": 50.0, "logits-0.5": 40.0, "base-10": math.inf}


@pytest.mark.slow
def test_figures_of_one_result_and_of_several_are_drawn_with_their_data(made_up, tmp_path: Path) -> None:
    number, letter = made_up("number", BREAKS), made_up("letter", BREAKS, tuned=True)
    written = {path.name for path in draw({"number": number}, tmp_path)}
    assert {"forecast-calibration.png", "forecast-errors.pdf", "forecast-calibration-breaks.csv"} < written
    written = {path.name for path in draw({"number": number, "letter": letter}, tmp_path, kind="models")}
    assert {"forecast-models.png", "forecast-models-forecasts.csv"} < written


def test_the_summary_shows_what_was_said_beside_what_came_within_100_columns(made_up) -> None:
    text = made_up("number", BREAKS).summary
    assert text.startswith("Forecast and measured breaks: number\n")
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 100
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert lines["base-10"] == [">1000", ">1000", ">1000", ">1000->1000", ">1000", "40", "900"]
    assert lines["as-trained"] == ["50", "50", "50", "45-55", "50", "40", "900"]
    assert "Variants held out (below 0.9: 2 break, 1 do not; below 0.5: 2 break, 1 do not)" in text


def test_a_sweep_shows_the_first_variant(made_up) -> None:
    assert outcomes(made_up("number", BREAKS)) == {"predicted_half_length": 50.0, "half_length": 50.0}


def test_a_model_that_does_not_solve_its_task_has_figures_and_undefined_outcomes(made_up, tmp_path: Path) -> None:
    unsolved = made_up("number", {})
    assert {path.name for path in draw({"number": unsolved}, tmp_path)} >= {"forecast-errors.png"}
    assert all(map(math.isnan, outcomes(unsolved).values()))
