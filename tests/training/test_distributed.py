import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import weights_of
from whatwhere.model.gptj import GPTJ
from whatwhere.training import distributed as ours
from whatwhere.training.config import TrainingConfig
from whatwhere.training.distributed import ALONE, Processes, ProcessLost
from whatwhere.training.interrupt import Interrupted
from whatwhere.training.loop import Progress, train
from whatwhere.training.run import Run


def together(*words: object, processes: int = 2) -> subprocess.CompletedProcess[str]:
    """``whatwhere`` under torchrun on a free port; outside variables of another group would be taken for its own."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*torchrun, "-m", "whatwhere", *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


def assert_close(one: GPTJ, other: GPTJ) -> None:
    """Equal up to the order of sums, of which Adam makes at most a fraction of a step where a gradient is near 0."""
    first, second = weights_of(one), weights_of(other)
    for name in first | second:
        np.testing.assert_allclose(first[name], second[name], atol=2e-5, err_msg=name)


def losses(run: Run) -> np.ndarray:
    return np.array([row["loss"] for row in run.metrics()][1:])


@pytest.mark.slow
def test_two_processes_train_as_one_does_and_one_goes_on_from_where_two_were(tmp_path: Path, config: TrainingConfig):
    # 65 sequences are 64 and 1: of the second part one process has none
    options = ["--preset", "smoke", "--threads", 1, "--batch", 65]
    done = together("train", "letter", "--out", tmp_path / "two", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("4 hops  accuracy") == 1
    assert done.stderr.count("Measuring on the test split") == 1
    alone, two = Run(tmp_path / "alone"), Run(tmp_path / "two")
    alone.create(replace(config, batch=65))
    expected = train(alone)
    assert two.steps() == alone.steps()
    np.testing.assert_allclose(losses(two), losses(alone), rtol=1e-6)
    assert_close(two.load(), expected)
    max((two.directory / "resume").iterdir()).unlink()
    seen: list[int] = []
    assert_close(train(two, lambda progress: seen.append(progress.step)), expected)
    assert seen == [21, 22, 23, 24]


@pytest.mark.slow
def test_a_run_begun_on_one_process_goes_on_with_two(tmp_path: Path, config: TrainingConfig, run: Run):
    def stop(progress: Progress) -> None:
        if progress.step == 7:
            os.kill(os.getpid(), 15)

    with pytest.raises(Interrupted):
        train(run, stop)
    done = together("train", "letter", "--out", run.directory, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    alone = Run(tmp_path / "alone")
    alone.create(config)
    assert_close(run.load(), train(alone))
    np.testing.assert_allclose(losses(run), losses(alone), rtol=1e-6)


@pytest.mark.slow
def test_a_mistake_ends_all_processes_and_is_told_once(tmp_path: Path):
    done = together("train", "letter", "--out", tmp_path / "run", "--preset", "smoke", "--batch", 1)
    assert done.returncode != 0
    assert (
        done.stderr.count("each of 2 processes needs a sequence or more in every step, and the batch of this run") == 1
    )
    assert "whatwhere/" not in done.stderr.replace("whatwhere/cli", "")  # torchrun prints a traceback, we do not
    assert not (tmp_path / "run").exists()


def test_alone_there_is_nothing_to_add_or_to_deal_out():
    gradients = [torch.ones(2, 3)]
    ALONE.sum_gradients(gradients)
    assert torch.equal(gradients[0], torch.ones(2, 3))
    assert ALONE.rows(7) == range(7)
    assert [Processes(rank, 3).rows(7) for rank in range(3)] == [range(2), range(2, 4), range(4, 7)]


def test_gradients_are_summed_in_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(distributed, "all_reduce", lambda flat: flat.mul_(3))
    gradients = [torch.ones(2, 3), torch.arange(4.0), torch.tensor(5.0)]
    before = [gradient.clone() for gradient in gradients]
    Processes(0, 3).sum_gradients(gradients)
    assert all(torch.equal(after, 3 * one) for after, one in zip(gradients, before, strict=True))


def test_processes_on_one_host_share_its_threads():
    assert [Processes(0, 8, beside).threads(8) for beside in (1, 2, 3, 100)] == [8, 4, 2, 1]


def test_processes_without_work_or_device_are_refused(config: TrainingConfig, monkeypatch: pytest.MonkeyPatch):
    assert Processes(0, 16, 16).checked(config) == config
    with pytest.raises(WhatwhereError, match=r"each of 17 processes needs .* and the batch of this run is 16\."):
        Processes(0, 17, 17).checked(config)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    with pytest.raises(WhatwhereError, match="8 processes on this host need a GPU each, and it has 4"):
        Processes(0, 16, 8).checked(replace(config, device="cuda"))


@pytest.mark.parametrize("error", [distributed.DistBackendError("gone"), RuntimeError("[gloo/pair.cc] closed")])
def test_a_broken_connection_is_said_in_words(error: RuntimeError, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(distributed, "all_reduce", broken)
    with pytest.raises(ProcessLost, match="another process of this training ended or cannot be reached"):
        Processes(0, 2).add([1.0])


def test_a_defect_is_not_taken_for_a_broken_connection():
    with pytest.raises(RuntimeError, match="shapes differ"), ours._reporting_lost_processes():
        raise RuntimeError("shapes differ")


def test_who_only_helps_leaves_the_group_and_skips_pythons_clean_up(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    steps: list[object] = []

    def end(code: int) -> None:
        steps.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(distributed, "destroy_process_group", lambda: steps.append("left"))
    monkeypatch.setattr(os, "_exit", end)
    sys.stderr.write("the last words")
    with pytest.raises(SystemExit):
        ours.leave(5)
    assert steps == ["left", 5]
    assert capfd.readouterr().err == "the last words"
