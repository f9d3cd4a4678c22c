import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.training.config import TrainingConfig
from whatwhere.training.environment import environment
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run


def test_a_configuration_comes_back_from_disk(run: Run, config: TrainingConfig):
    assert run.config == config


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"is not one\. Make one with: whatwhere train"):
        _ = Run(tmp_path / "nowhere").config
    (tmp_path / "config.json").write_text('{"other": 1}')
    with pytest.raises(WhatwhereError, match="has no part 'training'"):
        _ = Run(tmp_path).config


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


def test_damaged_metrics_are_refused(run: Run):
    run.metrics_path.write_text("step,loss,accuracy\n1,x,0\n")
    with pytest.raises(WhatwhereError, match="is damaged"):
        run.metrics()


def test_what_a_crash_left_behind_is_swept_up(run: Run):
    killed = subprocess.Popen(["true"])
    killed.wait()
    folder = run.directory / "checkpoints"
    folder.mkdir()
    litter = folder / f"step-00000024.safetensors.{socket.gethostname()}.{killed.pid}.partial"
    in_use = folder / f"step-00000024.safetensors.{socket.gethostname()}.{os.getppid()}.partial"
    for path in (litter, in_use):
        path.write_text("half")
    train(run)
    assert not litter.exists()
    assert in_use.exists()  # its process runs


def test_the_test_split_is_measured_once_and_kept(run: Run, monkeypatch: pytest.MonkeyPatch):
    train(run)
    result = measure_on_test_split(run)
    assert result["sequences"] == len(run.task.dataset(run.config.dataset_size, 0).test)
    assert len(result["accuracy_by_hop"]) == 4
    monkeypatch.setattr(Run, "load", None)
    assert measure_on_test_split(run) == result


def test_the_environment_names_versions_and_revision():
    found = environment()
    assert {"whatwhere", "torch", "numpy", "python", "revision", "machine"} <= found.keys()


def test_the_number_of_threads_is_part_of_a_run(config: TrainingConfig):
    assert replace(config, threads=2).to_dict()["threads"] == 2
