import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from families import FAMILIES, tiny_model

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import weights_of
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.subject import ROTARY, TRAINED
from whatwhere.tasks import make_task
from whatwhere.training.loop import train
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.zoo import load as zoo


def load(source: str | Path, step: int | None = None) -> GPTJ:
    model = zoo.load(source, step)
    assert isinstance(model, GPTJ)
    return model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("zoo") / "run")
    run.create(replace(smoke(make_task("number")), threads=1))
    train(run)
    return run


def test_a_run_directory_gives_its_last_or_a_chosen_step(run: Run):
    first, last = load(run.directory, step=0), load(str(run.directory))
    assert (weights_of(last)["head.weight"] == weights_of(run.load(24))["head.weight"]).all()
    assert (weights_of(first)["head.weight"] != weights_of(last)["head.weight"]).any()


def test_one_checkpoint_is_a_model_of_its_own(run: Run):
    assert load(run.checkpoint_path(24)).task == make_task("number")


def test_what_is_not_there_is_refused(run: Run, tmp_path: Path):
    with pytest.raises(WhatwhereError, match="expected a run directory, since step 3 was asked for"):
        load(run.checkpoint_path(24), step=3)
    with pytest.raises(WhatwhereError, match="nothing"):
        load(tmp_path / "nothing")
    with pytest.raises(WhatwhereError, match=r"holds no config.json"):
        load(tmp_path)


def test_a_local_directory_may_carry_a_shipped_name(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "number").symlink_to(run.directory)
    monkeypatch.chdir(tmp_path)
    assert load("number").config.layers == 2


def test_a_directory_that_is_no_run_does_not_hide_a_shipped_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "letter").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load("letter").config.layers == 12


def test_a_mistyped_name_of_a_shipped_model_is_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(WhatwhereError, match=r"neither a local directory.* Or did you mean letter, which ships\?"):
        zoo.load("leter")
    with pytest.raises(WhatwhereError, match=r"try again when online\.$"):
        zoo.load("somebody/else")


def test_a_directory_with_a_model_goes_before_a_shipped_model_of_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("letter").mkdir()
    assert TRAINED.open("letter").name == "letter", "an empty directory is no model"
    Path("letter").rmdir()
    shutil.copytree(run.directory, "letter")
    opened = TRAINED.open("letter")
    assert (opened.name, opened.item.task.name) == ("./letter", "number")
    tiny_model(FAMILIES["Llama"]).save_pretrained("number")
    assert ROTARY.open("number").name == "./number"
