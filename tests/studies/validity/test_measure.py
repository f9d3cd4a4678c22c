"""The whole study at a small size: tables, figures, summary, command and refusals."""

from __future__ import annotations

import math

import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.heads.weighting import TAUS
from whatwhere.studies.results import Results
from whatwhere.studies.style import style
from whatwhere.studies.validity import VALIDITY, measure
from whatwhere.studies.validity.tables import KnownScore, NullLabel, PermutationScore


def test_every_kind_of_head_is_scored_at_every_tau(whole: Results) -> None:
    rows = whole.rows("scores", KnownScore)
    kinds = {(row.family, row.share if row.share == row.share else None, round(row.entropy, 1)) for row in rows}
    assert len(kinds) == 2 * 9 * 3 + 2 + 1 + 1 + 2 * 3
    assert len(rows) == len(TAUS) * len(kinds)
    for row in rows:
        assert row.positional.value + row.symbolic.value >= 1 - 1e-9
        assert row.centred_positional == 1 - row.symbolic.value
        assert row.positional_heads.low <= row.positional.value <= row.positional_heads.high


def test_labels_are_counted_on_more_and_more_inputs(whole: Results) -> None:
    rows = whole.rows("labels", NullLabel)
    assert {row.inputs for row in rows} == {1, 4}
    assert {row.family for row in rows} == {"untrained", "random logits", "random weights"}
    assert all(row.positional.n == 8 and row.positional.value + row.symbolic.value <= 1 for row in rows)
    assert all(row.symbolic.value == 0 for row in rows if row.family == "untrained")


def test_permutations_are_listed_for_short_inputs_and_drawn_for_long_ones(whole: Results) -> None:
    rows = whole.rows("permutations", PermutationScore)
    assert {(row.tokens, row.listed) for row in rows} == {(7, True), (17, False)}
    for row in rows:
        assert row.difference.value == pytest.approx(row.permutations - row.swaps)
        assert (row.error == 0) or not row.listed
        assert row.error < 0.1


def test_what_is_there_is_kept(whole: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "heads_of_known_nature", None)
    monkeypatch.setattr(measure, "permutation_rows", None)
    told = []
    measure.measure(None, whole.settings, whole, lambda *said: told.append(said))
    assert told == [("scores validated", 2, 2)]


def test_figures_and_summary_show_it(whole: Results) -> None:
    with style():
        figures = whole.figures()
    assert set(figures) == {"validity-scores", "validity-nulls"}
    scores, nulls = figures["validity-scores"].axes, figures["validity-nulls"].axes
    assert [axes.get_title(loc="left")[:16] for axes in scores] == [
        "attention of 0.9",
        "attention of 0.5",
        "attention of 0.1",
    ]
    assert all(len(axes.lines) >= 2 * 5 + 4 for axes in scores)  # both scores: four tau, rotary heads; two nulls
    assert len(nulls[0].lines) == 5
    assert len(nulls[1].lines) == 2 * 3 * 2
    assert "random weights" in whole.summary
    assert max(len(line.rstrip()) for line in whole.summary.splitlines() if "/" in line or "drawn" in line) <= 80


def test_the_command_explains_itself() -> None:
    result = CliRunner().invoke(app, ["validity", "--help"])
    assert result.exit_code == 0
    assert "Do the scores measure what they say?" in result.stdout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"heads": 3}, "expected heads of 8 or more, got 3; raise heads."),
        ({"inputs": 1}, "expected inputs of 2 or more, got 1; raise inputs."),
    ],
)
def test_too_few_heads_or_inputs_are_refused(setting: dict[str, int], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        VALIDITY.with_settings(**setting)


def test_undefined_shares_are_undefined(whole: Results) -> None:
    assert {row.family for row in whole.rows("scores", KnownScore) if math.isnan(row.share)} == {
        "flat", "untrained", "random logits", "random weights",
    }  # fmt: skip
