import json
import os
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.machine.device import Precision
from whatwhere.model.checkpoint import weights_of
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel.build import kernels
from whatwhere.store.documents import plain
from whatwhere.store.manifest import fingerprint
from whatwhere.store.tensors import save_tensors
from whatwhere.tasks.batch import Batch
from whatwhere.training import run as runs
from whatwhere.training.config import TrainingConfig
from whatwhere.training.environment import environment
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run, State


def test_a_configuration_comes_back_from_disk(run: Run, config: TrainingConfig):
    assert run.config == config


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"expected a run directory .* Make one with: whatwhere train"):
        _ = Run(tmp_path / "nowhere").config
    (tmp_path / "config.json").write_text('{"other": 1}')
    with pytest.raises(WhatwhereError, match=r"made by whatwhere 0\.1, which this version does not read"):
        _ = Run(tmp_path).config


def test_a_changed_configuration_is_noticed(run: Run):
    path = run.directory / "config.json"
    path.write_text(path.read_text().replace('"batch": 16', '"batch": 17'))
    with pytest.raises(WhatwhereError, match=r"is not the file that manifest\.json describes"):
        _ = Run(run.directory).config


def test_a_run_is_never_begun_over_something_else(run: Run, tmp_path: Path, config: TrainingConfig):
    with pytest.raises(WhatwhereError, match=r"holds a run already\. Continue it with --resume"):
        run.create(config)
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(WhatwhereError, match="exists and is not empty"):
        Run(tmp_path).create(config)
    with pytest.raises(WhatwhereError, match="exists and is not empty"):
        Run(tmp_path / "letters.txt").create(config)


def test_a_checkpoint_that_does_not_exist_is_refused(run: Run):
    with pytest.raises(WhatwhereError, match="has no checkpoints yet"):
        run.load()
    train(run)
    with pytest.raises(WhatwhereError, match=r"has no checkpoint of step 23; it has \d, from step 0 to step 24"):
        run.load(23)


def test_a_run_knows_when_it_has_ended(run: Run):
    assert not run.ended
    train(run)
    assert run.ended
    assert len(list((run.directory / "resume").iterdir())) == 2, "older states are dropped"


def test_damaged_metrics_are_refused(run: Run):
    assert run.metrics() == []
    run.manifest.put("metrics.csv", b"step,loss,accuracy\n1,x,0\n")
    with pytest.raises(WhatwhereError, match="is damaged"):
        run.metrics()
    (run.directory / "metrics.csv").write_text("step,loss,accuracy\n1,2,0\n")
    with pytest.raises(WhatwhereError, match=r"is not the file that manifest\.json describes"):
        run.metrics()


def test_what_a_crash_left_behind_is_removed(run: Run):
    killed = subprocess.Popen(["true"])
    killed.wait()
    folder = run.directory / "checkpoints"
    folder.mkdir()
    litter = folder / f"step-00000024.safetensors.{socket.gethostname()}.{killed.pid}.ab.partial"
    in_use = folder / f"step-00000024.safetensors.{socket.gethostname()}.{os.getppid()}.ab.partial"
    for path in (litter, in_use):
        path.write_text("half")
    train(run)
    assert not litter.exists()
    assert in_use.exists()  # its process runs


def test_the_test_split_is_measured_once_and_kept(run: Run, monkeypatch: pytest.MonkeyPatch):
    train(run)
    result = measure_on_test_split(run)
    assert sum(row.sequences for row in result) == len(run.task.split("test", run.config.dataset_size, 0))
    assert [row.hop for row in result] == [1, 2, 3, 4]
    monkeypatch.setattr(Run, "load", None)
    again = measure_on_test_split(run)
    assert [row.accuracy for row in again] == pytest.approx([row.accuracy for row in result])
    assert [row.sequences for row in again] == [row.sequences for row in result]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_test_split_is_measured_in_the_precision_of_the_training(
    tmp_path: Path, config: TrainingConfig, precision: Precision, monkeypatch: pytest.MonkeyPatch
):
    def accuracies(model: GPTJ, _: Batch, most: int) -> list[float]:
        assert {block.product for block in model.layers()} == {getattr(torch, precision)}
        return [1.0] * most

    run = Run(tmp_path / "run")
    run.create(replace(config, precision=precision))
    train(run)
    monkeypatch.setattr("whatwhere.training.evaluate.accuracy_by_hop", accuracies)
    assert len(measure_on_test_split(run)) == run.task.max_hops


def test_the_environment_names_versions_and_revision():
    found = environment()
    assert {"whatwhere", "torch", "numpy", "python", "revision", "machine"} <= found.keys()


def test_the_number_of_threads_is_part_of_a_run(config: TrainingConfig):
    assert replace(config, threads=2).to_dict()["threads"] == 2


