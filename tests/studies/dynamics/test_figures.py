"""The figures and the summary, from made-up tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dynamics_world import STEPS, World, made_up

from whatwhere.studies.dynamics.figures import by_title, draw_figure_2, draw_readings, draw_seeds, shown_layers
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.summary import outcomes
from whatwhere.studies.measuring import draw
from whatwhere.studies.style import style

MODELS = ["figure-2-dynamics", "all-layers", "gammas"]


@pytest.mark.slow
def test_every_figure_has_its_data_beside_it(world: World, tmp_path: Path) -> None:
    files = draw(world.dynamics, tmp_path, kind="models")
    assert [file.stem for file in files if file.suffix == ".png"] == MODELS
    assert all(file.stat().st_size > 100 for file in files)
    scores = pd.read_csv(tmp_path / "figure-2-dynamics-scores.csv")
    assert set(scores["result"]) == {"number", "letter", "letter-control"}
    assert len(scores) == 3 * len(STEPS) * 12
    purity = pd.read_csv(tmp_path / "gammas-purity.csv")
    assert set(purity["gamma"]) == {0.1, 0.05}
    files = draw({"number": world.dynamics["number"]}, tmp_path)
    assert [file.name for file in files][:2] == ["purity-by-reading.pdf", "purity-by-reading.png"]
    first = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in draw({"number": world.dynamics["number"]}, tmp_path)] == first


def test_a_figure_has_a_column_for_each_kind_of_training() -> None:
    control = made_up("letter", (300, 400, 500, 600))
    control._inputs = {"task": {"name": "letter", "generator": "decoy"}}
    runs = {"number": made_up("number", (400,) * 4, layers=2), "letter-control": control}
    assert list(by_title(runs)) == ["Number task", "Letter task (leak-free data)"]
    with style():
        figure = draw_figure_2(runs)
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_visible()]
    assert "A. Number task: accuracy" in titles
    assert "Letter task (leak-free data): accuracy" in titles
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel().startswith("layer")] == [
        "layer 1", "layer 1", "layer 5", "layer 11",
    ]  # fmt: skip


def test_the_staircase_names_the_layers_that_joined() -> None:
    run = made_up("number", (300, 400, 500, 600))
    with style():
        counts = draw_readings({"number": run}).axes[0]
        texts = [text.get_text() for axes in draw_seeds({"number": run}).axes for text in axes.texts]
    lines = {str(line.get_label()): line for line in counts.get_lines()}
    assert np.asarray(lines["positional"].get_xdata()).tolist() == [0, 300, 400, 500, 600, 1000]
    assert np.asarray(lines["positional"].get_ydata()).tolist() == [0, 1, 2, 3, 4, 4]
    assert {"0", "1", "2", "3", "4, 5, 6, 7, 8, 9, 10, 11", "all 12"} <= set(texts)


def test_several_heads_of_a_layer_are_named_apart_and_small_models_show_their_first_layer() -> None:
    run = made_up("letter", (400,) * 4, layers=1, heads=2)
    assert shown_layers(Training(run)) == [0]
    with style():
        texts = [text.get_text() for axes in draw_seeds({"letter": run}).axes for text in axes.texts]
    assert "0.0, 0.1" in texts


def test_seeds_stand_below_each_other() -> None:
    runs = {f"number-{seed}": made_up("number", (400,) * 4) for seed in (10, 11)} | {
        "letter": made_up("letter", (400,) * 4)
    }
    with style():
        figure = draw_seeds(runs)
    shown = [axes.get_ylabel() for axes in figure.axes if axes.get_visible() and axes.get_ylabel()]
    assert shown == ["number-10", "letter", "number-11"]


def test_the_moment_of_maximal_accuracy_is_the_first_within_half_a_percent() -> None:
    assert Training(made_up("number", (300, 400, 500, 600))).best == 600


def test_purity_tells_first_and_lasting_hits_apart() -> None:
    def score(_: int, step: int) -> tuple[float, float]:
        return (0.98, 0.02) if step in (100, 300) or step > 600 else (0.5, 0.6)

    run = Training(made_up("number", (400,) * 4, score, layers=1))
    (positional, symbolic) = run.pure(0.1)
    assert (positional.kind, positional.first, positional.for_good) == ("positional", 100, 700)
    assert (symbolic.kind, symbolic.first, symbolic.for_good) == ("symbolic", None, None)


def test_the_summary_says_what_was_learned_when_and_which_heads_are_pure() -> None:
    text = made_up("number", (300, 400, 500, 600)).summary
    assert text.startswith("Dynamics of number: 11 checkpoints, steps 0 to 1,000, 1,200 inputs, tau 0.0001.\n")
    assert "Accuracy ends at 0.990 0.990 0.990 0.990 (1/2/3/4 hops); it is maximal from step 600 on." in text
    assert "reaches 0.9: 1: 289, 2: 389, 3: 489, 4: 589." in text
    assert "0 (300), 1 (400), 2 (500), 3 (600)" in text
    assert "queries: path" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "4: never" in made_up("number", (300, 400, 500, 10**9)).summary
    never = made_up("number", (10**9,) * 4).summary
    assert "over checkpoints: undefined (one never changes)." in never, never


def test_a_sweep_shows_accuracy_and_pure_heads() -> None:
    assert outcomes(made_up("number", (300, 400, 500, 600))) == pytest.approx(
        {
            "worst_accuracy": 0.99, "best_step": 600, "mean_positional": (4 * 0.98 + 8 * 0.04) / 12,
            "mean_symbolic": (4 * 0.04 + 8 * 0.98) / 12, "pure_positional": 4, "pure_symbolic": 8,
        }
    )  # fmt: skip
