"""Figures of longer chains: accuracy and layers by hops, and what looped blocks do to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.hops.summary import blocks_named
from whatwhere.studies.results import Results
from whatwhere.studies.style import LINE, MARK, NEUTRAL, TASK

OTHERS = ("#0072b2", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def draw_hops(results: Mapping[str, Results]) -> Figure:
    """Accuracy with the last block looped, the layers that each chain takes, and every looped stretch as a map."""
    (one,) = results.values()
    frame, layers = one.frame("accuracy"), one.frame("layers")
    task, trained = one.task, int(frame.query("trained").hops.max())
    looped = frame[frame["first"].notna()]
    panels = 3 if len(looped) else 2
    figure, (left, middle, *right) = pyplot.subplots(1, panels, figsize=(4.6 * panels, 4.4))
    plain = frame.query("first.isna()")
    _points(left, plain, "accuracy", fmt=f"{MARK[task]}-", color=TASK[task], label="as trained (95 %)")
    end = looped["last"].max()
    last = looped.query("first == @end")
    for index, loops in enumerate(sorted(last.loops.unique().tolist())):
        rows, colour = last.query("loops == @loops"), OTHERS[index % len(OTHERS)]
        left.plot(rows.hops, rows.accuracy, ".--", color=colour, linewidth=1, label=f"block {end}, {loops} more")
    left.plot(plain.hops, plain.guess, ":", color=NEUTRAL, label="a guess")
    left.set(ylim=(-0.03, 1.05), ylabel="accuracy")
    left.set_title(f"{task} task: longer chains")
    left.legend(fontsize=7, loc="lower left")
    _points(middle, layers, "layers", fmt=f"{MARK[task]}-", color=TASK[task], label="measured (95 %)")
    middle.plot(layers.hops, layers.hops, ":", color=NEUTRAL, label="a layer per hop")
    middle.plot(layers.hops, layers.doubling, "-.", color=NEUTRAL, label="pointer doubling")
    middle.set_ylabel("layers until the answer can be read")
    middle.set_title("layers used")
    middle.legend(fontsize=7, loc="upper left")
    for panel in (left, middle):
        _hop_axis(panel, int(frame.hops.max()), trained)
    for panel in right:
        _draw_map(panel, looped.query("loops == 1"))
        figure.colorbar(panel.images[0], ax=panel, shrink=0.8, label="accuracy, one loop more")
    return figure


def _points(axes: Axes, rows: pd.DataFrame, column: str, **style: Any) -> None:
    """A line with 95 % bars."""
    ends = rows[[f"{column}_low", f"{column}_high"]].T.to_numpy(float)  # [2, n]
    axes.errorbar(rows.hops, rows[column], np.abs(ends - rows[column].to_numpy(float)), capsize=2, **style)


def _draw_map(axes: Axes, rows: pd.DataFrame) -> None:
    """Each stretch run once more, by hops."""
    rows = rows.assign(blocks=[*map(blocks_named, rows["first"].tolist(), rows["last"].tolist())])
    shares = rows.pivot(index="blocks", columns="hops", values="accuracy").loc[rows.blocks.unique()]
    axes.imshow(shares, aspect="auto", vmin=0, vmax=1, cmap="viridis")
    axes.set_yticks(range(len(shares)), shares.index, fontsize=7)
    axes.set_xticks(range(len(shares.columns)), shares.columns)
    axes.grid(visible=False)
    axes.set_xlabel("hops")
    axes.set_title("which blocks may run twice")


def draw_models(results: Mapping[str, Results]) -> Figure:
    """Accuracy by hops of several models as they are."""
    figure, axes = pyplot.subplots(figsize=(6, 4.2))
    tasks = {name: one.task for name, one in results.items()}
    by_task = len(set(tasks.values())) == len(tasks)  # then a task's own colour tells them apart
    most, trained = 1, 1
    for index, (name, one) in enumerate(results.items()):
        frame, task = one.frame("accuracy"), tasks[name]
        rows = frame[frame["first"].isna()]
        colour = TASK[task] if by_task else OTHERS[index % len(OTHERS)]
        label = f"{task} task" if by_task else f"{Path(name).name}: {task} task"
        axes.plot(rows.hops, rows.accuracy, f"{MARK[task]}{LINE[task]}", color=colour, label=label)
        axes.fill_between(rows.hops, rows.accuracy_low, rows.accuracy_high, color=colour, alpha=0.15)
        most, trained = max(most, int(rows.hops.max())), max(trained, int(rows.query("trained").hops.max()))
    _hop_axis(axes, most, trained)
    axes.set(ylim=(-0.03, 1.05), ylabel="accuracy")
    axes.set_title("Chains beyond training (95 %)")
    axes.legend(fontsize=8, loc="lower left")
    return figure


def _hop_axis(axes: Axes, most: int, trained: int) -> None:
    """Hops, with the trained ones shaded."""
    axes.axvspan(0.5, trained + 0.5, color=NEUTRAL, alpha=0.08, linewidth=0)
    axes.set_xlim(0.5, most + 0.5)
    axes.set_xticks(range(1, most + 1))
    axes.set_xlabel("hops (shaded: trained)")
