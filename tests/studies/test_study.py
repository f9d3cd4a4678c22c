"""A study of forty lines gets a command, options, JSON, a summary, a job, a sweep column, CSV and a Python call."""

import json
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import whatwhere as ww
from whatwhere import studies
from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.store import locks
from whatwhere.store.manifest import Manifest
from whatwhere.studies import subject
from whatwhere.studies.evidence import Evidence
from whatwhere.studies.judging import judge
from whatwhere.studies.language_models.passages import FINGERPRINT
from whatwhere.studies.results import Results
from whatwhere.studies.study import Figure, Study, no_progress, resolve
from whatwhere.studies.subject import RUN, TRAINED
from whatwhere.work.plan import Plan, jobs_of
from whatwhere.work.reporting import draw_places
from whatwhere.work.sweep_run import Sweep, do_item
from whatwhere.work.sweep_spec import Item

MODULE = dedent('''
    from dataclasses import dataclass
    from typing import Annotated

    from whatwhere.studies.claim import Claim, Finding
    from whatwhere.studies.study import Figure, Study
    from whatwhere.studies.subject import RUN, TRAINED

    @dataclass(frozen=True)
    class Settings:
        inputs: Annotated[int, "Sequences to answer."] = 40
        hops: Annotated[tuple[int, ...], "Hop classes."] = (1, 2)

    @dataclass(frozen=True)
    class Share:
        hop: int
        right: float

    def measure(model, settings, results, progress):
        for done, hop in enumerate(settings.hops):
            if hop in [row.hop for row in results.rows("shares", Share)]:
                continue
            progress(f"{hop} hops", done, len(settings.hops))
            batch = model.task.sample(settings.inputs, hops=hop)
            right = float((model.predict(batch.tokens) == batch.answers).mean())
            results.append("shares", [Share(hop, right)])

    def draw(results):
        from matplotlib.figure import Figure as Canvas
        canvas = Canvas()
        for one in results.values():
            one["shares"].plot("hop", "right", ax=canvas.subplots())
        return canvas

    def all_right(evidence):
        rows = evidence.rows("parrot", "letter", "shares", Share)
        return Finding(min(row.right for row in rows), "counted")

    PARROT = Study(
        name="parrot", question="Does it answer?", paper="nowhere", subject=TRAINED, settings=Settings,
        tables={"shares": Share}, measure=measure, summary=lambda results: [f"parrot on {results.name}"],
        figures=(Figure("parrot", draw, ("shares",)),),
        claims=(Claim("parrot-right", "trained", "It answers", "It.", "nowhere", "share", "above 0.9", all_right),),
        outcomes=lambda results: {"right": results["shares"]["right"].mean()},
        smoke={"inputs": 4}, example="whatwhere parrot letter",
    )
''')  # fmt: skip


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    (tmp_path / "parrot_study.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    import parrot_study  # pyright: ignore[reportMissingImports]

    studies.register(parrot_study.PARROT)
    yield parrot_study.PARROT
    del studies.STUDIES["parrot"], sys.modules["parrot_study"]


def test_the_module_of_a_small_study_has_about_forty_lines():
    assert sum(bool(line.strip()) for line in MODULE.splitlines()) <= 45


@pytest.mark.usefixtures("parrot")
def test_it_gets_a_command_with_its_options_and_a_summary():
    shown = CliRunner().invoke(app, ["parrot", "--help"])
    assert "Does it answer?" in shown.output
    assert "--inputs" in shown.output
    assert "Sequences to answer." in shown.output
    assert "whatwhere parrot letter" in shown.output
    assert "parrot" in CliRunner().invoke(app, ["--help"]).output
    done = CliRunner().invoke(app, ["parrot", "letter", "--inputs", "20", "--hops", "1,3"], catch_exceptions=False)
    assert "parrot on letter" in done.stdout
    assert pd.read_csv("analysis-letter/parrot/shares.csv").columns.tolist() == ["hop", "right"]
    assert pd.read_csv("analysis-letter/parrot/shares.csv")["hop"].tolist() == [1, 3]


@pytest.mark.usefixtures("parrot")
@pytest.mark.parametrize(
    ("name", "step", "compare"),
    [("parrot", True, False), ("hops", True, True), ("dynamics", False, True), ("atlas", False, False),
     ("prompt", False, False)],
)  # fmt: skip
def test_a_command_offers_a_step_and_a_comparison_only_where_they_mean_something(name: str, step: bool, compare: bool):
    shown = CliRunner().invoke(app, [name, "--help"]).output
    assert ("--step" in shown, "--compare" in shown) == (step, compare)


@pytest.mark.usefixtures("parrot")
def test_its_figures_come_with_their_data():
    CliRunner().invoke(app, ["parrot", "letter"], catch_exceptions=False)
    folder = Path("analysis-letter/parrot/figures")
    assert sorted(path.name for path in folder.iterdir()) == ["parrot.csv", "parrot.pdf", "parrot.png"]
    assert pd.read_csv(folder / "parrot.csv").equals(pd.read_csv(folder.parent / "shares.csv"))


@pytest.mark.usefixtures("parrot")
def test_json_is_all_that_it_prints_on_stdout():
    done = CliRunner().invoke(app, ["parrot", "letter", "--json"], catch_exceptions=False)
    content = json.loads(done.stdout)["letter"]
    assert content["settings"] == {"inputs": 40, "hops": [1, 2]}
    assert [row["hop"] for row in content["tables"]["shares"]] == [1, 2]


def test_a_study_takes_what_it_does_not_name_from_the_files_of_its_folder():
    hops, home = studies.study_named("hops"), "whatwhere.studies.hops"
    assert (hops.measure, hops.summary) == (f"{home}.measure:measure", f"{home}.summary:summary")
    assert (hops.claims, hops.page, hops.outcomes) == (
        f"{home}.claims:CLAIMS", f"{home}:part.js", f"{home}.summary:outcomes",
    )  # fmt: skip
    assert hops.figures[0].draw == f"{home}.figures:draw_hops"
    assert studies.study_named("rope").claims == () and studies.study_named("rope").page is None  # it has no such files
    with pytest.raises(WhatwhereError, match="study 'bare': expected measure and summary, got none; name a folder"):
        Study(name="bare", question="?", paper="", subject=TRAINED, settings=object, tables={})


@pytest.mark.parametrize("name", studies.STUDIES)
def test_everything_that_a_study_names_exists(name: str):
    study = studies.study_named(name)
    assert is_dataclass(study.settings_type()) and all(is_dataclass(study.row_type(table)) for table in study.tables)
    code = (study.measure, study.summary, study.page_data, study.outcomes, study.passes, study.cost)
    assert all(callable(resolve(part)) for part in (*code, *(figure.draw for figure in study.figures)) if part)


def test_force_measures_anew_with_the_same_settings_and_says_what_it_replaces(parrot: Study):
    table, asked = Path("analysis-letter/parrot/shares.csv"), ["parrot", "letter", "--hops", "1"]
    CliRunner().invoke(app, asked, catch_exceptions=False)
    object.__setattr__(parrot, "measure", lambda _, __, results, ___: results.write("shares", [_share(parrot, 0.25)]))
    CliRunner().invoke(app, asked, catch_exceptions=False)
    assert pd.read_csv(table)["right"].tolist() == [1.0], "results that are up to date stay"
    done = CliRunner().invoke(app, [*asked, "--force"], catch_exceptions=False)
    assert "this replaces shares.csv in analysis-letter/parrot" in done.stderr
    assert pd.read_csv(table)["right"].tolist() == [0.25], "the code has changed, and --force measures with it"


def test_results_of_another_version_stay_and_the_command_says_so(parrot: Study, monkeypatch: pytest.MonkeyPatch):
    asked = ["parrot", "letter", "--hops", "1"]
    assert "made these results" not in CliRunner().invoke(app, asked, catch_exceptions=False).stderr
    monkeypatch.setattr(ww, "__version__", "9.9")
    assert (
        f"whatwhere {Manifest(Path('analysis-letter/parrot')).record.whatwhere} made these results, and this is 9.9"
        in (CliRunner().invoke(app, asked, catch_exceptions=False).stderr)
    )
    del parrot


def _share(parrot: Study, right: float) -> Any:
    return parrot.row_type("shares")(1, right)


@pytest.mark.usefixtures("parrot")
def test_python_gets_frames_figures_claims_and_a_summary():
    results = ww.study("parrot", ww.load("letter"), inputs=20)
    assert min(results["shares"]["right"].tolist()) > 0.9
    assert list(results.tables) == ["shares"]
    assert list(results.figures()) == ["parrot"]
    assert "parrot on model" in results.summary
    assert repr(results) == "Results of parrot on model: shares (2 rows)"
    assert not Path("analysis").exists(), "results stay in memory unless out is given"
    kept = ww.study("parrot", "letter", out="kept")
    assert kept.claims["verdict"].tolist() == ["holds"]


@pytest.mark.usefixtures("parrot")
def test_it_is_a_job_of_the_reproduction_for_every_run(tmp_path: Path):
    jobs = {job.name: job for job in jobs_of(Plan(preset="smoke"), tmp_path)}
    assert jobs["parrot-number"].needs == ("train-number",)
    assert jobs["parrot-letter"].arguments["settings"] == {"inputs": 4}


@pytest.mark.usefixtures("parrot")
def test_it_is_a_column_of_a_sweep(tmp_path: Path):
    item = Item("one", {"model": "letter"}, {"parrot": {"inputs": 8}})
    sweep = Sweep([item], tmp_path)
    do_item(no_progress, str(tmp_path / "items" / "one"), None, "letter", item.measures)
    assert sweep.collect()["parrot_right"].tolist() == [1.0]


def test_the_report_draws_it_and_its_claims_are_judged(parrot: Study, tmp_path: Path):
    ww.study("parrot", "letter", out=tmp_path / "letter")
    drawn = draw_places(tmp_path)
    assert sorted(path.name for path in drawn) == ["parrot-letter.csv", "parrot-letter.pdf", "parrot-letter.png"]
    (judged,) = judge([Evidence.in_directory(tmp_path)], parrot.all_claims())
    assert (judged.verdict, judged.value) == ("holds", 1.0)
    (missing,) = judge([Evidence.in_directory(tmp_path / "nothing")], parrot.all_claims())
    assert (missing.verdict, missing.missing) == ("not tested", True)


@pytest.mark.usefixtures("parrot")
def test_interrupted_work_goes_on_and_finished_work_is_kept(tmp_path: Path):
    results = ww.study("parrot", "letter", out=tmp_path, hops=(1,))
    manifest = Manifest(results.directory)
    assert manifest.record.complete
    before = (results.directory / "manifest.json").read_bytes()
    ww.study("parrot", "letter", out=tmp_path, hops=(1,))
    assert (results.directory / "manifest.json").read_bytes() == before
    with pytest.raises(WhatwhereError, match=r"holds other results: expected hops \[1, 2\], got \[1\]"):
        ww.study("parrot", "letter", out=tmp_path)
    with pytest.raises(WhatwhereError, match="expected another model"):
        ww.study("parrot", "number", out=tmp_path, hops=(1,))


@pytest.mark.usefixtures("parrot")
def test_a_second_process_in_the_same_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    with locks.hold(tmp_path / "parrot", "parrot"), pytest.raises(WhatwhereError, match="is in use"):
        ww.study("parrot", "letter", out=tmp_path, hops=(1,))
    assert not (tmp_path / "parrot" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": 1}, "expected a setting of inputs, hops, got 'colour'"),
        ({"inputs": "many"}, "the settings of parrot, inputs: expected a valid integer, got 'many'"),
    ],
)
@pytest.mark.usefixtures("parrot")
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ww.study("parrot", "letter", **settings)


