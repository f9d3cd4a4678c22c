"""What the page of a directory holds, read from the file itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from page_results import begin_run, write_dynamics, write_heads, write_length, write_results
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.heads.display import POSITIONAL, SYMBOLIC
from whatwhere.page import build, write_page
from whatwhere.page.contents import collect
from whatwhere.page.writing import read
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES, study_named


def embedded(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    return json.loads(found[1])


def test_the_page_has_the_colours_of_the_figures() -> None:
    style = read("assets/common/common.css")
    assert f"--positional: light-dark({POSITIONAL}, " in style
    assert f"--symbolic: light-dark({SYMBOLIC}, " in style


def test_tables_travel_with_every_digit_and_undefined_as_null(tmp_path: Path) -> None:
    write_dynamics(tmp_path / "number", "number", layers=3)
    shown = embedded(write_page(tmp_path))["results"]["number"]["dynamics"]["tables"]["scores"]
    table = pd.read_csv(tmp_path / "number" / "dynamics" / "scores.csv")
    assert list(shown) == list(table.columns)
    for name, column in table.items():
        assert shown[str(name)] == [None if cell != cell else cell for cell in column.tolist()]
    assert shown["positional"][2] is None


def test_just_the_tables_that_a_part_reads_travel(tmp_path: Path) -> None:
    write_length(tmp_path, "letter")
    tables = embedded(write_page(tmp_path / "length"))["results"]["letter"]["length"]["tables"]
    assert set(tables) == {"accuracy", "chain", "breaks"}


@pytest.mark.parametrize("name", [name for name in STUDIES if study_named(name).page])
def test_each_part_reads_the_tables_that_its_study_names(name: str) -> None:
    study = study_named(name)
    assert study.page
    script = read(*reversed(study.page.split(":")))
    for table in study.page_tables:
        assert f'"{table}"' in script


@pytest.mark.slow
def test_the_page_is_one_file_below_five_megabytes(reproduction: Path) -> None:
    text = reproduction.read_text(encoding="utf-8")
    assert reproduction.stat().st_size < 5e6
    assert not re.search(r"""<(script|link|img|iframe)[^>]*(src|href)=""", text)
    assert "default-src 'none'" in text
    assert "unsafe" not in text.split("</head>")[0]


def test_a_single_run_is_shown_with_its_settings(tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin_run(run, "letter")
    write_dynamics(run, "letter", layers=2)
    data = embedded(write_page(run))
    assert data["kind"] == "run"
    assert list(data["models"]) == ["letter"]
    assert data["models"]["letter"]["run"]["training"]["preset"] == "smoke"
    assert data["models"]["letter"]["seeds"] == [0]
    commands = {part["part"]: part["command"] for part in data["missing"]}
    assert commands["letter: length"] == f"whatwhere length {run}"
    assert "letter: dynamics" not in commands
    assert "claims" not in commands


def test_missing_parts_name_their_commands(tmp_path: Path) -> None:
    number = tmp_path / "number"
    inputs = begin_run(number, "number")
    write_results("geometry", number, inputs, {}, ended=False)
    commands = {part["part"]: part["command"] for part in collect(tmp_path)[0]["missing"]}
    assert commands["number: geometry (not ended)"] == f"whatwhere geometry {number}"
    assert commands["number: mechanism"] == f"whatwhere mechanism {number}"
    assert commands["theorems"] == f"whatwhere theorems --out {tmp_path}"
    assert commands["claims"] == f"whatwhere reproduce --out {tmp_path}"
    assert not any("chat" in part for part in commands)


def test_the_seeds_of_a_reproduction_are_told(tmp_path: Path) -> None:
    for place in ("number", "seeds/7/number"):
        begin_run(tmp_path / place, "number")
    write_dynamics(tmp_path / "number", "number", layers=2)
    data, _ = collect(tmp_path)
    assert data["kind"] == "reproduction"
    assert len(data["models"]["number"]["seeds"]) == 2


def test_results_of_one_study_are_a_page_with_its_question(tmp_path: Path) -> None:
    write_heads(tmp_path / "analysis-small")
    data, parts = collect(tmp_path / "analysis-small" / "heads")
    assert data["name"] == "heads small"
    assert data["heading"] == study_named("heads").question
    assert data["missing"] == []
    assert parts == ["whatwhere.studies.language_models:part.js"]


def test_the_folder_of_several_studies_is_a_page_of_all(tmp_path: Path) -> None:
    write_heads(tmp_path)
    write_length(tmp_path, "letter")
    data, parts = collect(tmp_path)
    assert {*data["results"]["letter"]} == {"heads", "length"}
    assert len(parts) == 2


@pytest.mark.slow
def test_a_command_leaves_the_page_of_its_study(tmp_path: Path) -> None:
    arguments = ["length", "letter", "--inputs", "16", "--lengths", "18", "--varied-lengths", "18"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    page = tmp_path / "length" / "report.html"
    assert "The page: " in result.stderr
    assert embedded(page)["kind"] == "study"


def test_a_page_can_be_built_from_any_data() -> None:
    page = build("a <b> title", ["sweep"], {"heading": "h", "rows": [], "varied": [], "outcomes": []})
    assert "<title>a &lt;b&gt; title</title>" in page


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=r"without results\. Make them with: whatwhere reproduce"):
        write_page(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    write_dynamics(tmp_path / "number", "number", layers=2)
    scores = tmp_path / "number" / "dynamics" / "scores.csv"
    scores.write_text(scores.read_text().replace("\n0,0,0,", "\n0,zero,0,", 1))
    with pytest.raises(WhatwhereError, match="scores"):
        write_page(tmp_path)


@pytest.mark.parametrize("content", ['{"claims": 1}', '{"claims": ["x"]}', "{}"])
def test_claims_of_another_form_are_refused(tmp_path: Path, content: str) -> None:
    write_dynamics(tmp_path / "number", "number", layers=2)
    (tmp_path / "claims.json").write_text(content)
    with pytest.raises(WhatwhereError, match="expected a list 'claims' of objects"):
        write_page(tmp_path)


def test_times_that_are_no_table_or_were_edited_are_refused_and_those_of_nobody_are_not_shown(tmp_path: Path) -> None:
    write_dynamics(tmp_path / "number", "number", layers=2)
    (tmp_path / "timing.csv").write_text("job,seconds\ntrain,1\n")
    assert collect(tmp_path)[0]["timing"] is None
    manifest = Manifest(tmp_path)
    manifest.begin("reproduction", {}, {})
    manifest.put("timing.csv", b"job,seconds\ntrain,1\n")
    manifest.finish(0.0)
    assert collect(tmp_path)[0]["timing"] == {"job": ["train"], "seconds": [1]}
    (tmp_path / "timing.csv").write_text("job,seconds\ntrain,2\n")
    with pytest.raises(WhatwhereError, match=r"timing.csv is not the file that manifest.json describes"):
        write_page(tmp_path)
    manifest.put("timing.csv", b"")
    with pytest.raises(WhatwhereError, match=r"timing.csv is damaged: .* Remove it"):
        write_page(tmp_path)


def test_claims_beside_results_that_are_no_reproduction_are_not_shown(tmp_path: Path) -> None:
    write_dynamics(tmp_path, "number", layers=2)
    (tmp_path / "claims.json").write_text('{"claims": [{"id": "made up"}]}')
    assert collect(tmp_path)[0]["claims"] is None
