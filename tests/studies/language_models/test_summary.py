"""What a person reads and sees of the heads: the summary, the command, the figures."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from rich.console import Console
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.heads.estimate import Estimate
from whatwhere.heads.weighting import TAUS
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.language_models import HEADS
from whatwhere.studies.language_models.figures import draw_map, draw_spectrum
from whatwhere.studies.language_models.summary import outcomes
from whatwhere.studies.language_models.tables import About, HeadRow, HeadsSettings, PlaneWeight
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.studies.style import style
from whatwhere.trace.rotary import RotaryModel

LABELS = ("positional", "symbolic", "uniform", "mixed", "undefined")
SCORES = ((0.97, 0.03), (0.02, 0.99), (1.0, 1.0), (0.6, 0.5), (nan, nan))


def made_up(layers: int, *, planes: int = 4) -> Results:
    """Five heads in each layer, one of each label."""
    results = Results(HEADS, HeadsSettings(), "models/made-up")
    results.write("about", [About("Llama", "a.txt", True, 2, 7, 2, "<s>", "inputs", 3, 2e-6)])
    heads = [
        HeadRow(
            "made-up", "1", "sha256:0", 1e-4, 0.1, layer, head, label, *(Estimate(x, x, x, 4) for x in SCORES[head]),
            positional_centred=1 - SCORES[head][1], symbolic_centred=1 - SCORES[head][0], entropy=1.0,
            entropy_share=0.5, own=0.1, previous=0.2, first=0.3, induction=0.4, renormalised_positional=0.5,
            renormalised_symbolic=0.6, rest_positional=nan, rest_symbolic=nan, rest_label="undefined", planes=planes,
            weighted_id=2.5, dominant_id=2, dominant_share=0.6, dominant_frequency=0.1, undefined=0,
        )
        for layer in range(layers) for head, label in enumerate(LABELS)
    ]  # fmt: skip
    results.write("heads", heads)
    spectrum = [PlaneWeight(row.layer, row.head, p + 1, 0.5**p, 0.25) for row in heads for p in range(planes)]
    results.write("spectrum", spectrum)
    return results


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["heads", *words], env={"COLUMNS": "80"})


def test_many_heads_are_summed_up_in_80_columns(half_turning: RotaryModel, text: str):
    summary = study("heads", half_turning, text=(text,), window=20, queries="3", tau=0.01).summary
    first, second = summary.splitlines()[:2]
    assert f"{first} {second}".startswith("8 heads of half (SmolLM3ForCausalLM) on text.txt: 3 windows of 20 tokens")
    shown = " ".join(summary.split())
    assert "3 queries each, tau 0.01 No token was put before the text. labels: " in shown
    assert "bootstrap over windows" in shown
    assert "without rotation (no ID) are symbolic by construction" in shown
    assert "Rebuilt attention agrees with the model's own output within" in shown
    many = made_up(6).summary
    assert all(title in many for title in ("The most positional heads", "The most symbolic heads", "Layers: means"))
    assert "labels: 6 positional, 6 symbolic, 6 uniform, 6 mixed, 6 undefined" in many
    assert "Each window begins with '<s>'." in many
    assert "3 (input, query) pairs had no score and were left out." in many
    assert all(len(line) <= 80 for line in many.splitlines() if "." in line[:5])


@pytest.mark.slow
def test_the_command_shows_every_head_of_a_small_model_in_80_columns(own: GPTJ, tmp_path: Path):
    save_model(tmp_path / "model.safetensors", own)
    result = command(
        str(tmp_path / "model.safetensors"), "--out", str(tmp_path), "--inputs", "12", "--taus", "--windows"
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    (first,) = (line for line in lines if line.strip().startswith("0.0 1.00 (1.00-1.00)"))
    assert first.split()[-1] == "uniform"
    shown = " ".join(result.stdout.split())
    assert "attends mostly to itself" in shown and "pre-target" in shown
    assert all(f"tau {tau:g}" in shown for tau in TAUS)
    assert (tmp_path / "heads" / "figures" / "head-map.png").is_file()


@pytest.mark.slow
def test_the_command_reads_a_text_from_standard_input(
    half_turning: RotaryModel, word_tokenizer: Any, tmp_path: Path, text: str
):
    half_turning.model.save_pretrained(tmp_path / "half")
    word_tokenizer.save_pretrained(tmp_path / "half")
    words = ["heads", str(tmp_path / "half"), "--text", "-", "--window", "20", "--only", "0.1,1", "--json"]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path)], input=Path(text).read_text())
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout).values()
    assert found["tables"]["about"][0]["source"] == "standard input"
    heads = found["tables"]["heads"]
    assert [(row["layer"], row["head"]) for row in heads] == [(0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]
    assert heads[4]["weighted_id"] is None  # no rotation there


def test_the_most_positional_heads_are_no_uniform_ones_and_their_label_fits_into_80_columns():
    results = made_up(6)
    wide = {"weighted_id": 30.0, "rest_positional": 1.0, "rest_symbolic": 0.0}
    results.write("heads", [replace(row, layer=row.layer + 10, **wide) for row in results.rows("heads", HeadRow)])
    written = io.StringIO()
    for block in results.blocks():
        Console(file=written, width=80).print(block)
    labels = {line.split()[-1] for line in written.getvalue().splitlines() if line[2:5] == ".0 "}
    assert labels == {"positional"}
    assert "uniform" not in written.getvalue().partition("The most positional heads")[2].partition("Layers")[0]


def test_a_sweep_counts_pure_heads():
    assert outcomes(made_up(3)) == {"positional_heads": 3, "symbolic_heads": 3}


@pytest.mark.parametrize(("layers", "planes"), [(1, 4), (6, 4), (60, 32), (2, 0)])
@pytest.mark.slow
def test_figures_draw_few_and_many_heads_and_undefined_ones(layers: int, planes: int):
    results = {"made-up": made_up(layers, planes=planes)}
    with style():
        for draw in (draw_map, draw_spectrum):
            figure = draw(results)
            assert isinstance(figure, Figure)
            figure.canvas.draw()


def test_a_summary_without_any_defined_score_divides_by_nothing():
    results = made_up(5)
    rows = results.rows("heads", HeadRow)
    nothing = Estimate(nan, nan, nan, 0)
    results.write("heads", [replace(row, positional=nothing, symbolic=nothing, label="undefined") for row in rows])
    assert "25 undefined" in results.summary
