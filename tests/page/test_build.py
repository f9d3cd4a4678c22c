from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.page import write_page
from whatwhere.page.data import TABLES, collect
from whatwhere.store.storage import read_csv
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.zoo.load import SHIPPED_AT


def history(directory: Path, task: str = "number") -> Path:
    """A directory with the learning curves and scores of a shipped model."""
    directory.mkdir(parents=True, exist_ok=True)
    for table in ("metrics.csv", "scores.csv"):
        shutil.copyfile(SHIPPED_AT / task / table, directory / table)
    return directory


def embedded(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    return json.loads(found[1])


def test_tables_travel_with_every_digit(tmp_path: Path) -> None:
    history(tmp_path / "number")
    shown = embedded(write_page(tmp_path))["tasks"]["number"]["scores"]
    rows = read_csv(tmp_path / "number" / "scores.csv", "scores", ["step"])
    for name in TABLES["scores"].columns:
        assert shown[name] == [float(row[name]) if row[name] else None for row in rows]


def test_the_page_is_one_file_below_five_megabytes(small: Path) -> None:
    text = small.read_text(encoding="utf-8")
    assert small.stat().st_size < 5e6
    assert not re.search(r"""<(script|link|img|iframe)[^>]*(src|href)=""", text)
    assert "default-src 'none'" in text
    assert "unsafe" not in text.split("</head>")[0]


def test_a_single_run_is_shown_with_its_settings(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.create(smoke(make_task("letter")))
    history(run.directory, "letter")
    data = embedded(write_page(run.directory))
    assert list(data["tasks"]) == ["letter"]
    assert data["tasks"]["letter"]["run"]["training"]["preset"] == "smoke"
    commands = {part["part"]: part["command"] for part in data["missing"]}
    assert commands["letter: length/accuracy.csv"] == f"whatwhere length {run.directory}"
    assert "claims" not in commands


def test_missing_parts_name_their_commands(tmp_path: Path) -> None:
    history(tmp_path / "number")
    (tmp_path / "number" / "metrics.csv").unlink()
    commands = {part["part"]: part["command"] for part in collect(tmp_path)["missing"]}
    run = tmp_path / "number"
    assert commands["number: metrics.csv"] == f"whatwhere train number --resume --out {run}"
    assert commands["number: geometry/frequency.csv"] == f"whatwhere geometry {run}"
    assert commands["number: examples/examples.json"] == f"whatwhere mechanism {run}"
    assert commands["claims"] == f"whatwhere reproduce --out {tmp_path}"


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=r"has no results to show\. Make them with: whatwhere reproduce"):
        write_page(tmp_path)
    assert list(tmp_path.iterdir()) == []


def change_by_hand(table: Path, pattern: str, by: str) -> None:
    """Changes one cell on purpose: without its seal a table is taken as it is."""
    unsealed = "\n".join(line.rpartition(",")[0] for line in table.read_text().splitlines())
    table.write_text(re.sub(pattern, by, unsealed + "\n", count=1))


def test_a_cell_that_is_no_number_is_refused(tmp_path: Path) -> None:
    scores = history(tmp_path / "number") / "scores.csv"
    change_by_hand(scores, r"\n0,0,0,", "\n0,zero,0,")
    with pytest.raises(WhatwhereError, match=r"column 'layer' of line 2, and 'zero' is none"):
        write_page(tmp_path)


@pytest.mark.parametrize("content", ['{"claims": 1}', '{"claims": ["x"]}', "{}"])
def test_claims_of_another_form_are_refused(tmp_path: Path, content: str) -> None:
    history(tmp_path / "number")
    (tmp_path / "claims.json").write_text(content)
    with pytest.raises(WhatwhereError, match="should hold a list 'claims' of objects"):
        write_page(tmp_path)


def test_an_undefined_score_is_null(tmp_path: Path) -> None:
    scores = history(tmp_path / "number") / "scores.csv"
    change_by_hand(scores, r"\n0,0,0,[^,]*,", "\n0,0,0,,")
    assert embedded(write_page(tmp_path))["tasks"]["number"]["scores"]["positional"][0] is None
