import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.work.cluster import RayCluster

SPEC = 'preset = "smoke"\ntask = "letter"\nseed = [0, 1, 2, 3]\n[measure.dynamics]\ninputs = 8\n'


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"ray is needed to run jobs on a cluster.*whatwhere\[scale\]"):
        RayCluster("auto")


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    import ray

    def refuse(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(WhatwhereError, match="expected a Ray cluster at 'auto', got Could not find"):
        RayCluster("auto")


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
def test_a_cluster_that_loses_a_node_ends_with_every_item_once(tmp_path: Path):
    """Three real nodes; one is killed without grace after the first item, while others are being done."""
    (tmp_path / "sweep.toml").write_text(SPEC)
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
    table = pd.read_csv(tmp_path / "out" / "sweep.csv")
    assert table["item"].tolist() == [f"letter-seed{seed}" for seed in range(4)]
    assert set(table["status"]) == {"done"}
