"""Figure 1, Figure 5 and the tables of the paper, from results written by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_csv, write_json
from whatwhere.studies.dynamics.summary_tables import draw_angles, draw_chat_models, draw_compute, draw_table
from whatwhere.studies.geometry.measure import FrequencyRow
from whatwhere.studies.length.generalisation import draw_generalisation
from whatwhere.studies.length.measure import LengthAccuracy
from whatwhere.studies.mechanism.example_figures import draw_examples, example_rows
from whatwhere.studies.mechanism.flow import Flow, Look
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.theory.curves import write_discrepancy
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run

LOOK = Look(0, 0, 0, 1.0, 0, "a", 1.0, "index")
FLOW = Flow("number", ("a", "b", "1", "2", "1"), 2, (4, 3, 1), "b", "b", (LOOK,), (LOOK,))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return [{key: cell for key, cell in row.items() if key != "seal"} for row in csv.DictReader(opened)]


def drawn(files: list[Path], name: str) -> bool:
    return [file.name for file in files] == [f"{name}.pdf", f"{name}.png"] and all(f.stat().st_size for f in files)


def test_every_token_of_figure_1_has_its_window_and_its_place_on_the_path(tmp_path: Path) -> None:
    assert [row[1:] for row in example_rows(FLOW)] == [
        (0, "a", "target", ""), (1, "b", "target", 2), (2, "1", "pre-target", ""), (3, "2", "pre-target", 1),
        (4, "1", "query", 0),
    ]  # fmt: skip
    FLOW.save(tmp_path / "flow.json")
    assert drawn(draw_examples([tmp_path / "flow.json"], tmp_path), "figure-1-tasks")
    assert [row["hop"] for row in table(tmp_path / "figure-1-tasks.csv")] == ["", "2", "", "1", "0"]


def test_the_table_of_angles_has_ours_beside_the_papers(tmp_path: Path) -> None:
    rows = [
        FrequencyRow(measure, layer, 0, 2.4, 2.0, 2.8, 0.866, 1, 0.5, 0.4, 0.6, paper, 512, 0)
        for measure in ("norm", "variance")
        for layer, paper in ((0, 1), (1, 2), (2, 0))
    ]
    Results(tmp_path / "geometry").write("table", rows)
    assert drawn(draw_angles({"number": tmp_path / "geometry"}, tmp_path), "table-angles")
    written = table(tmp_path / "table-angles.csv")
    assert [row["number_paper_id"] for row in written] == ["1", "2", ""]
    assert [row["number_paper_frequency"][:6] for row in written] == ["1", "0.8659", ""]
    assert {row["number_id"] for row in written} == {"2.4"}


def test_the_compute_table_reads_runs_and_stages(tmp_path: Path) -> None:
    run = Run(tmp_path / "number")
    run.create(smoke(make_task("number")))
    run.write_metrics([{"step": 1.0, "loss": 1.0, "seconds": 61.0, "accuracy": 0.5}])
    write_json(tmp_path / "stages" / "score-number.json", {"stage": "score-number", "seconds": 3.5})
    assert drawn(draw_compute(tmp_path, tmp_path), "table-compute")
    rows = {row["what"]: row for row in table(tmp_path / "table-compute.csv")}
    assert (rows["training, number"]["ours"], rows["training, number"]["paper"]) == ("61", "1710")
    assert (rows["metrics, number"]["ours"], rows["metrics, number"]["paper"]) == ("3.5", "30600")
    assert rows["training, letter"]["ours"] == rows["training, both"]["ours"] == ""
    assert rows["stored"]["paper"] == "2e+12"


def test_without_measurements_the_table_of_chat_models_is_the_papers(tmp_path: Path) -> None:
    assert drawn(draw_chat_models(tmp_path, tmp_path), "table-llm")
    rows = table(tmp_path / "table-llm.csv")
    assert len(rows) == 60
    assert {row["source"] for row in rows} == {"quoted"}
    (cell,) = [row for row in rows if (row["model"], row["task"], row["size"]) == ("GPT 5.5", "letter", "100")]
    assert (cell["mean"], cell["sd"]) == ("0.66", "0.04")


def test_names_from_data_are_no_formulas(tmp_path: Path) -> None:
    assert drawn(draw_table(tmp_path / "t", "title", ["", "$\\frac$"], [["a", "$x_$"]]), "t")


@pytest.mark.slow
def test_figure_5_has_a_table_for_each_panel_and_shows_what_was_measured(tmp_path: Path) -> None:
    write_discrepancy(tmp_path / "theory")
    lengths = {}
    for task in ("number", "letter"):
        lengths[task] = tmp_path / task / "length"
        rows = [LengthAccuracy(name, 17, hop, 0.9, 0.8, 1.0, 100) for name in ("as trained", "x") for hop in (0, 1)]
        Results(lengths[task]).write("accuracy", rows)
    columns = ("model", "task", "size", "samples", "mean", "sd", "source")
    cells = [("a$b", f"one_hop_{task}", size, 9, 0.5, "", "measured") for task in lengths for size in (12, 16)]
    write_csv(tmp_path / "llm" / "table.csv", columns, cells)
    assert drawn(draw_generalisation(tmp_path, lengths, tmp_path), "figure-5-generalisation")
    assert [(row["task"], row["accuracy"]) for row in table(tmp_path / "figure-5b-lengths.csv")] == [
        ("number", "0.9"), ("letter", "0.9"),
    ]  # fmt: skip
    assert [row["n"] for row in table(tmp_path / "figure-5a-bounds.csv")][-1] == "100"
    assert {(row["model"], row["source"]) for row in table(tmp_path / "figure-5cd-llm.csv")} == {("a$b", "measured")}
    write_csv(tmp_path / "llm" / "table.csv", columns, [("reference/guess", "one_hop_number", 12, 9, 0, 0, "measured")])
    draw_generalisation(tmp_path, lengths, tmp_path)  # a solver is no chat model, so the paper's stand there
    assert len(table(tmp_path / "figure-5cd-llm.csv")) == 60


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=r"figure-5a-discrepancy\.csv"):
        draw_generalisation(tmp_path, {}, tmp_path)
