"""The arms of a sweep on the task both, read from its directory (``whatwhere sweep preference``).

An arm is what runs have in common besides the seed: a penalty, closed planes, another rotary base, random positions,
no rotation from some layer on, or nothing (``plain``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.manifest import Manifest
from whatwhere.studies.evidence import LEARNED, Evidence, NotTested
from whatwhere.studies.preference import PREFERENCE
from whatwhere.studies.preference.summary import outcomes
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import over_seeds
from whatwhere.training.config import TrainingConfig
from whatwhere.training.run import Run

ROPE_BASE = 10000.0
"""Of a plain run."""
PLAIN, PENALTY = "plain", "penalty"
COSTS = ("learned_step", "seconds")
"""Outcomes that are no shares."""
_SEED = ", seed "


def arm_of(config: TrainingConfig) -> str:
    """What distinguishes a run from a plain one, in words."""
    model, parts = config.model, []
    if config.penalty:
        parts.append(f"{PENALTY} {config.penalty:g}")
    if any(model.closed_planes):
        closed = model.closed_planes[0]
        parts.append(f"planes {closed[0]}-{closed[-1]} closed")
    if model.rope_base != ROPE_BASE:
        parts.append("no rotation" if model.rope_base is None else f"rotary base {model.rope_base:g}")
    if config.offsets:
        parts.append(f"random positions +{config.offsets}")
    if model.nope_from is not None:
        parts.append(f"NoPE from layer {model.nope_from}")
    return ", ".join(parts) or PLAIN


def read_arms(directory: Path) -> dict[str, Results]:
    """The results of a sweep by arm and seed: ``plain, seed 20``; items that are not done yet are left out.

    Raises:
        WhatwhereError: there are none, or two runs differ in something that is no part of an arm.
    """
    found: dict[str, Results] = {}
    for place in sorted(Path(directory).glob("items/*")):
        manifest = Manifest(place / PREFERENCE.name)
        if Run(place).exists and manifest.exists and manifest.record.complete:
            config = Run(place).config
            name = f"{arm_of(config)}{_SEED}{config.seed}"
            if name in found:
                raise WhatwhereError(
                    f"expected one run of {name!r}, got {found[name].directory.parent.name} and {place.name}; put runs "
                    "that differ in something else into sweeps of their own."
                )
            found[name] = Results.open(PREFERENCE, place / PREFERENCE.name, name)
    if not found:
        raise WhatwhereError(
            f"expected a sweep that measured preference, got {directory} without such results. "
            f"Make one with: whatwhere sweep {PREFERENCE.name} --out {directory}"
        )
    return found


def grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """Names such as ``plain, seed 20`` by arm; plain first."""
    arms: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (not name.startswith(PLAIN), name)):
        arms.setdefault(name.rpartition(_SEED)[0] or name, []).append(name)
    return arms


def compare(directory: Path) -> pd.DataFrame:
    """Every outcome of every arm, over its seeds, with what training cost.

    Returns:
        One row for each arm and outcome: ``arm``, ``outcome``, ``mean``, ``low``, ``high`` (95 %, Student's), ``seeds``
        and ``each``, the value of each seed. Intervals of shares end at 0 and 1. ``learned_step`` is the first
        checkpoint at which every hop class has an accuracy of 0.9, undefined if there is none.
    """
    rows = []
    results = read_arms(directory)
    for arm, names in grouped(list(results)).items():
        each: dict[str, list[float]] = {}
        for name in names:
            run = Run(results[name].directory.parent)
            for outcome, value in {**_training(run), **outcomes(results[name])}.items():
                each.setdefault(outcome, []).append(value)
        for outcome, values in each.items():
            mean = over_seeds(values, 0.0, math.inf if outcome in COSTS else 1.0)
            text = " ".join(f"{value:.4g}" for value in values)
            rows.append((arm, outcome, mean.value, mean.low, mean.high, mean.n, text))
    return pd.DataFrame(rows, columns=["arm", "outcome", "mean", "low", "high", "seeds", "each"])


def _training(run: Run) -> dict[str, float]:
    """Accuracy at the training length on the test split, and the cost."""
    metrics, test = run.metrics(), run.test()
    hops = [f"accuracy_hop{hop}" for hop in range(1, run.task.max_hops + 1)]
    learned = [row["step"] for row in metrics if min(row[hop] for hop in hops) >= LEARNED]
    return {
        "accuracy": float(np.mean([row.accuracy for row in test])) if test else np.nan,
        "learned_step": learned[0] if learned else np.nan,
        "seconds": metrics[-1]["seconds"] if metrics else np.nan,
    }


def evidence_of_arms(directory: Path) -> list[Evidence]:
    """What the claims are judged from: for each seed the arms ``plain`` and ``penalty``."""
    results = read_arms(directory)

    def of_seed(seed: str) -> Evidence:
        def find(study: str, arm: str | None) -> Results:
            names = [name for name in results if name.endswith(f"{_SEED}{seed}") and name.startswith(str(arm))]
            if study != PREFERENCE.name or len(names) != 1:
                found = " and ".join(names) or "none"
                raise NotTested(f"expected one run of the arm {arm} with seed {seed}, got {found}.", missing=not names)
            return results[names[0]]

        return Evidence(find)

    return [of_seed(seed) for seed in sorted({name.rpartition(_SEED)[2] for name in results})]