@pytest.mark.usefixtures("parrot")
def test_wrong_lists_on_the_command_line_are_refused():
    done = CliRunner().invoke(app, ["parrot", "letter", "--hops", "one"])
    assert isinstance(done.exception, WhatwhereError)
    assert "--hops: expected int values with commas between them, got 'one'" in str(done.exception)


def test_an_unknown_study_is_refused():
    with pytest.raises(WhatwhereError, match=r"expected a study of dynamics, .* got 'lenght'"):
        ww.study("lenght", "letter")


def test_a_study_that_contradicts_itself_is_refused():
    nothing = "somewhere:nothing"

    about = {"question": "?", "paper": "", "subject": TRAINED, "settings": dict, "measure": nothing, "summary": nothing}
    with pytest.raises(WhatwhereError, match="expected a study name of letters, digits and underscores"):
        Study(name="my study", tables={}, **about)
    with pytest.raises(WhatwhereError, match="figure 'a' of study 'mine': no table 'b'"):
        Study(name="mine", tables={}, figures=(Figure("a", nothing, ("b",)),), **about)
    with pytest.raises(WhatwhereError, match="the page of study 'mine': no table 'b'"):
        Study(name="mine", tables={}, page_tables=("b",), **about)


@pytest.mark.usefixtures("parrot")
def test_results_of_another_study_are_refused(tmp_path: Path):
    results = ww.study("parrot", "letter", out=tmp_path)
    with pytest.raises(WhatwhereError, match="expected results of 'length', got those of 'parrot'"):
        Results.open(studies.study_named("length"), results.directory)
    with pytest.raises(WhatwhereError, match="expected a table of shares, got 'colours'"):
        results.frame("colours")


