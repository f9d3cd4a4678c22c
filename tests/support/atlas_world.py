"""A made-up atlas with known effects, as the tables that ship; and a made-up sweep, as a directory of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dynamics_world import made_up

from whatwhere.store.files import write_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import to_frame, write_csv
from whatwhere.studies import STUDIES
from whatwhere.studies.atlas import ATLAS
from whatwhere.studies.atlas.claim_map import judged_claims
from whatwhere.studies.atlas.factors import DATA, without
from whatwhere.studies.atlas.measure import SHIPPED
from whatwhere.studies.atlas.tables import Item, ItemVerdict, Outcome, Point
from whatwhere.studies.subject import SWEEP
from whatwhere.training.config import TrainingConfig
from whatwhere.training.options import Options
from whatwhere.training.run import Run, TestAccuracy

SEEDS = (20, 21, 22)
CONDITIONS = {
    "letter": (
        "base", "decoy", "rate x0.5", "rate x2", "decoy, rate x0.5", "decoy, rate x2", "attention dropout 0",
        "decoy, attention dropout 0", "heads 2", "heads 4", "layers 4", "layers 6", "strict", "steps x0.5", "steps x2",
        "weight decay 0.1", "decoy, weight decay 0.1",
    ),
    "number": (
        "base", "rate x0.5", "rate x2", "attention dropout 0", "heads 2", "heads 4", "layers 4", "layers 6",
        "any-integers", "steps x0.5", "steps x2",
    ),
}  # fmt: skip
LEARNS_NOT = ("letter", "layers 4", 22)
GAP = {"letter": 1.1, "number": 1.7}
LEAK = 0.3
"""What leak-free data add to the timing gap of letters, and a tenth of it with each later seed."""


def atlas_rows(
    seeds: Sequence[int] = SEEDS,
) -> tuple[list[Item], list[Outcome], list[ItemVerdict], list[Point]]:
    """The four tables that ship."""
    items: list[Item] = []
    outcomes: list[Outcome] = []
    verdicts: list[ItemVerdict] = []
    points: list[Point] = []
    for task, conditions in CONDITIONS.items():
        for condition in conditions:
            for seed in seeds:
                item = _item(task, condition, seed)
                items.append(item)
                outcomes += [Outcome(item.item, name, value) for name, value in _numbers(item).items()]
                verdicts += _verdicts(item)
                points += [
                    Point(item.item, step, hop, min(1.0, step / (600 + 100 * hop)))
                    for step in range(0, 2501, 250)
                    for hop in range(1, 5)
                ]
    return items, outcomes, verdicts, points


def use_shipped(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the study take the tables of a directory for those that ship."""
    monkeypatch.setitem(STUDIES, "atlas", replace(ATLAS, subject=replace(SWEEP, shipped=directory)))


def write_shipped(directory: Path, seeds: Sequence[int] = SEEDS) -> None:
    """The same as the files that ship."""
    for (name, kind), rows in zip(SHIPPED.items(), atlas_rows(seeds), strict=True):
        write_bytes(directory / f"{name}.csv", write_csv(to_frame(kind, rows)))


def _item(task: str, condition: str, seed: int) -> Item:
    layers = 4 if "layers 4" in condition else 6 if "layers 6" in condition else 12
    heads = 2 if "heads 2" in condition else 4 if "heads 4" in condition else 1
    data = "decoy" if "decoy" in condition else "paper" if task == "letter" else "in-range"
    name = f"{task}-{condition.replace(', ', '-').replace(' ', '_')}-seed{seed}"
    learned = (task, condition, seed) != LEARNS_NOT
    return Item(name, task, seed, condition, data, 5e-4, 2500, 0.1, heads, layers, 1e-4, learned)


def _numbers(item: Item) -> dict[str, float]:
    draw = np.random.default_rng(len(item.condition) * 100 + item.seed)
    later = item.seed - SEEDS[0]
    decoy = item.data == "decoy"
    gap = GAP[item.task] + 0.01 * later + decoy * (LEAK + 0.03 * later) + 0.05 * ("rate x2" in item.condition) * decoy
    return {
        "learned": float(item.learned),
        "worst_accuracy": 1.0 if item.learned else 0.5,
        "timing_gap": gap,
        "pure_share": 0.9 - 0.3 * ("dropout" in item.condition) - 0.01 * later,
        "pure_share_tau0.1": 0.6,
        "pure_positional": 0.0 if item.task == "letter" or "rate x2" in item.condition else 3.0,
        "split_layers": float(2 * (item.heads == 4)),
        "last_layer_is_last": float(later != 2),
        "last_layer_never_pure": 0.0,
        "purity_order": 0.8,
        "sufficient_heads": 5.0 + later,
        "layers_per_hop": 1 + 0.1 * float(draw.random()),
        "chain_accuracy": float(draw.random()),
        "accuracy_145": float(draw.random()),
        "accuracy_850": 0.7 + 0.1 * ("steps x2" in item.condition) + 0.01 * later,
        "break_length": 55.0 + later if item.task == "number" else float("nan"),
    }


def _verdicts(item: Item) -> list[ItemVerdict]:
    """Of every fourth claim: the first holds, the second depends on the seed, the third fails where rates are high."""
    asked = {claim.id: claim.question for claim in judged_claims()}
    about = [claim for claim in asked if item.task in claim]
    condition = without(item.condition, DATA)
    partner = _item("number", condition, item.seed).item if condition in CONDITIONS["number"] else None
    rows: list[tuple[str | None, str, float, bool | None, str]] = [
        (None, about[0], 1.0, True, ""),
        (None, about[1], 0.5, item.seed == SEEDS[0], ""),
        (None, about[2], 0.1, "rate x2" not in item.condition, ""),
        (None, about[3], float("nan"), None, "it could not be asked"),
    ]
    if item.task == "letter":
        rows.append((partner, "scores-start-high", 1.0, True, ""))
    return [ItemVerdict(item.item, *row, asked[row[1]]) for row in rows]


def write_sweep(
    directory: Path, items: Mapping[str, Options | TrainingConfig], learned: Mapping[str, Sequence[float]]
) -> None:
    """A sweep whose runs were never trained: configuration, test result and scores are made up.

    Args:
        directory: of the sweep.
        items: by name, how they are trained.
        learned: of items that are done, the step at which each hop class rises; without steps it learns nothing.
    """
    lines = ["item,status,problem"]
    for name, options in items.items():
        lines.append(f"{name},{'done' if name in learned else 'waiting'},")
        if name in learned:
            _write_run(Run(directory / "items" / name), options, learned[name])
    write_bytes(directory / "sweep.csv", "\n".join([*lines, ""]).encode())


def _write_run(run: Run, options: Options | TrainingConfig, learned: Sequence[float]) -> None:
    config = options.config() if isinstance(options, Options) else options
    run.create(config)
    last = config.schedule.steps
    write_bytes(run.checkpoint_path(last), b"")  # a checkpoint to belong to; nobody opens it
    hops = config.task.max_hops
    run.write_test([TestAccuracy(last, hop, 0.99 if learned else 0.3, 100) for hop in range(1, hops + 1)])
    made = made_up(config.task.name, learned or [9999] * hops, layers=config.model.layers, heads=config.model.heads)
    manifest = Manifest(run.directory / "dynamics")
    manifest.begin("dynamics", made.settings, {"task": config.task.to_dict()})
    for table, frame in made.tables.items():
        manifest.put(f"{table}.csv", write_csv(frame))
    manifest.finish(1.0)