@pytest.fixture
def two_runs(tmp_path: Path, config: TrainingConfig) -> tuple[Run, Run]:
    made = []
    for seed in (0, 1):
        run = Run(tmp_path / str(seed))
        run.create(replace(config, seed=seed))
        train(run)
        made.append(run)
    return made[0], made[1]


@pytest.mark.slow
def test_files_of_another_run_or_step_are_not_taken_for_ones_own(two_runs: tuple[Run, Run]):
    run, other = two_runs
    state, states = "the state of the run at", sorted((run.directory / "resume").iterdir())
    states[-1].write_bytes((other.directory / "resume" / states[-1].name).read_bytes())
    found, problems = run.latest_state()
    assert found is not None and found.step < 24
    assert len(problems) == 1 and state in problems[0] and "is that of another run or step" in problems[0]
    states[-1].write_bytes(states[0].read_bytes())
    assert "is that of another run or step" in run.latest_state()[1][0]
    listed = json.dumps({"step": 24, "run": run.owner, "counters": [["seconds", 1]]})
    for notes in ({}, {"state": listed}):
        save_tensors(states[-1], {"a": np.zeros(1)}, notes)
        assert "lacks its description" in run.latest_state()[1][0]
    run.checkpoint_path(24).write_bytes(other.checkpoint_path(24).read_bytes())
    with pytest.raises(
        WhatwhereError, match=r"holds the model of another run than it should .* Put the right file back"
    ):
        run.load(24)
    run.checkpoint_path(24).write_bytes(run.checkpoint_path(0).read_bytes())
    with pytest.raises(WhatwhereError, match=r"another step than it should \(0, not 24\)"):
        run.load(24)
    (run.directory / "metrics.csv").write_bytes((other.directory / "metrics.csv").read_bytes())
    with pytest.raises(WhatwhereError, match="put there from elsewhere"):
        run.metrics()


def test_a_damaged_last_model_is_replaced_with_a_warning(run: Run):
    train(run)
    whole = weights_of(run.load())
    run.checkpoint_path(24).write_bytes(b"")
    with pytest.warns(WhatwhereWarning, match="The state of step 24 has the same model"):
        assert all((whole[name] == weight).all() for name, weight in weights_of(run.load()).items())
    shutil.rmtree(run.directory / "resume")
    with pytest.warns(WhatwhereWarning, match="Taking the model of step 20 instead"):
        run.load()
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        run.load(24)  # who asks for a step gets that step or none


def test_a_run_that_stopped_right_after_its_beginning_measures_it_once(run: Run, monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("whatwhere.training.loop._Training._step", stop)
        train(run)
    train(run)
    assert [row["step"] for row in run.metrics()] == run.steps()


def test_sizes_that_cannot_fit_are_refused_before_the_run_begins(tmp_path: Path, config: TrainingConfig):
    with pytest.raises(WhatwhereError, match=r"training with .* batches of 1,000,000,000,000 would take about"):
        Run(tmp_path / "run").create(replace(config, batch=10**12))
    assert not (tmp_path / "run").exists()


def test_a_test_result_of_an_earlier_model_does_not_count(run: Run):
    train(run)
    last = run.steps()[-1]
    run.write_test([runs.TestAccuracy(last - 1, 1, 0.5, 10)])
    assert run.test() == []
    run.write_test([runs.TestAccuracy(last, 1, 0.5, 10)])
    assert [row.accuracy for row in run.test()] == [0.5]
    for step in run.steps():
        run.checkpoint_path(step).unlink()
    assert run.test() == []


@pytest.mark.parametrize(("accuracy", "sequences"), [(1.5, 10), (-0.1, 10), (float("nan"), 10), (0.5, 0)])
def test_an_impossible_test_result_is_refused(accuracy: float, sequences: int):
    with pytest.raises(WhatwhereError, match="expected an accuracy from 0 to 1 of 1 or more sequences"):
        runs.TestAccuracy(1, 1, accuracy, sequences)


def test_shares_of_none_and_all_are_possible(run: Run):
    columns = ("step", "sequences", "loss", "lr", "seconds", "accuracy")
    rows: list[dict[str, float]] = [dict.fromkeys(columns, share) for share in (0.0, 1.0)]
    run.write_metrics(rows)
    assert run.metrics() == rows


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("accuracy_hop1", "wings", ""),
        ("seconds", "wings", "expected the column 'seconds', got none"),
        ("\n0,", "\nx,", "is damaged"),
        (",0\n", ",2\n", "accuracies from 0 to 1"),
        ("\n0,", "\n,", "expected whole steps"),
    ],
)
def test_metrics_without_their_columns_or_with_impossible_shares_are_refused(
    run: Run, old: str, new: str, message: str
):
    run.write_metrics([dict.fromkeys(("step", "sequences", "loss", "lr", "seconds", "accuracy_hop1", "accuracy"), 0.0)])
    content = run.manifest.get("metrics.csv", "it").decode().replace(old, new)
    run.manifest.put("metrics.csv", content.encode())
    if not message:  # a hop class that was not measured
        assert "wings" in run.metrics()[0]
        return
    with pytest.raises(WhatwhereError, match=message):
        run.metrics()


