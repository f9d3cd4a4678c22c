"""``whatwhere.study``: what becomes of earlier results, what it shows, and what it says when it cannot continue."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import nbformat
import pytest
from counting_study import COUNTING
from nbclient import NotebookClient
from vocabularies_world import write_sizes

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.progress_bar import err
from whatwhere.studies.results import Results


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "counting", COUNTING)


def test_results_of_other_settings_stay_unless_they_may_be_replaced(tmp_path: Path):
    ww.study("counting", "letter", out=tmp_path)
    with pytest.raises(WhatwhereError, match=r"got 4; replace them with existing='replace', or choose another out\."):
        ww.study("counting", "letter", out=tmp_path, inputs=5)
    found = ww.study("counting", "letter", out=tmp_path, inputs=5, existing="replace")
    assert found["counts"]["count"].tolist() == [5]
    assert ww.study("counting", "letter", out=tmp_path, inputs=5, existing="replace").kept
    assert not ww.study("counting", "letter", out=tmp_path, inputs=5, existing="discard").kept


@pytest.mark.parametrize("existing", ["replace", "discard"])
def test_what_is_refused_harms_no_earlier_results(tmp_path: Path, existing: str):
    ww.study("counting", "letter", out=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(WhatwhereError, match=r"expected 1 or more inputs, got 0\."):
        ww.study("counting", "letter", out=tmp_path, inputs=0, existing=existing)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert ww.study("counting", "letter", out=tmp_path).kept


def test_a_mistyped_word_for_earlier_results_replaces_nothing(tmp_path: Path):
    with pytest.raises(WhatwhereError, match="expected existing to be keep, replace or discard, got 'kepe'"):
        ww.study("counting", "letter", out=tmp_path, existing="kepe")


def test_a_terminal_shows_a_bar_and_a_script_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    ww.study("counting", "letter")
    assert capsys.readouterr() == ("", "")  # it took less
    monkeypatch.setattr("whatwhere.studies.progress_bar.LINE_EVERY", 0.0)
    ww.study("counting", "letter")
    assert "1/2" in capsys.readouterr().err
    monkeypatch.setattr(err, "_force_terminal", True)
    ww.study("counting", "letter", progress=False)
    assert capsys.readouterr() == ("", "")
    ww.study("counting", "letter")
    shown = capsys.readouterr()
    assert shown.out == "" and "counting" in shown.err and "1/2" in shown.err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's client
def test_a_notebook_shows_how_far_it_is_in_one_line_and_needs_no_widgets():
    cell = nbformat.v4.new_code_cell("import whatwhere as ww\nww.study('theorems', theta=0.9)['reach'].shape")
    notebook: Any = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = "".join(output["text"] for output in notebook.cells[0].outputs if output.get("name") == "stderr")
    assert "theorems" in shown and "\r" in shown
    assert "arning" not in shown and len(shown.splitlines()) < 200


@pytest.mark.parametrize(
    "name", [name for name in STUDIES if study_named(name).subject.argument and study_named(name).source is None]
)
def test_a_study_without_its_model_says_what_its_own_example_gives(name: str):
    given = study_named(name).example.split()[2]
    with pytest.raises(WhatwhereError) as refused:
        ww.study(name)
    assert f"got none; give one: study({name!r}, {given!r})." in str(refused.value)
    assert not given.startswith("-") and (name, given) != ("dynamics", "letter")


@pytest.mark.parametrize(
    ("table", "command"), [("doubles", "whatwhere counting letter --twice"), ("counts", "whatwhere counting letter")]
)
def test_a_table_that_is_made_on_request_is_answered_with_the_setting_that_asks_for_it(table: str, command: str):
    found = Results(COUNTING, COUNTING.with_settings(), "letter")
    with pytest.raises(WhatwhereError, match=f"the table '{table}' is not there; measure it with: {command}$"):
        found.frame(table)


@pytest.mark.parametrize("name", [name for name in STUDIES if study_named(name).on_request])
def test_tables_on_request_are_tables_and_settings_of_their_study(name: str):
    study = study_named(name)
    assert set(study.on_request) <= set(study.tables)
    study.with_settings(**dict.fromkeys(study.on_request.values(), True))


def test_theory_is_no_word_of_a_command():
    found = ww.study("theorems", theta=0.9)
    with pytest.raises(WhatwhereError, match=r"measure it with: whatwhere theorems$"):
        found.frame("checks")


@pytest.mark.slow
def test_results_that_a_sweep_keeps_are_replaced_when_it_has_grown_and_others_are_not(tmp_path: Path):
    sweep, elsewhere = write_sizes(tmp_path / "sweep", seeds=(20,)), tmp_path / "elsewhere"
    assert [len(ww.study("vocabularies", sweep, out=out)["runs"]) for out in (sweep, elsewhere)] == [6, 6]
    copytree(write_sizes(tmp_path / "more"), sweep, dirs_exist_ok=True)
    assert len(ww.study("vocabularies", sweep, out=sweep)["runs"]) == 12
    with pytest.raises(WhatwhereError, match="expected another sweep"):  # it may be a different one
        ww.study("vocabularies", sweep, out=elsewhere)
    (sweep / "sweep.csv").write_text((sweep / "sweep.csv").read_text() + "\n")
    with pytest.raises(WhatwhereError, match=r"expected another sweep|expected multiples"):
        ww.study("vocabularies", sweep, out=sweep, multiples=(4,))
