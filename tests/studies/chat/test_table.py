from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from statistics import fmean, stdev

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Answer, Logged
from whatwhere.studies.chat.one_hop import SIZES, window_chance
from whatwhere.studies.chat.plan import Cell
from whatwhere.studies.chat.screening import ScreeningRow
from whatwhere.studies.chat.table import (
    MEASURED,
    QUOTED,
    ProfileRow,
    SampleRow,
    TableRow,
    floors,
    make_table,
    markdown,
    measured_rows,
    profile_rows,
    published_rows,
    shown,
)
from whatwhere.studies.results import Results


def logged(
    right: int, wrong: int, none: int, *, model: str = "m", task: str = "one_hop_letter", size: int = 16, run: int = 1,
    wanted: int = 10,
) -> Logged:  # fmt: skip
    verdicts = [Verdict.RIGHT] * right + [Verdict.WRONG] * wrong + [Verdict.NO_ANSWER] * none
    answers = tuple(
        Answer(
            number, number, strict, Verdict.RIGHT if strict is Verdict.NO_ANSWER else strict, True, False, 3, 0, "k7"
        )
        for number, strict in enumerate(verdicts, start=1)
    )
    return Logged(Path("x"), model, Cell(task, size, run), "1", "s", wanted, answers, None, True)


def test_means_and_deviations_are_over_runs() -> None:
    (row,) = measured_rows([logged(9, 1, 0, run=1), logged(7, 2, 1, run=2), logged(8, 0, 2, run=3)])
    assert (row.runs, row.samples, row.planned, row.source) == (3, 30, 30, MEASURED)
    assert row.mean == pytest.approx(fmean([0.9, 0.7, 0.8]))
    assert row.sd == pytest.approx(stdev([0.9, 0.7, 0.8]))
    assert row.low < row.mean < row.high
    assert row.no_answer == pytest.approx(3 / 30)
    assert row.lenient == pytest.approx(27 / 30)
    assert row.output_tokens == 3
    assert shown(row) == "0.80 (0.10)"


def test_partial_results_carry_their_counts_and_a_single_run_has_no_deviation() -> None:
    (row,) = measured_rows([logged(3, 1, 0)])
    assert isnan(row.sd)
    assert shown(row) == "0.75 [4/10, 1 run]"
    (whole,) = measured_rows([logged(9, 1, 0)])
    assert shown(whole) == "0.90 [1 run]"


def test_the_papers_table_is_quoted_and_marked_as_such() -> None:
    rows = published_rows()
    assert len(rows) == 60
    assert {row.source for row in rows} == {QUOTED}
    assert {row.size for row in rows} == set(SIZES) - {150}
    found = {(row.model, row.task, row.size): (row.mean, row.sd) for row in rows}
    assert found["GPT 5.4", "one_hop_number", 12] == (0.98, 0.01)
    assert found["GPT 5.4", "one_hop_letter", 300] == (0.40, 0.06)
    assert found["Claude Sonnet 3.7", "one_hop_letter", 48] == (0.80, 0.02)
    below = [
        key for key in found if key[1] == "one_hop_number" and found[key] >= found[key[0], "one_hop_letter", key[2]]
    ]
    assert below == [("GPT 5.4", "one_hop_number", 12)]  # letters are above numbers everywhere else


def test_floors_are_those_of_guessing() -> None:
    assert floors("one_hop_number", 100) == (pytest.approx(1 / 26), pytest.approx(window_chance("number", 100)))
    assert floors("one_hop_letter", 100) == (pytest.approx(1 / 9), pytest.approx(0.01))
    blind, window = floors("multi_hop_number", 16)
    assert blind == pytest.approx(1 / 120)
    assert isnan(window)


def test_the_profile_counts_each_answer_once_at_its_distance() -> None:
    rows = profile_rows([logged(8, 0, 0, size=16, wanted=16), logged(0, 8, 0, size=16, run=2)])
    assert [(row.near, row.far) for row in rows] == [
        (1, 2),
        (3, 4),
        (5, 6),
        (7, 8),
        (9, 10),
        (11, 12),
        (13, 14),
        (15, 16),
    ]
    assert [row.samples for row in rows] == [4, 4, 4, 4, 0, 0, 0, 0]
    assert [row.accuracy for row in rows[:4]] == [0.5] * 4
    assert isnan(rows[-1].accuracy)
    few = profile_rows([logged(3, 0, 0, size=3)])
    assert [(row.near, row.far) for row in few] == [(1, 1), (2, 2), (3, 3)]


def test_markdown_has_models_across_sizes_down_and_the_screening() -> None:
    rows = [*measured_rows([logged(9, 1, 0), logged(3, 1, 0, size=32)]), *published_rows()]
    text = markdown(rows, [ScreeningRow("m|x", "screened out", "why", nan, 0, nan, nan, 0)])
    lines = text.splitlines()
    header = lines[lines.index("## one_hop_letter") + 2]
    assert header == "| size | m | GPT 5.4 (quoted) | GPT 5.5 (quoted) | Claude Sonnet 3.7 (quoted) | floor |"
    assert "| 16 | 0.90 [1 run] | 0.98 (0.01) | 0.95 (0.01) | 0.89 (0.02) | 0.111 |" in lines
    assert "| 32 | 0.75 [4/10, 1 run] | 0.99 (0.00) | 0.96 (0.01) | 0.88 (0.02) | 0.111 |" in lines
    assert "| m\\|x | screened out | why |" in lines
    widths = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
    assert widths == {6, 7, 4}  # numbers have no measured model here


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match="logs with replies to the benchmark were expected below"):
        make_table([tmp_path / "nothing"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tables_are_written_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatwhere.studies.chat.table.read_logs", lambda _: [logged(9, 1, 0), logged(0, 0, 0, size=24)])
    make_table([tmp_path], tmp_path)
    results = Results(tmp_path)
    table = results.read("table", TableRow)
    assert [row.source for row in table] == [MEASURED] + [QUOTED] * 60  # a cell without replies is no row
    assert len(results.read("profile", ProfileRow)) == 8
    assert [row.strict for row in results.read("samples", SampleRow)] == ["right"] * 9 + ["wrong"]
    header = (tmp_path / "table.csv").read_text().splitlines()[0].split(",")
    assert {"model", "task", "size", "runs", "samples", "mean", "sd", "source"} <= set(header)
    assert (tmp_path / "table.md").is_file()
