"""Which results count as whose, and the commands that make those that are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.evidence import Evidence, NotTested, command_for
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask
from whatwhere.training.config import TrainingConfig
from whatwhere.training.options import Options
from whatwhere.training.run import Run


@pytest.mark.parametrize(("generator", "model"), [("paper", "letter"), ("decoy", "letter-control")])
def test_results_on_leak_free_data_are_those_of_the_control(generator: str, model: str):
    task = LetterTask(generator=generator)  # pyright: ignore[reportArgumentType]
    results = Results(study_named("length"), None, "", inputs={"task": task.to_dict()})
    evidence = Evidence.of(results)
    assert evidence.results("length", model) is results
    (other,) = {"letter", "letter-control"} - {model}
    with pytest.raises(NotTested, match=f"the results of length on the {other} model are not here"):
        evidence.results("length", other)
    if model == "letter-control":
        assert set(results.claims["verdict"]) == {"not tested"}, "no statement of the paper is about it"


def test_the_commands_for_missing_results_put_them_where_they_are_looked_for(tmp_path: Path):
    Run(tmp_path / "letter").create(_smoke())
    evidence = Evidence.in_directory(tmp_path)
    asked = {("length", "letter"): f"length {tmp_path}/letter", ("theorems", None): f"theorems --out {tmp_path}",
             ("length", "number"): f"length MODEL --out {tmp_path}/number",
             ("chat", None): f"chat MODEL --out {tmp_path}"}  # fmt: skip
    for (study, model), command in asked.items():
        with pytest.raises(NotTested) as missing:
            evidence.results(study, model)
        assert str(missing.value).endswith(f"has no results. Make them with: whatwhere {command}")


@pytest.mark.parametrize("name", [name for name in STUDIES if study_named(name).subject.argument is None])
def test_studies_that_need_no_model_are_not_given_a_run(name: str, tmp_path: Path):
    Run(tmp_path / "run").create(_smoke())
    assert command_for(study_named(name), tmp_path / "run") == f"whatwhere {name} --out {tmp_path}/run"


def _smoke() -> TrainingConfig:
    return Options("letter", preset="smoke", device="cpu").config()
