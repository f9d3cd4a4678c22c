"""The gallery of a reproduction: what is drawn from which results, and what is missing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_csv, write_json
from whatwhere.studies.figure_data import write_data
from whatwhere.studies.mechanism.flow import Flow, Look
from whatwhere.tasks import make_task
from whatwhere.theory import curves
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.work.reproduction import FOLDER, draw_everything, is_reproduction


def test_a_directory_without_results_has_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=r"has no results to draw.*whatwhere reproduce --out"):
        draw_everything(tmp_path)


@pytest.mark.slow
def test_from_the_theory_alone_its_figures_and_the_papers_tables_are_drawn(tmp_path: Path) -> None:
    write_json(tmp_path / "theory" / "theory.json", {"checks": []})
    curves.write_discrepancy(tmp_path / "theory")
    curves.write_geometry(tmp_path / "theory")
    margins = [(theta, n, 0.1, 0.2) for theta in (0.1, 1.0) for n in (3, 30)]
    columns = ("theta", "n", "index_smallest", "retrieval_smallest")
    write_csv(tmp_path / "theory" / curves.MARGINS, columns, margins)
    Run(tmp_path / "letter").create(smoke(make_task("letter")))
    gallery = draw_everything(tmp_path)
    drawn = {file.stem for file in gallery.figures}
    assert drawn == {"figure-5a-discrepancy", "figure-4a-geometry", "margin-map", "table-compute", "table-llm"}
    assert all(file.is_file() and file.with_suffix(".csv").is_file() for file in gallery.figures)
    assert [line.partition(":")[0] for line in gallery.missing] == [
        f"letter {part}" for part in ("scores", "mechanism", "geometry", "length")
    ]
    with (tmp_path / FOLDER / "index.csv").open(newline="") as opened:
        assert {row["figure"]: row["data_in"] for row in csv.DictReader(opened)} == {
            **dict.fromkeys(("figure-5a-discrepancy", "figure-4a-geometry", "margin-map"), "theory"),
            **dict.fromkeys(("table-compute", "table-llm"), FOLDER),
        }


def test_a_single_run_is_no_reproduction(tmp_path: Path) -> None:
    Run(tmp_path / "run").create(smoke(make_task("letter")))
    assert not is_reproduction(tmp_path / "run")
    assert is_reproduction(tmp_path)


def test_a_copied_figure_takes_its_tables_along(tmp_path: Path) -> None:
    source = tmp_path / "geometry"
    write_csv(source / "frequency.csv", ["plane"], [[1]])
    write_data("frequency-use", source, tmp_path / "frequency-use-number.png")
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["frequency-use-number.frequency.csv"]
    assert (tmp_path / "frequency-use-number.frequency.csv").read_text() == (source / "frequency.csv").read_text()


def test_the_flow_of_figure_3_becomes_a_table(tmp_path: Path) -> None:
    look = Look(0, 1, 0, 0.5, 0, "a", 0.9, "")
    Flow("number", ("a", "1"), 1, (1, 0), "a", "a", (look,), (look,)).save(tmp_path / "flow.json")
    write_data("figure-3-flow", tmp_path, tmp_path / "figure-3-flow-number.png")
    with (tmp_path / "figure-3-flow-number.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [(row["panel"], row["key"], row["weight"]) for row in rows] == [
        ("trained", "0", "0.5"),
        ("ideal", "0", "0.5"),
    ]
