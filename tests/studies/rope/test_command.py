"""``whatwhere rope A [B]``: exit codes for a CI, JSON, one screen, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import FAMILIES, tiny_model
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import rope_frequencies
from whatwhere.studies.measuring import study
from whatwhere.studies.rope.measure import fitted_base
from whatwhere.studies.rope.tables import RopeSettings
from whatwhere.studies.terminal import number_runs


@pytest.mark.slow
def test_the_exit_code_says_whether_all_is_well(
    tmp_path: Path, llama: Any, saved: Callable[[Any, str], str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    one, other = saved(llama, "one"), saved(tiny_model(FAMILIES["Llama, linear scaling"]), "other")
    well = CliRunner().invoke(app, ["rope", one, "--json"])
    assert well.exit_code == 0
    assert json.loads(well.stdout)[one]["tables"]["differences"] == []
    assert (tmp_path / "analysis-one" / "rope" / "layers.csv").is_file()  # not in the directory of the model
    ill = CliRunner().invoke(app, ["rope", one, other, "--out", "compared"])
    assert ill.exit_code == 1
    assert "the scaling 'linear' is missing" in " ".join(ill.stdout.split())
    assert len(ill.stdout.splitlines()) < 24
    assert str(tmp_path) not in ill.stdout  # models are named by the last part of their path
    assert (tmp_path / "compared" / "rope" / "figures" / "rope-frequencies.csv").is_file()
    again = CliRunner().invoke(app, ["rope", one, other, "--out", "compared"])  # from the tables that are there
    assert (again.exit_code, again.stdout) == (1, ill.stdout)
    config = Path(other) / "config.json"
    config.write_text(config.read_text().replace('"factor": 2.0', '"factor": 4.0'))
    changed = CliRunner().invoke(app, ["rope", one, other, "--out", "compared"])  # the same weights turn otherwise
    assert "holds other results" in str(changed.exception)


def test_a_family_without_conventions_is_judged_by_its_configuration_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whatwhere.studies.rope.expected_rope.CONVENTIONS", {})
    monkeypatch.setattr("whatwhere.studies.rope.measure.CONVENTIONS", {})
    model: Any = tiny_model(FAMILIES["Cohere 2"])
    model.model.layers[0].self_attn.scaling = 1.0
    found = study("rope", model, tokens=12)
    assert found["differences"].empty
    assert "not known here" in found.summary


def test_what_is_expected_is_drawn_over_what_was_measured():
    found = study("rope", tiny_model(FAMILIES["Llama"]), tokens=12)
    (axes,) = found.figures()["rope-frequencies"].axes
    measured, expected = axes.lines
    assert expected.get_zorder() > measured.get_zorder()
    assert np.allclose(np.array(measured.get_ydata()), np.array(expected.get_ydata()), rtol=1e-3)


def test_models_that_cannot_be_compared_are_refused(saved: Callable[[Any, str], str], llama: Any):
    deeper = saved(tiny_model(FAMILIES["LFM2"]), "deeper")
    with pytest.raises(
        WhatwhereError, match=r"expected two checkpoints of one model, got .* layers 0-1 attend, and .* layers 0,2 do"
    ):
        study("rope", llama, other=deeper, tokens=12)
    with pytest.raises(WhatwhereError, match="got letter, a model of whatwhere: its rotation is the formula itself"):
        study("rope", "letter")
    with pytest.raises(WhatwhereError, match="expected at least 4 tokens, or there is no angle to measure; got 2"):
        study("rope", llama, tokens=2)


@pytest.mark.parametrize("base", [100.0, 10000.0, 5e5])
def test_the_base_is_read_off_the_frequencies(base: float):
    frequencies = rope_frequencies(16, base).numpy()
    assert fitted_base(frequencies) == pytest.approx(base)
    bent = frequencies * np.linspace(1, 0.5, 8)
    assert math.isnan(fitted_base(bent)) and math.isnan(fitted_base(frequencies / 2))


def test_layers_are_listed_in_runs():
    assert number_runs([0, 1, 2, 5, 7, 8], ",") == "0-2,5,7-8"


def test_more_tokens_than_make_sense_are_refused():
    with pytest.raises(WhatwhereError, match="expected at most 131,072 tokens, got 3,000,000; lower tokens"):
        RopeSettings(tokens=3_000_000)
