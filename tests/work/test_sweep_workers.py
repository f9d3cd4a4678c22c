import csv
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from whatwhere.experiments import sweep_item

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import Settings
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run
from whatwhere.work.sweep import Sweep
from whatwhere.work.sweep_item import do_item
from whatwhere.work.sweep_spec import Item, Measures, read_sweep
from whatwhere.work.sweep_workers import LocalWorkers, RayWorkers, attempt_item

SPEC = 'preset = "smoke"\ntask = "letter"\nseed = [0, 1, 2, 3]\n[measure]\nscores = 8\n'


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    (tmp_path / "sweep.toml").write_text(SPEC)
    return read_sweep(tmp_path / "sweep.toml")


def test_an_item_is_a_run_trained_measured_and_scored(tmp_path: Path, items: list[Item]):
    found = do_item(str(tmp_path), items[1])
    by_hand = Run(tmp_path / "by hand")
    by_hand.create(items[1].training)
    train(by_hand)
    test = measure_on_test_split(by_hand)
    history = score_run(by_hand, Settings(inputs=8))
    assert [found["row"][f"accuracy_hop{hop}"] for hop in range(1, 5)] == test["accuracy_by_hop"]
    assert found["row"]["steps"] == 24
    assert found["row"]["positional"] == pytest.approx(history.positional[-1].mean())
    assert [head["symbolic"] for head in found["heads"]] == pytest.approx(history.symbolic[-1, :, 0].tolist())
    again = do_item(str(tmp_path), items[1])
    assert again == found


def test_a_model_that_is_there_is_measured_as_it_is(tmp_path: Path):
    found = do_item(str(tmp_path), Item("n", {"model": "letter"}, Measures(scores=16)))
    assert found["row"]["accuracy"] > 0.99
    assert found["row"]["symbolic_max"] > 0.9
    assert len(found["heads"]) == 12


def test_analyses_that_are_asked_for_lie_with_the_item(
    tmp_path: Path, items: list[Item], monkeypatch: pytest.MonkeyPatch
):
    plan = sweep_item.LengthPlan
    monkeypatch.setattr(sweep_item, "LengthPlan", partial(plan, lengths=(33,), varied_lengths=()))
    measures = Measures(scores=0, length=16)
    found = do_item(str(tmp_path), replace(items[0], measures=measures))
    assert found["heads"] == []
    assert found["row"]["half_length"] <= 17  # it has learned nothing
    assert (tmp_path / "items" / items[0].name / "length" / "accuracy.csv").is_file()


def test_whatever_goes_wrong_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    item = Item("x", {"model": str(tmp_path / "nowhere")}, Measures())
    results, problem = attempt_item(str(tmp_path), item, 1)
    assert results is None
    assert "there is nothing at" in problem

    def defect(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(sweep_item, "do_item", defect)
    assert attempt_item(str(tmp_path), item, 1) == (None, "ZeroDivisionError: oh")


@pytest.mark.slow
def test_local_processes_do_all_items_though_one_is_killed(tmp_path: Path, items: list[Item]):
    workers = LocalWorkers(str(tmp_path), 2)
    killed: list[int] = []
    begin = workers.begin

    def begin_and_kill(item: Item, attempt: int) -> None:
        begin(item, attempt)
        if not killed:
            process = next(iter(workers._busy.values()))[0]
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)

    workers.begin = begin_and_kill  # pyright: ignore[reportAttributeAccessIssue]
    events: list[tuple[str, str]] = []
    try:
        work = Sweep(items[:3], tmp_path)
        work.run(workers, 1, lambda _, event, why: events.append((event, why)))
    finally:
        workers.stop()
    assert ("again", "its process ended early (exit code -9)") in events
    assert [row["status"] for row in work.collect()] == ["done"] * 3
    assert Run(tmp_path / "items" / items[0].name).ended


@pytest.mark.parametrize("package", ["ray"])
def test_a_missing_extra_says_how_to_install_it(package: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"ray is needed to run a sweep on a cluster.*whatwhere\[scale\]"):
        RayWorkers(".", "auto")


def test_a_cluster_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch):
    import ray

    def refuse(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(WhatwhereError, match="a Ray cluster was expected at 'auto', and it cannot be reached"):
        RayWorkers(".", "auto")


CLUSTER = """
import os, subprocess, sys
from ray.cluster_utils import Cluster

small = {"object_store_memory": 80_000_000, "num_cpus": 1}
cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False, "num_cpus": 0})
victim = cluster.add_node(**small)
cluster.add_node(**small)
cluster.wait_for_nodes()
command = [sys.executable, "-m", "whatwhere", "sweep", sys.argv[1], "--out", sys.argv[2], "--ray", cluster.address]
sweep = subprocess.Popen([*command, "--json"], stderr=subprocess.PIPE, stdout=sys.stdout, text=True)
for line in sweep.stderr:
    sys.stderr.write(line)
    if victim and ": done" in line:
        cluster.remove_node(victim, allow_graceful=False)
        victim = None
assert victim is None, "nothing was done"
sys.exit(sweep.wait())
"""


@pytest.mark.slow
def test_a_cluster_that_loses_a_node_ends_with_every_item_once(tmp_path: Path, items: list[Item]):
    """Three real nodes; one is killed without grace after the first item, while others are being done."""
    quiet = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_prestart_worker_first_driver": "0",
        "RAY_worker_niceness": "0",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLUSTER, str(tmp_path / "sweep.toml"), str(tmp_path / "out")],
        capture_output=True, text=True, check=False, env={**os.environ, **quiet},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "sweep.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [(row["item"], row["status"]) for row in rows] == [(item.name, "done") for item in items]
    alone = do_item(str(tmp_path / "alone"), items[3])  # the same code, the same results
    assert float(rows[3]["positional"]) == pytest.approx(alone["row"]["positional"], abs=1e-9)
