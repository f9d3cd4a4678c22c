"""Figure 5 whole: the bounds (A), both trained models on longer inputs (B), and chat models by size (C, D).

figure-5-generalisation     with a CSV for each panel beside it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.store.storage import read_csv, write_csv
from whatwhere.studies.chat.claims import MEASURED, Cell, read_cells
from whatwhere.studies.length.measure import LengthAccuracy
from whatwhere.studies.length.variations import Variation
from whatwhere.studies.results import Results
from whatwhere.studies.style import LINE, MARK, NEUTRAL, TASK, save_figure, style
from whatwhere.theory.curves import DISCREPANCY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

NAME = "figure-5-generalisation"
BOUNDS = (
    ("number", "index_printed_bound", "Index, the paper's bound", 2.0),
    ("number", "index_smallest", "Index, exact smallest", 0.9),
    ("letter", "retrieval_printed_bound", "Retrieval, the paper's bound", 2.0),
    ("letter", "retrieval_smallest", "Retrieval, exact smallest", 0.9),
)
LONGEST, NEAR_PERFECT = 850, 0.9
"""What the paper reports of the letter model."""
CHANCE = 1 / 26
"""Of guessing a letter, on the number task."""


def draw_generalisation(directory: Path, lengths: Mapping[str, Path], into: Path) -> list[Path]:
    """Draws all four panels, C and D with the paper's numbers where nothing was measured.

    Args:
        directory: of the reproduction.
        lengths: ``DIR/length`` by task.
        into: where the files go.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    from matplotlib import pyplot

    cells = read_cells(directory)
    models = list(dict.fromkeys(cell.model for cell in cells))
    with style():
        figure = pyplot.figure(figsize=(max(9.6, 3.2 * len(models)), 8.2))
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        bounds, longer = above.subplots(1, 2)
        _draw_bounds(bounds, directory / "theory" / DISCREPANCY, into)
        _draw_lengths(longer, lengths, into)
        _legend(above, [bounds, longer])
        panels = below.subplots(1, len(models), squeeze=False, sharey=True)[0]
        for axes, model in zip(panels, models, strict=True):
            _draw_chat_model(axes, [cell for cell in cells if cell.model == model])
        panels[0].set_title(f"C, D. {panels[0].get_title(loc='left')}", weight="bold")
        panels[0].set_ylabel("accuracy (sd over runs)")
        _legend(below, panels)
        data = [(c.model, c.task, c.size, c.mean, c.sd, c.source) for c in cells]
        write_csv(into / "figure-5cd-llm.csv", ("model", "task", "size", "mean", "sd", "source"), data)
        return save_figure(figure, into / NAME)


def _draw_bounds(axes: Axes, path: Path, into: Path) -> None:
    names = ["n", *(name for _, name, _, _ in BOUNDS)]
    rows = [[float(row[name] or "nan") for name in names] for row in read_csv(path, "the data of Figure 5A", names)]
    write_csv(into / "figure-5a-bounds.csv", names, rows)
    for at, (task, _, label, width) in enumerate(BOUNDS, start=1):
        line = LINE[task] if width > 1 else ":"
        axes.plot([r[0] for r in rows], [r[at] for r in rows], line, color=TASK[task], linewidth=width, label=label)
    axes.set(xlabel="input length n (tokens)", ylabel="discrepancy", ylim=(0, None))
    axes.set_title("A. Discrepancy of the constructions", weight="bold")


def _draw_lengths(axes: Axes, lengths: Mapping[str, Path], into: Path) -> None:
    data = []
    for task, path in lengths.items():
        rows = Results(path).read("accuracy", LengthAccuracy)
        mean = [row for row in rows if row.variation == Variation().name and row.hop == 0]
        data += [(task, row.length, row.accuracy, row.low, row.high, row.inputs) for row in mean]
        x = [row.length for row in mean]
        axes.plot(
            x, [row.accuracy for row in mean], LINE[task], marker=MARK[task], markersize=4, color=TASK[task],
            label=f"{task} task (95 %)",
        )  # fmt: skip
        axes.fill_between(x, [row.low for row in mean], [row.high for row in mean], color=TASK[task], alpha=0.15)
    axes.plot([17, LONGEST], [NEAR_PERFECT] * 2, color=NEUTRAL, linewidth=0.9, linestyle=(0, (2, 2)))
    axes.plot(LONGEST, NEAR_PERFECT, "^", color=NEUTRAL, markersize=6, label="the paper: letter above 0.9 up to 850")
    write_csv(into / "figure-5b-lengths.csv", ("task", "length", "accuracy", "low", "high", "inputs"), data)
    axes.set_xscale("log")
    axes.set_xticks([17, 33, 65, 145, 325, LONGEST], ["17", "33", "65", "145", "325", str(LONGEST)])
    axes.minorticks_off()
    axes.set(xlabel="input length (tokens)", ylabel="accuracy, mean over hop classes", ylim=(-0.03, 1.06))
    axes.set_title("B. Trained models on longer inputs", weight="bold")


def _draw_chat_model(axes: Axes, cells: Sequence[Cell]) -> None:
    """One model on both tasks; open marks are quoted from the paper."""
    for task, source in sorted({(cell.task, cell.source) for cell in cells}):
        here = sorted((c for c in cells if (c.task, c.source) == (task, source)), key=lambda cell: cell.size)
        measured = source == MEASURED
        axes.errorbar(
            [cell.size for cell in here], [cell.mean for cell in here],
            yerr=[0.0 if cell.sd != cell.sd else cell.sd for cell in here], color=TASK[task], linestyle=LINE[task],
            marker=MARK[task], markersize=4, markerfacecolor=TASK[task] if measured else "white", capsize=2,
            label=f"{task}, {'measured' if measured else 'quoted from the paper'}",
        )  # fmt: skip
    axes.axhline(CHANCE, color=NEUTRAL, linewidth=0.8, linestyle=":")
    axes.annotate("guessing", (12, CHANCE), (0, 2), textcoords="offset points", fontsize=7, color=NEUTRAL)
    axes.set_xscale("log")
    axes.set_xticks([12, 32, 100, 300], ["12", "32", "100", "300"])
    axes.minorticks_off()
    axes.set(xlabel="window size (tokens)", ylim=(-0.03, 1.06))
    axes.set_title(cells[0].model.replace("$", r"\$"), weight="bold")


def _legend(part: SubFigure, panels: Iterable[Axes]) -> None:
    """One legend below a row of panels, where no curve runs; equal labels of several panels stand once."""
    named = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    part.legend(list(named.values()), list(named), loc="outside lower center", ncols=4, fontsize=8)
