from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import make_task


@pytest.fixture
def model(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    task = make_task(getattr(request, "param", "number"))
    made = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    made.task = task
    path = tmp_path / "small.safetensors"
    save_model(path, made)
    return path


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["geometry", *words, "--inputs", "16"], env={"COLUMNS": "80"})


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the figures, which take most of the time."""
    monkeypatch.setattr("whatwhere.studies.geometry.figures.draw_geometry", lambda directory: [directory])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["number", "letter"], indirect=True)
def test_tables_and_figures_are_written_and_the_summary_fits_80_columns(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = command(str(model), "--out", str(out))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines[1:])) <= 80  # the first names a directory, and may be long
    assert "…" not in result.stdout
    assert "dominant plane" in result.stdout
    assert "fast closed (1-2)" in result.stdout
    there = {path.name for path in (out / "geometry").iterdir()}
    assert {"table.csv", "frequency.csv", "gating.csv", "vectors.csv", "settings.json"} <= there
    assert {f"{name}.png" for name in ("frequency-use", "figure-4-geometry", "frequency-gating")} <= there


@pytest.mark.usefixtures("undrawn")
def test_json_holds_every_table_with_counts(model: Path, tmp_path: Path) -> None:
    result = command(str(model), "--out", str(tmp_path / "out"), "--json", "--seed", "2")
    found = json.loads(result.stdout)
    assert found["settings"]["seed"] == 2
    assert [row["layer"] for row in found["table"] if row["measure"] == "variance"] == [0, 1]
    assert all(row["inputs"] == 16 for table in ("table", "keys", "queries") for row in found[table])


@pytest.mark.usefixtures("undrawn")
def test_results_of_another_seed_are_not_overwritten(model: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"))
    assert command(str(model), *out).exit_code == 0
    with pytest.raises(WhatwhereError, match=r"seed 0, and 1 was asked for\. Replace them with --force"):
        raise command(str(model), *out, "--seed", "1").exception or AssertionError
    assert command(str(model), *out, "--seed", "1", "--force").exit_code == 0


@pytest.mark.usefixtures("undrawn")
def test_results_go_to_the_current_directory_by_default(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(str(model), "--json").exit_code == 0
    assert (tmp_path / "analysis-small" / "geometry" / "table.csv").is_file()
