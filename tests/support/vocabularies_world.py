"""A made-up sweep whose runs learn at known steps and carry to known lengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from atlas_world import write_sweep

from whatwhere.heads.estimate import Estimate
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import to_frame, write_csv
from whatwhere.studies.length.tables import Accuracy, Break, LengthSettings
from whatwhere.training.config import TrainingConfig
from whatwhere.training.options import Options

SEEDS = (20, 21)
SIZES: dict[str, dict[str, int]] = {
    "base": {"letters": 8},
    "large": {"letters": 16},
    "far": {"letters": 8, "target": 8, "context": 8},
    "deep": {"letters": 8, "max_hops": 3},
    "spelled": {"letters": 8, "parts": 2},
    "spelled-large": {"letters": 16, "parts": 2},
}
RISE = {"base": 300, "large": 700, "far": 400, "deep": 500, "spelled": 400, "spelled-large": 500}
"""The step at which the last hop class rises; the seed adds nothing."""


def config_of(seed: int = 20, **sizes: int) -> TrainingConfig:
    task: dict[str, Any] = {"generator": "decoy", "target": 4, "context": 4, "max_hops": 2, "integers": 4, **sizes}
    return Options("letter", preset="smoke", seed=seed, device="cpu", **task).config()


def write_sizes(directory: Path, fails: Collection[str] = (), seeds: Sequence[int] = SEEDS) -> Path:
    """Runs of every size and seed; ``fails`` names sizes that do not learn."""
    configs = {f"{name}-{seed}": config_of(seed, **sizes) for name, sizes in SIZES.items() for seed in seeds}
    learned = {
        name: [] if kind in fails else [200.0] * (config.task.max_hops - 1) + [float(RISE[kind])]
        for name, config in configs.items()
        for kind in [name.rpartition("-")[0]]
    }
    write_sweep(directory, configs, learned)
    for name, config in configs.items():
        trained = config.task.length
        curve = {trained: 1.0, 4 * trained: 0.8 if "large" in name else 0.9, 8 * trained: 0.4}
        write_length(directory / "items" / name, curve)
    return directory


def write_length(run: Path, curve: Mapping[int, float]) -> None:
    manifest = Manifest(run / "length")
    manifest.begin("length", LengthSettings(), {})
    accuracy = [Accuracy("as trained", n, hop, exactly(share)) for n, share in curve.items() for hop in (1, None)]
    whole = Break("accuracy", "measured", None, None, None, None, None, 0.5, exactly(60.0), max(curve))
    for table, kind, rows in (("accuracy", Accuracy, accuracy), ("breaks", Break, [whole])):
        manifest.put(f"{table}.csv", write_csv(to_frame(kind, rows)))
    manifest.finish(1.0)


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 100)