@pytest.mark.parametrize("name", studies.STUDIES)
def test_every_reference_of_every_study_resolves(name: str):
    from importlib.resources import files

    from whatwhere.studies.study import resolve

    study = studies.study_named(name)
    assert study.name == name
    for reference in (study.measure, study.summary, study.outcomes, study.page_data, *(f.draw for f in study.figures)):
        assert reference is None or callable(resolve(reference))
    assert all(claim.id for claim in study.all_claims())
    text = {"text": (f"{FINGERPRINT}0",)} if name in ("cache", "prompt", "causal") else {}  # which need one
    study.with_settings(**study.smoke, **text)
    if study.page is not None:
        package, _, file = study.page.partition(":")
        assert files(package).joinpath(file).is_file()


@pytest.mark.parametrize(
    ("source", "home"),
    [
        ("Qwen/Qwen2.5-0.5B", "analysis-Qwen2.5-0.5B"),
        ("models/mine.Q4_1.gguf", "analysis-mine.Q4_1"),
        ("runs/letter/checkpoints/step-00000040.safetensors", "analysis-step-00000040"),
    ],
)
def test_results_of_a_model_are_named_after_it(source: str, home: str):
    assert subject._home(source) == Path(home)  # pyright: ignore[reportPrivateUsage]


def test_a_shipped_model_is_no_run_and_the_message_says_where_its_history_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WhatwhereError, match=r"got the shipped model letter, .* reproduce --from-zoo --out DIR"):
        RUN.open("letter")
