import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_json
from whatwhere.theory import verification
from whatwhere.theory.check import Check

runner = CliRunner()


@pytest.fixture
def few_checks(monkeypatch: pytest.MonkeyPatch):
    def use(*errors: int) -> None:
        def make(wrong: int):
            def some_check() -> Check:
                return Check("a claim with [brackets]", 10, wrong, "seen")

            return some_check

        monkeypatch.setattr(verification, "CHECKS", tuple(make(wrong) for wrong in errors))

    return use


def test_checks_and_tables_are_printed(few_checks):
    few_checks(0, 0)
    result = runner.invoke(app, ["theory"])
    assert result.exit_code == 0
    assert "pass  a claim with [brackets]: 10 inputs, 0 errors" in result.stdout
    assert "2 of 2 checks passed" in result.stdout
    assert "Discrepancy of T_Index" in result.stdout


def test_a_check_that_fails_ends_with_exit_code_1(few_checks):
    few_checks(0, 3)
    result = runner.invoke(app, ["theory"])
    assert result.exit_code == 1
    assert "FAIL  a claim with [brackets]: 10 inputs, 3 errors" in result.stdout


@pytest.mark.slow
def test_out_holds_the_figures_and_what_json_prints(few_checks, tmp_path: Path):
    few_checks(0)
    result = runner.invoke(app, ["theory", "--json", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed["checks"][0]["passed"] is True
    assert {"inverse_temperatures", "index_discrepancy", "retrieval_discrepancy"} <= set(printed)
    assert read_json(tmp_path / "new" / "theory.json", "what was written") == printed
    names = {path.name for path in (tmp_path / "new").iterdir()}
    for stem in ("figure-4a-geometry", "figure-5a-discrepancy", "margin-map"):
        assert {f"{stem}.pdf", f"{stem}.png", f"{stem}.csv"} <= names


def test_one_angle_is_answered_for_both_heads():
    result = runner.invoke(app, ["theory", "--theta", "0.0027", "--length", "100", "--beta", "20", "--json"])
    assert result.exit_code == 0
    index, retrieval = json.loads(result.stdout)["reach"]
    assert index["head"] == "index"
    assert retrieval["longest"] == 146
    assert retrieval["needed_beta"] == pytest.approx(31.784, abs=1e-3)
    assert retrieval["longest_at_beta"] < 100


def test_json_is_all_that_stdout_holds(few_checks):
    few_checks(0)
    result = runner.invoke(app, ["theory", "--json"])
    assert json.loads(result.stdout)["checks"][0]["claim"] == "a claim with [brackets]"


def test_one_angle_in_words():
    result = runner.invoke(app, ["theory", "--theta", "0", "--head", "retrieval", "--beta", "12"])
    assert "longest input, any beta: 100,000 tokens or more" in result.stdout
    assert "longest input at beta 12: 34 tokens" in result.stdout
    result = runner.invoke(app, ["theory", "--theta", "0.9", "--head", "retrieval"])
    assert "none serves" in result.stdout
    assert "none of 2 tokens or more" in result.stdout


@pytest.mark.slow
def test_one_angle_with_out_draws_the_map_of_its_alphabet(tmp_path: Path):
    result = runner.invoke(app, ["theory", "--theta", "0.5", "--letters", "4", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert (tmp_path / "margin-map.png").exists()
    assert json.loads((tmp_path / "theory.json").read_text())["letters"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--letters", "3"], "--letters asks about one angle, and none was given; add --theta"),
        (["--theta", "1", "--head", "both2"], "--head should be one of index, retrieval, both"),
        (["--theta", "0"], "no rational multiple of 2 pi"),
        (["--theta", "1", "--letters", "1"], "at least 2 letters"),
        (["--theta", "1", "--length", "1"], "length of at least 2"),
        (["--theta", "1", "--beta", "0"], "inverse temperature above 0"),
        (["--theta", "1", "--integers", "0"], "at least 1 integer"),
    ],
)
def test_a_user_s_mistake_is_explained(arguments: list[str], message: str):
    result = runner.invoke(app, ["theory", *arguments])
    assert isinstance(result.exception, WhatwhereError)
    assert message in str(result.exception)
