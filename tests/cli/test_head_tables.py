"""Head scores in two tables compared, and given to others."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path
from typing import Any

import huggingface_hub
import pandas as pd
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.store.tables import columns, to_frame, write_csv
from whatwhere.studies.language_models.agreement import compare, draw
from whatwhere.studies.language_models.shared_scores import push, read_scores, shipped_scores, to_parquet
from whatwhere.studies.language_models.tables import HeadRow

LABELS = {"p": ("positional", 0.9, 0.1), "s": ("symbolic", 0.1, 0.9), "m": ("mixed", 0.5, 0.6)}


def table(letters: str, model: str = "me/model", shift: float = 0.0) -> pd.DataFrame:
    """Two heads per layer, a letter each."""
    rows = []
    for at, letter in enumerate(letters):
        label, positional, symbolic = LABELS[letter]
        both = (Estimate(score + shift * at, 0.0, 1.0, 4) for score in (positional, symbolic))
        rows.append(HeadRow(
            model, "abc", "sha256:0", 1e-4, 0.1, at // 2, at % 2, label, *both, positional_centred=1 - symbolic,
            symbolic_centred=1 - positional, entropy=1.0, entropy_share=0.5, own=0.1, previous=0.2, first=0.3,
            induction=0.01 * at, renormalised_positional=nan, renormalised_symbolic=nan, rest_positional=nan,
            rest_symbolic=nan, rest_label="undefined", planes=0, weighted_id=nan, dominant_id=None, dominant_share=nan,
            dominant_frequency=nan, undefined=0,
        ))  # fmt: skip
    return to_frame(HeadRow, rows)


def written(path: Path, letters: str, **options: Any) -> str:
    path.write_bytes(write_csv(table(letters, **options)))
    return str(path)


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "80"})


def test_two_tables_of_one_model_have_axes_of_their_own():
    scores, _, labels = draw(compare(table("ps"), table("pp")), ["one", "one"]).axes
    assert (scores.get_xlabel(), scores.get_ylabel()) == ("A: one", "B: one")
    assert (labels.get_ylabel(), labels.get_xlabel()) == ("A: one", "B: one")


def test_labels_are_counted_and_scores_ranked_head_by_head():
    first, second = table("pspm"), table("ppsm", shift=0.01)
    found = compare(first, second)
    assert found.heads["same"].tolist() == [True, False, False, True] and found.share == 0.5
    assert found.confusion.loc["positional", "symbolic"] == found.confusion.loc["symbolic", "positional"] == 1
    assert found.confusion.to_numpy().sum() == 4
    assert found.correlations["positional"] == pytest.approx(spearmanr(first["positional"], second["positional"])[0])
    assert found.correlations["induction"] == pytest.approx(1)
    assert found.correlations["previous"] != found.correlations["previous"]  # constant: no rank
    assert found.correlations["rest_positional"] != found.correlations["rest_positional"]


def test_heads_of_one_table_only_are_left_out():
    found = compare(table("ps"), table("psmm"))
    assert (len(found.heads), found.left_out) == (2, 2)


@pytest.mark.parametrize(("name", "heads", "layers"), [("smollm2-135m", 270, 30), ("gemma3-270m", 72, 18)])
def test_scores_of_two_models_ship_and_are_found_by_name(name: str, heads: int, layers: int):
    found: Any = read_scores(Path(name))
    assert name in shipped_scores() and len(found) == heads and found["layer"].max() == layers - 1
    assert set(found["tau"]) == {1e-4} and found["text"].nunique() == 1
    assert (found["positional"] + found["symbolic"] > 1 - 1e-3).all()
    assert ((found["positional_low"] <= found["positional"]) & (found["positional"] <= found["positional_high"])).all()


def test_scores_that_are_nowhere_are_refused_with_the_names_that_ship():
    with pytest.raises(WhatwhereError, match=r"at nothing, got nothing there; make one .* gemma3-270m, smollm2-135m"):
        read_scores(Path("nothing"))


@pytest.mark.slow
def test_the_page_holds_every_head_of_both(tmp_path: Path):
    result = command("compare", "smollm2-135m", "smollm2-135m", "--out", str(tmp_path))
    assert "270 heads in both, 100% with the same label. The text is the same." in result.stdout
    page = (tmp_path / "report.html").read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["heads"]) == 270 and data["correlations"]["positional"] == pytest.approx(1)
    assert data["confusion"]["positional"] == {"positional": 11, "symbolic": 0, "mixed": 0}


@pytest.mark.slow
def test_the_command_prints_and_leaves_a_table_and_a_figure(tmp_path: Path):
    first, second = written(tmp_path / "a.csv", "ppsm"), written(tmp_path / "b.csv", "pssm", model="other")
    result = command("compare", first, second, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    assert "4 heads in both, 75% with the same label." in shown and "0.1 (positional, symbolic)" in shown
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "agreement.csv",
        "agreement.pdf",
        "agreement.png",
        "report.html",
    }
    result = command("compare", first, second, "--out", str(tmp_path / "out"), "--json")
    found = json.loads(result.stdout)
    assert found["same_label"] == 0.75 and found["confusion"]["positional"]["symbolic"] == 1
    assert found["correlations"]["previous"] is None


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("ps", None, "expected a table of head scores at"),
        ("ps", "", "expected scores of heads in"),
        ("ps", "other", "expected the columns model, revision, text, tau"),
        ("ps", "psps twice", "expected one row per head, got several in the second table"),
        ("ps", "elsewhere", "expected two tables with some heads in both, got none"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(
    first: str, second: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path / "a.csv", first)
    if second == "other":
        (tmp_path / "b.csv").write_text("layer,head\n0,1\n")
    elif second is not None:
        made = table(second.split()[0] if " " in second else "ps" if second else "")
        made = pd.concat([made, made]) if "twice" in second else made
        made["layer"] += 7 if second == "elsewhere" else 0
        (tmp_path / "b.csv").write_bytes(write_csv(made))
    monkeypatch.chdir(tmp_path)
    result = command("compare", "a.csv", "b.csv")
    assert result.exit_code != 0 and message in str(result.exception)
    assert not (tmp_path / "comparison").exists()


def test_a_directory_of_results_and_a_table_are_read_alike(tmp_path: Path):
    written(tmp_path / "heads.csv", "ps")
    assert read_scores(tmp_path).equals(read_scores(tmp_path / "heads.csv"))
    assert list(read_scores(tmp_path)) == list(columns(HeadRow))


def test_parquet_goes_there_and_back_where_pyarrow_is_installed(tmp_path: Path):
    content = to_parquet(table("psm"))
    result = command("share", written(tmp_path / "a.csv", "psm"), "--parquet", str(tmp_path / "a.parquet"))
    if content is None:
        assert "pyarrow is needed to write Parquet" in str(result.exception)
        (tmp_path / "a.parquet").write_bytes(b"PAR1")
        assert "pyarrow is needed to read" in str(command("compare", str(tmp_path / "a.parquet"), "b").exception)
    else:
        assert result.exit_code == 0 and read_scores(tmp_path / "a.parquet").equals(read_scores(tmp_path / "a.csv"))


class FakeHub:
    """Remembers what it is told."""

    told: list[Any]

    def create_repo(self, name: str, **options: Any) -> None:
        if "refused" in name:
            raise huggingface_hub.errors.HFValidationError("no such owner\nmore")
        self.told.append((name, options))

    def create_commit(self, name: str, operations: list[Any], **options: Any) -> Any:
        self.told.append((name, {one.path_in_repo: one.path_or_fileobj for one in operations}, options))
        return type("Commit", (), {"commit_url": f"hub/{name}/1"})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> type[FakeHub]:
    FakeHub.told = []
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "a token")
    return FakeHub


def test_scores_become_a_dataset_of_the_hub_in_one_commit(hub: type[FakeHub], tmp_path: Path):
    result = command("share", written(tmp_path / "a.csv", "ps"), "--push", "me/scores")
    assert result.exit_code == 0, result.output
    assert "hub/me/scores/1" in result.stderr
    (name, options), (_, files, commit) = hub.told
    assert name == "me/scores" and options == {"repo_type": "dataset", "exist_ok": True}
    assert files["me--model.csv"] == (tmp_path / "a.csv").read_bytes()
    assert "me/model" in files["README.md"].decode() and commit["repo_type"] == "dataset"
    assert ("me--model.parquet" in files) == (to_parquet(table("ps")) is not None)


def test_without_a_token_or_with_a_refusal_nothing_is_pushed(
    hub: type[FakeHub], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    result = command("share", written(tmp_path / "a.csv", "ps"), "--push", "me/refused")
    assert "the Hub did not take the dataset me/refused: no such owner; nothing" in str(result.exception)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(Exception, match=r"expected a token of the Hub, got none; log in with: hf auth login"):
        push(table("ps"), "me/scores")
    assert not hub.told


def test_sharing_needs_a_place(tmp_path: Path):
    result = command("share", written(tmp_path / "a.csv", "ps"))
    assert "expected --parquet FILE or --push OWNER/NAME, got neither" in str(result.exception)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("positional", 7.5, "positional between 0 and 1 in .* got positional 7.5"),
        ("previous", float("inf"), "previous between 0 and 1 in .* got previous inf"),
        ("layer", -1, "layer between 0 and .* got layer -1"),
        ("tau", -1.0, "expected tau between 1e-30 and 1e\\+30 in .* got tau -1.0"),
        ("label", "nonsense", "got 'nonsense'"),
    ],
)
def test_scores_that_cannot_be_are_refused(tmp_path: Path, column: str, value: object, message: str):
    path = Path(written(tmp_path / "heads.csv", "ps"))
    frame: Any = pd.read_csv(path)
    frame[column] = frame[column].astype(object)
    frame.loc[1, column] = value
    frame.to_csv(path, index=False)
    with pytest.raises(WhatwhereError, match=message):
        read_scores(tmp_path)