def test_a_hop_class_is_counted_from_one_and_all_or_none_may_be_right():
    for accuracy in (0.0, 1.0):
        assert runs.TestAccuracy(1, 1, accuracy, 1).accuracy == accuracy
    with pytest.raises(WhatwhereError, match="expected an accuracy from 0 to 1"):
        runs.TestAccuracy(1, 0, 0.5, 10)


def test_files_that_are_no_checkpoints_have_no_step(run: Run):
    folder = run.directory / "checkpoints"
    folder.mkdir()
    for name in ("step-00000012.safetensors", "step-00000004.safetensors", "step-x.safetensors", "other-3.safetensors",
                 "step-00000008.partial"):  # fmt: skip
        (folder / name).write_text("")
    assert run.steps() == [4, 12]
    assert run.checkpoint_path(12) == folder / "step-00000012.safetensors"


def test_the_two_latest_states_are_kept_and_the_newest_whole_one_is_taken(run: Run):
    for step in (4, 8, 12):
        run.save_state(State(step, {"model.a": np.arange(2.0), "adam.a": np.zeros(1)}, {"seconds": float(step)}))
    names = sorted(path.name for path in (run.directory / "resume").iterdir())
    assert names == ["step-00000008.safetensors", "step-00000012.safetensors"]
    state, problems = run.latest_state()
    assert state is not None and (state.step, problems, state.counters) == (12, [], {"seconds": 12.0})
    assert list(state.below("model.")) == ["a"] and state.below("model.")["a"].tolist() == [0, 1]
    (run.directory / "resume" / names[1]).write_bytes(b"")
    state, problems = run.latest_state()
    assert state is not None and state.step == 8 and len(problems) == 1


def test_a_run_is_not_begun_in_a_place_that_holds_a_link_or_a_folder(tmp_path: Path, config: TrainingConfig):
    (tmp_path / "place" / "folder").mkdir(parents=True)
    with pytest.raises(WhatwhereError, match="exists and is not empty"):
        Run(tmp_path / "place").create(config)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / ".notes").write_text("")
    (tmp_path / "hidden" / "config.json.x.1.partial").write_text("")
    run = Run(tmp_path / "hidden")
    run.create(config)
    assert run.exists and run.config == config


def test_a_run_whose_creation_was_killed_is_begun_again(
    tmp_path: Path, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
):
    run = Run(tmp_path / "run")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("whatwhere.store.manifest.write_bytes", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run.create(config)
    assert run.manifest.path.is_file() and not run.exists
    again = Run(tmp_path / "run")
    again.create(config)
    assert again.config == config


def test_a_run_says_what_it_was_made_with_and_where_its_model_came_from(tmp_path: Path, config: TrainingConfig):
    run = Run(tmp_path / "run")
    run.create(config, {"origin": "elsewhere"})
    about = run.about()
    assert (about["origin"], about["training"]) == ("elsewhere", plain(config.to_dict()))
    assert about["environment"]["kernels"] is (kernels().library is not None)
    assert run.manifest.record.kind == "run" and run.manifest.record.settings == plain(config.decisive())
    assert run.owner == fingerprint(config.to_dict())


def test_a_run_that_does_not_fit_is_not_trained(run: Run, monkeypatch: pytest.MonkeyPatch):
    asked = run.config.memory
    monkeypatch.setattr("whatwhere.machine.memory.free_bytes", lambda: asked - 1)
    with run.held("score"):
        pass
    with pytest.raises(WhatwhereError, match=r"training with .* would take about"), run.held("train"):
        pass


@pytest.mark.slow
def test_a_substitute_for_a_damaged_model_needs_no_gradient(run: Run):
    train(run)
    run.checkpoint_path(24).write_bytes(b"")
    with pytest.warns(WhatwhereWarning):
        model = run.load()
    assert model.task == run.task
    assert not any(parameter.requires_grad for parameter in model.parameters())
    shutil.rmtree(run.directory / "resume")
    for step in run.steps()[:-1]:
        run.checkpoint_path(step).write_bytes(b"")
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        run.load()


def test_metrics_with_a_broken_step_or_share_are_refused_and_an_undefined_one_is_not(run: Run):
    columns = ("step", "sequences", "loss", "lr", "seconds", "accuracy")
    whole: dict[str, float] = dict.fromkeys(columns, 0.0)
    run.write_metrics([whole, whole | {"accuracy": float("nan"), "loss": float("nan")}])
    assert len(run.metrics()) == 2
    for wrong in ({"step": 0.5}, {"accuracy": -0.1}, {"accuracy": 1.1}):
        run.write_metrics([whole, whole | wrong])
        with pytest.raises(WhatwhereError, match="expected whole steps and accuracies from 0 to 1"):
            run.metrics()
