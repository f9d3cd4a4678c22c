"""Writes ``docs/timing.md``: ``python tools/timing_table.py > docs/timing.md``.

When each hop class is learned and when heads become pure, over the seeds that ship.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whatwhere.heads.estimate import Estimate
from whatwhere.store.files import read_bytes
from whatwhere.studies.claim import listed
from whatwhere.studies.dynamics import DYNAMICS
from whatwhere.studies.dynamics.association import heads_with_hops, purity_with_accuracy
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.learning import learned_steps
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import over_seeds
from whatwhere.zoo.load import SHIPPED, SHIPPED_AT

HEAD = """# When things are learned

Preset `paper`, seeds {seeds}. This page is generated: `python tools/timing_table.py > docs/timing.md`.

## Hop classes

The step at which the isotonic fit of a hop class's accuracy reaches 0.9 (95 %, over inputs). In brackets the *rate
time* at this step: the sum of all learning rates so far, in steps at the peak rate. Early steps are small, and rate
time counts them as such, so its ratio tells an order of learning from one of the schedule.
"""
CORRELATIONS = """
In rate time hop classes of the number task and of the control lie farther apart than in steps, and those of the letter
task as close.

## Pure heads and accuracy

Spearman's rank correlation over 100 checkpoints at equal distances of the square root of the step: the number of pure
heads with mean accuracy, and that of positional heads with learned hop classes. Mean over seeds with Student's 95 %
interval, then each seed. Any two curves that rise correlate, so two columns tell whether they rise together: the share
of far shifts in time that correlate as well, and the checkpoints by which heads come later at the best shift.

| | correlation | each seed | far shifts as good | heads come later by |
|---|---|---|---|---|"""
LAGS = """
## Heads against hop classes

Steps from the learning of a hop class to the step from which a head stays pure (gamma 0.1, last query, tau 1e-4): mean
over seeds with Student's 95 % interval. Negative: the head comes first. Heads that end pure with every seed are listed.

| model | kind | layer | after 1 hop | 2 hops | 3 hops | 4 hops |
|---|---|---|---|---|---|---|"""
END = """
- **Number**: one hop is learned before any positional head is pure, by 900 steps in the mean. So one hop does not
  require pure positional heads. Around the time of four hops layers 1 and 2 become pure; their intervals reach across
  0.
- **Letter**: layers 1 to 3 are pure before any hop class is learned, layers 7 to 9 and 11 after all of them, in the
  order of the layers. So these late heads need not be pure for the task to be learned.
- **Control**: layers 0 and 1 come first, and each later layer after the one before it."""


def rate_time(metrics: pd.DataFrame, step: float) -> float:
    """The sum of the learning rates up to a step, in steps at the peak rate."""
    steps, rates = metrics["step"].to_numpy(float), metrics["lr"].to_numpy(float) / metrics["lr"].max()
    sums = np.concatenate([[0.0], np.cumsum(np.diff(steps) * (rates[1:] + rates[:-1]) / 2)])
    return float(np.interp(step, steps, sums))


def hop_lines(homes: dict[int, Path], model: str) -> list[str]:
    """A row of the table for each seed, and their ratios."""
    lines = []
    for seed, home in homes.items():
        run = Training(Results.open(DYNAMICS, home / model / DYNAMICS.name))
        metrics = pd.read_csv(io.BytesIO(read_bytes(home / model / "metrics.csv", "the metrics")))
        found = learned_steps(run)
        times = {hop: rate_time(metrics, step.value) for hop, step in found.items()}
        cells = [f"{step.value:,.0f} ({_ends(step)}) [{times[hop]:,.0f}]" for hop, step in found.items()]
        ratios = [max(values) / min(values) for values in ([one.value for one in found.values()], list(times.values()))]
        lines.append(f"| {model}, seed {seed} | {' | '.join(cells)} | {ratios[0]:.2f} [{ratios[1]:.2f}] |")
    return lines


def correlation_lines(homes: dict[int, Path], model: str) -> list[str]:
    """A row for purity with accuracy, and for positional heads with hop classes where heads end positional."""
    runs = [Training(Results.open(DYNAMICS, home / model / DYNAMICS.name)) for home in homes.values()]
    asked = {"pure heads with accuracy": [purity_with_accuracy(run) for run in runs]}
    if all(run.scores.purity().joined("positional") for run in runs):
        asked["positional heads with hop classes"] = [heads_with_hops(run, "positional") for run in runs]
    lines = []
    for name, found in asked.items():
        mean = over_seeds((one.correlation for one in found), most=1)
        columns = ([getattr(one, what) for one in found] for what in ("correlation", "by_shift", "lag"))
        each = " | ".join(", ".join(f"{round(number, 2):g}" for number in numbers) for numbers in columns)
        lines.append(f"| {model}, {name} | {mean.value:.2f} ({mean.low:.2f} to {mean.high:.2f}) | {each} |")
    return lines


def lag_lines(homes: dict[int, Path], model: str) -> list[str]:
    """A row for each head that ends pure with every seed."""
    frames = [
        Results.open(DYNAMICS, home / model / DYNAMICS.name)["lags"].assign(seed=seed) for seed, home in homes.items()
    ]
    lines = []
    every: Any = pd.concat(frames).groupby(["kind", "layer"])
    for (kind, layer), rows in every:
        if rows["seed"].nunique() < len(homes):
            continue
        lags = [over_seeds(of_hop["lag"]) for _, of_hop in rows.groupby("hop")]
        cells = [f"{lag.value:,.0f} ({_ends(lag)})" if lag.low == lag.low else f"{lag.value:,.0f}" for lag in lags]
        lines.append(f"| {model} | {kind} | {layer} | {' | '.join(cells)} |")
    return lines


def _ends(estimate: Estimate) -> str:
    return f"{estimate.low:,.0f} to {estimate.high:,.0f}"


def page() -> str:
    """The page as Markdown."""
    seeds = sorted(path for path in SHIPPED_AT.glob("seeds/*") if path.is_dir())
    homes = {10: SHIPPED_AT, **{int(path.name): path for path in seeds}}
    lines = [
        HEAD.format(seeds=listed(list(homes))),
        "| | 1 hop | 2 hops | 3 hops | 4 hops | last over first |",
        "|---|---|---|---|---|---|",
    ]
    for model in SHIPPED:
        lines += hop_lines(homes, model)
    lines.append(CORRELATIONS)
    for model in SHIPPED:
        lines += correlation_lines(homes, model)
    lines.append(LAGS)
    for model in SHIPPED:
        lines += lag_lines(homes, model)
    return "\n".join([*lines, END, ""])


if __name__ == "__main__":
    print(page(), end="")
