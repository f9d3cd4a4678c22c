"""Figure 5C and D next to our measurements, positional profiles, and the table of the appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, isnan

from matplotlib import colormaps, pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from whatwhere.studies.chat.one_hop import floors
from whatwhere.studies.chat.summary import title, with_deviation
from whatwhere.studies.chat.tables import Cell, Profile, Quoted
from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, TASK, length_axis

PANELS = {
    "C  GPT 5.4 (solid), GPT 5.5 (dashed)\nquoted from the paper": ("GPT 5.4", "GPT 5.5"),
    "D  Claude Sonnet 3.7\nquoted from the paper": ("Claude Sonnet 3.7",),
}
"""The models of the two panels of the paper."""
ACROSS = 4
"""Panels in a row."""
Point = tuple[int, float, float]
"""Size, accuracy, half the length of its bar."""


def draw_accuracy(results: Mapping[str, Results]) -> Figure:
    """Accuracy against the size of the window: the paper's panels C and D, then one for each model measured here."""
    (one,) = results.values()
    cells, quoted = one.rows("cells", Cell), one.rows("quoted", Quoted)
    models = list(dict.fromkeys(cell.model for cell in cells))
    count = len(PANELS) + len(models)
    across = min(ACROSS, count)
    figure, grid = pyplot.subplots(
        ceil(count / across), across, figsize=(1.4 + 2.7 * across, 0.7 + 2.6 * ceil(count / across)),
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    panels = list(grid.flat)
    sizes = sorted({row.size for row in [*cells, *quoted]})
    for axes, (name, shown) in zip(panels, PANELS.items(), strict=False):
        axes.set_title(name, fontsize=8)
        for model, line in zip(shown, ("o-", "s--"), strict=False):
            for task in ("one_hop_number", "one_hop_letter"):
                here = [(row.size, row.mean, row.sd) for row in quoted if (row.model, row.task) == (model, task)]
                _curve(axes, here, task, line, sizes)
    for axes, model in zip(panels[len(PANELS) :], models, strict=False):
        axes.set_title(f"{_breakable(model)} (measured)", fontsize=8)
        for task in sorted({cell.task for cell in cells if cell.model == model}, reverse=True):
            here = [cell for cell in cells if (cell.model, cell.task) == (model, task)]
            points = [(cell.size, cell.accuracy.value, 0.0 if isnan(cell.sd) else cell.sd) for cell in here]
            _curve(axes, points, task, "o-" if task.startswith("one_hop") else "^-.", sizes)
            partial = [cell for cell in here if cell.accuracy.n < cell.planned]
            if partial:
                axes.plot([cell.size for cell in partial], [cell.accuracy.value for cell in partial], "x",
                          color=NEUTRAL, markersize=9, label="partial result")  # fmt: skip
    for axes in panels[:count]:
        length_axis(axes, sizes)
        axes.set_ylim(-0.03, 1.05)
    for axes in panels[count:]:
        axes.set_visible(False)
    figure.supxlabel("tokens before the query", fontsize=9)
    figure.supylabel("strict accuracy, sd over runs", fontsize=9)
    labels = {label: mark for axes in panels for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(labels.values(), labels.keys(), loc="outside right upper", fontsize=7)
    return figure


def _curve(axes: Axes, points: Sequence[Point], task: str, line: str, sizes: Sequence[int]) -> None:
    """Accuracy on one task, and the accuracy of a guess that does not look at the window."""
    name = task.rsplit("_", 1)[1]
    size, accuracy, deviation = zip(*points, strict=True)
    axes.errorbar(size, accuracy, yerr=deviation, fmt=line, color=TASK[name], markersize=3.5, linewidth=1.3,
                  elinewidth=0.8, label=_label(task) if line != "s--" else "_")  # fmt: skip
    floor = floors(task, size[0])[0]
    axes.plot([sizes[0], sizes[-1]], [floor, floor], ":", color=TASK[name], linewidth=0.9,
              label=f"{_label(task)}: blind guess")  # fmt: skip


def draw_profile(results: Mapping[str, Results]) -> Figure:
    """Accuracy against the distance of the answer, for each measured model: a row per task, a line per size.

    If there are one-hop tasks, only they are shown: with several hops the answer's distance is not that of a hop.
    """
    (one,) = results.values()
    everything = one.rows("profile", Profile)
    rows = [row for row in everything if row.task.startswith("one_hop")] or everything
    tasks = sorted({row.task for row in rows}, reverse=True)
    models = list(dict.fromkeys(row.model for row in rows))
    sizes = sorted({row.size for row in rows})
    colours = dict(zip(sizes, colormaps["viridis"]([0.95 * i / len(sizes) for i in range(len(sizes))]), strict=True))
    figure, panels = pyplot.subplots(
        len(tasks), len(models), figsize=(1.2 + 3.2 * len(models), 0.6 + 2.5 * len(tasks)), sharey=True, squeeze=False
    )
    for line, task in zip(panels, tasks, strict=True):
        for axes, model in zip(line, models, strict=True):
            for size in sizes:
                here = [r for r in rows if (r.model, r.task, r.size) == (model, task, size) and r.accuracy.n]
                x = [(row.near + row.far) / 2 for row in here]
                axes.plot(x, [row.accuracy.value for row in here], "o-", color=colours[size], markersize=2.5,
                          linewidth=1, label=str(size))  # fmt: skip
                axes.fill_between(x, [row.accuracy.low for row in here], [row.accuracy.high for row in here],
                                  color=colours[size], alpha=0.12, linewidth=0)  # fmt: skip
            axes.set_title(f"{_breakable(model)}\n{title(task)}", fontsize=8)
            axes.set_ylim(-0.03, 1.05)
        line[0].set_ylabel("strict accuracy (95 %)")
    for axes in panels[-1]:
        axes.set_xlabel("distance of the answer (tokens)")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=7, title="size")
    return figure


def draw_table(results: Mapping[str, Results]) -> Figure:
    """The table of the appendix: accuracy (standard deviation over runs) by size, quoted and measured."""
    (one,) = results.values()
    found = {
        (row.size, f"{row.model}\n(quoted)", row.task): with_deviation(row.mean, row.sd)
        for row in one.rows("quoted", Quoted)
    }
    found |= {
        (row.size, row.model, row.task): with_deviation(row.accuracy.value, row.sd) for row in one.rows("cells", Cell)
    }
    columns = list(dict.fromkeys((model, task) for _, model, task in found))
    sizes = sorted({size for size, *_ in found})
    figure, axes = pyplot.subplots(figsize=(0.6 + 1.05 * len(columns), 0.9 + 0.2 * len(sizes)))
    axes.set_axis_off()
    heads = [f"{_breakable(model)}\n{_label(task)}" for model, task in columns]
    table = axes.table(
        [[str(size), *(found.get((size, *column), "") for column in columns)] for size in sizes],
        colLabels=["size", *heads],
        colWidths=[0.5 / (0.5 + len(columns)), *[1 / (0.5 + len(columns))] * len(columns)],
        cellLoc="right", colLoc="right", edges="horizontal", bbox=Bbox.from_bounds(0, 0, 1, 1),
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    lines = 1 + max(head.count("\n") for head in heads)
    for (row, _), cell in table.get_celld().items():
        cell.set_edgecolor("#bbbbbb")
        cell.set_height(cell.get_height() * (0.8 * lines if row == 0 else 1))
    axes.set_title("Chat models: strict accuracy (sd over runs)", fontsize=9)
    return figure


def _label(task: str) -> str:
    """The task in a legend."""
    name = task.rsplit("_", 1)[1]
    return name if task.startswith("one_hop") else f"{name}, 1-4 hops"


def _breakable(model: str) -> str:
    """The name of a model, on two lines if it is long; a dollar sign would start a formula."""
    provider, slash, name = model.replace("$", r"\$").partition("/")
    return f"{provider}/\n{name[-24:]}" if slash and len(model) > 18 else provider + slash + name
