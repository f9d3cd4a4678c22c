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
from whatwhere.store.tensors import save_tensors
from whatwhere.tasks.batch import Batch
from whatwhere.training import run as runs
from whatwhere.training.config import TrainingConfig
from whatwhere.training.environment import environment
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run


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
