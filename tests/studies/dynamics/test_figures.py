"""Figure 2 from runs whose numbers were written by hand."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_csv
from whatwhere.studies.dynamics.data import purity_rows, read_dynamics
from whatwhere.studies.dynamics.figures import draw_dynamics, draw_seeds, shown_layers
from whatwhere.studies.dynamics.history import COLUMNS
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.work.reproduction import draw_everything

STEPS = (0, 10, 20, 30)
ACCURACY = (0.1, 0.5, 0.996, 1.0)
NAMES = ("figure-2-dynamics", "all-layers", "gammas")


def history_row(step: int, layer: int, head: int, positional: float, symbolic: float, entropy: float) -> list[object]:
    return [step, layer, head, positional, symbolic, entropy, 0.01, 8, 0, "layer", entropy / 2, 0.0, 0]


def make_run(directory: Path, task: str = "number", layers: int = 2, heads: int = 1, seed: int = 0) -> Path:
    """Layer 0 turns positional at step 10, lapses, and stays so from step 30; the others symbolic from step 20."""
    run = Run(directory)
    run.create(replace(smoke(make_task(task)), seed=seed))
    metrics = [
        {"step": float(step), "loss": 1.0, "accuracy": mean, "accuracy_hop1": mean, "accuracy_hop2": mean}
        for step, mean in zip(STEPS, ACCURACY, strict=True)
    ]
    run.write_metrics(metrics)
    rows = []
    for step in STEPS:
        for layer in range(layers):
            for head in range(heads):
                positional = (0.95, 0.02) if step in (10, 30) else (0.8, 0.5)
                symbolic = (0.08, 0.99) if step >= 20 else (1.0, 1.0)
                rows.append(history_row(step, layer, head, *(symbolic if layer else positional), 2.0 - step / 20))
    write_csv(run.scores_path, COLUMNS, rows)
    return directory


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.slow
def test_every_figure_has_its_data_beside_it(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "number"), make_run(tmp_path / "letter", "letter", layers=12)]
    files = draw_dynamics(runs, tmp_path / "figures")
    assert [file.name for file in files] == [f"{name}.{kind}" for name in NAMES for kind in ("pdf", "png")]
    accuracy = table(tmp_path / "figures" / "figure-2a-accuracy.csv")
    assert [float(row["accuracy"]) for row in accuracy if (row["task"], row["hops"]) == ("number", "0")] == [*ACCURACY]
    assert {(row["task"], row["layer"]) for row in table(tmp_path / "figures" / "figure-2b-scores.csv")} == {
        ("number", "1"), ("letter", "1"), ("letter", "5"), ("letter", "11"),
    }  # fmt: skip
    layers = table(tmp_path / "figures" / "all-layers.csv")
    assert len(layers) == len(STEPS) * (2 + 12)
    assert [row["entropy_scaled"] for row in layers if (row["task"], row["layer"]) == ("number", "0")] == [
        "1", "0.6666666667", "0.3333333333", "0",
    ]  # fmt: skip
    assert {row["gamma"] for row in table(tmp_path / "figures" / "gammas.csv")} == {"0.1", "0.05"}
    assert {row["gamma"] for row in table(tmp_path / "figures" / "figure-2c-purity.csv")} == {"0.1"}


def test_purity_tells_first_and_lasting_hits_apart(tmp_path: Path) -> None:
    run = read_dynamics(make_run(tmp_path / "run", layers=3))
    rows = {(kind, layer): rest for _, _, kind, layer, _, *rest in purity_rows(run, 0.1)}
    assert rows["positional", 0] == [10, 30, 1]
    assert rows["symbolic", 1] == rows["symbolic", 2] == [20, 20, 2]
    assert str(rows["symbolic", 0]) == "[nan, nan, nan]"
    assert run.purity(0.05).joined("symbolic") == []


def test_the_moment_of_maximal_accuracy_is_the_first_within_half_a_percent(tmp_path: Path) -> None:
    assert read_dynamics(make_run(tmp_path / "run")).best == 20


@pytest.mark.slow
def test_one_run_with_several_heads_is_drawn_the_same_each_time(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", layers=1, heads=2)
    assert shown_layers(read_dynamics(run)) == [0]
    first = [file.read_bytes() for file in draw_dynamics([run], tmp_path / "figures")]
    assert [file.read_bytes() for file in draw_dynamics([run], tmp_path / "figures")] == first


def test_what_cannot_be_drawn_is_explained(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match="is not one"):
        draw_dynamics([tmp_path], tmp_path / "figures")
    run = make_run(tmp_path / "run")
    write_csv(run / "metrics.csv", ["step", "loss", "accuracy"], [])
    with pytest.raises(WhatwhereError, match="holds no evaluation yet"):
        draw_dynamics([run], tmp_path / "figures")
    (run / "scores.csv").unlink()
    with pytest.raises(WhatwhereError, match=r"there are none yet.*whatwhere score"):
        draw_dynamics([run], tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_undefined_accuracy_leaves_the_mark_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    Run(run).write_metrics([{"step": 0.0, "loss": 1.0, "accuracy": math.nan, "accuracy_hop1": math.nan}])
    assert math.isnan(read_dynamics(run).best)
    assert draw_dynamics([run], tmp_path / "figures")


@pytest.mark.slow
def test_seeds_are_drawn_together_where_a_task_has_several(tmp_path: Path) -> None:
    runs = {
        "number": {seed: make_run(tmp_path / str(seed) / "number") for seed in (0, 3)},
        "letter": {0: make_run(tmp_path / "0" / "letter", "letter")},
    }
    files = draw_seeds(runs, tmp_path / "figures")
    assert [file.name for file in files] == ["seeds.pdf", "seeds.png"]
    accuracy, purity = (table(tmp_path / "figures" / f"seeds-{name}.csv") for name in ("accuracy", "purity"))
    assert {(row["seed"], row["task"]) for row in accuracy} == {("0", "number"), ("3", "number"), ("0", "letter")}
    assert len(accuracy) == 3 * 3 * len(STEPS)
    since = {
        (row["seed"], row["layer"], row["kind"]): row["pure_for_good"] for row in purity if row["task"] == "number"
    }
    assert (since["3", "0", "positional"], since["3", "1", "symbolic"], since["3", "1", "positional"]) == (
        "30",
        "20",
        "",
    )


@pytest.mark.slow
def test_a_reproduction_shows_its_seeds_if_there_are_several(tmp_path: Path) -> None:
    make_run(tmp_path / "number")
    assert "seeds" not in {file.stem for file in draw_everything(tmp_path).figures}
    make_run(tmp_path / "seeds" / "1" / "number", seed=1)
    assert "seeds" in {file.stem for file in draw_everything(tmp_path).figures}
    unscored = Run(tmp_path / "seeds" / "2" / "number")
    unscored.create(replace(smoke(make_task("number")), seed=2))
    Run(tmp_path / "letter").create(smoke(make_task("letter")))  # a task that nobody scored yet
    draw_everything(tmp_path)
    assert {row["seed"] for row in table(tmp_path / "figures" / "seeds-accuracy.csv")} == {"0", "1"}
