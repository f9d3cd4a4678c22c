"""The mechanism of one model from its tables on disk: an overview figure, and the same for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whatwhere.heads.roles import ANY, RoleShare
from whatwhere.studies.mechanism.ablation import Ablation, Verdict
from whatwhere.studies.mechanism.flow import Flow
from whatwhere.studies.mechanism.flow_figure import draw_flow
from whatwhere.studies.mechanism.measure import HopAccuracy
from whatwhere.studies.mechanism.patching import Patch
from whatwhere.studies.mechanism.probe import Pointer
from whatwhere.studies.mechanism.readout import Delivery, LayersUsed, Move, Readable
from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, TASK, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tables:
    """All that was measured."""

    settings: dict[str, Any]
    flow: Flow
    roles: list[RoleShare]
    readout: list[Readable]
    deliveries: list[Delivery]
    moves: list[Move]
    layers_used: list[LayersUsed]
    pointers: list[Pointer]
    ablation: list[Ablation]
    verdicts: list[Verdict]
    patching: list[Patch]
    hops: list[HopAccuracy]

    @property
    def most(self) -> int:
        """The largest hop class of training."""
        return max(row.hops for row in self.readout)


def read_tables(directory: Path) -> Tables:
    """Reads ``DIR/mechanism``.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    results = Results(directory)
    return Tables(
        settings=results.settings(),
        flow=Flow.read(directory / "flow.json", results.owner("flow")),
        roles=results.read("roles", RoleShare),
        readout=results.read("readout", Readable),
        deliveries=results.read("deliveries", Delivery),
        moves=results.read("moves", Move),
        layers_used=results.read("layers_used", LayersUsed),
        pointers=results.read("pointers", Pointer),
        ablation=results.read("ablation", Ablation),
        verdicts=results.read("verdicts", Verdict),
        patching=results.read("patching", Patch),
        hops=results.read("hops", HopAccuracy),
    )


def draw(directory: Path) -> list[Path]:
    """Draws Figure 3 and the overview beside the tables."""
    tables = read_tables(directory)
    return [*draw_flow(tables.flow, directory / "figure-3-flow"), *draw_overview(tables, directory / "mechanism")]


def draw_overview(tables: Tables, path: Path) -> list[Path]:
    """Eight panels: four that watch, two that intervene, two about shortcuts."""
    from matplotlib import pyplot

    most, colour = tables.most, TASK[tables.flow.task]
    path_roles = [row for row in tables.roles if row.queries == "path" and row.distance == ANY]
    last = [row for row in tables.patching if row.kind == "state" and row.changed_hop == most]
    with style():
        figure, panels = pyplot.subplots(2, 4, figsize=(15, 8.4))
        figure.suptitle(
            f"Mechanism of the {tables.flow.task} model ({tables.settings.get('inputs', '?')} inputs)",
            x=0.01, ha="left", weight="bold",
        )  # fmt: skip
        _heat(panels[0, 0], path_roles, lambda r: r.role, _head, "strongest key of path positions", colour)
        longest = [row for row in tables.readout if row.hops == most]
        title = f"answer readable at p_r, {most} hops"
        _heat(panels[0, 1], longest, lambda r: f"p{r.position}", _layer, title, colour)
        title = "address of p_k decodable at the last token"
        _heat(panels[0, 2], tables.pointers, lambda r: f"p{r.ahead}", _layer, title, colour)
        _heat(panels[0, 3], tables.moves, _moved, _head, "hops nearer at arrival", colour)
        title = "accuracy, head mean-ablated"
        _heat(panels[1, 0], tables.ablation, lambda r: f"hops {r.hops}", _head, title, colour, lambda r: r.after)
        _heat(panels[1, 1], last, lambda r: f"p{r.position}", _layer, f"patched state carries hop {most}", colour)
        _draw_layers_used(panels[1, 2], tables.layers_used, colour)
        _draw_hops(panels[1, 3], tables.hops, most, colour)
        return save_figure(figure, path)


def _head(row: Any) -> str:
    return f"{row.layer}.{row.head}"


def _layer(row: Any) -> str:
    return "input" if row.layer < 0 else str(row.layer)


def _moved(row: Move) -> str:
    return "else" if row.hops_moved < 0 else str(row.hops_moved)


def _share(row: Any) -> float:
    return row.share


def _heat(
    axes: Axes,
    rows: Sequence[Any],
    column: Callable[[Any], str],
    line: Callable[[Any], str],
    title: str,
    colour: str,
    value: Callable[[Any], float] = _share,
) -> None:
    """A table of shares, shaded; undefined cells stay empty."""
    from matplotlib.colors import LinearSegmentedColormap

    columns, lines = list(dict.fromkeys(map(column, rows))), list(dict.fromkeys(map(line, rows)))
    grid = np.full((len(lines), len(columns)), np.nan)
    for row in rows:
        grid[lines.index(line(row)), columns.index(column(row))] = value(row)
    shades = LinearSegmentedColormap.from_list("share", ["white", colour])
    axes.imshow(np.ma.masked_invalid(grid), cmap=shades, vmin=0, vmax=1, aspect="auto")
    for (y, x), share in np.ndenumerate(grid):
        if not np.isnan(share):
            text = f"{share:.2f}".replace("0.", ".").replace("1.00", "1")
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if share > 0.6 else "black")
    heads_alone = all(name.endswith(".0") for name in lines)
    axes.set_xticks(range(len(columns)), columns, fontsize=6.8)
    axes.set_yticks(range(len(lines)), [name.removesuffix(".0") if heads_alone else name for name in lines], fontsize=8)
    axes.set_ylabel("layer" if heads_alone or "." not in lines[-1] else "layer.head")
    axes.grid(False)
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=9.5)


def _draw_layers_used(axes: Axes, rows: Sequence[LayersUsed], colour: str) -> None:
    hops = [row.hops for row in rows]
    mean = np.array([row.mean for row in rows])
    ends = np.abs(np.array([[row.low for row in rows], [row.high for row in rows]]) - mean)
    axes.plot(hops, [row.one_hop_per_layer for row in rows], ":", color=NEUTRAL, label="one hop per layer")
    axes.plot(hops, [row.doubling for row in rows], "--", color=NEUTRAL, label="pointer doubling")
    axes.errorbar(hops, mean, ends, fmt="o-", color=colour, capsize=3, label="this model")
    axes.set_xticks(hops)
    axes.set_ylim(0, None)
    axes.set_xlabel("hops")
    axes.set_ylabel("layers until the answer can be read")
    axes.set_title("layers used", fontsize=9.5)
    axes.legend(fontsize=8)


def _draw_hops(axes: Axes, rows: Sequence[HopAccuracy], most: int, colour: str) -> None:
    hops = [row.hops for row in rows]
    accuracy = np.array([row.accuracy for row in rows])
    ends = np.abs(np.array([[row.low for row in rows], [row.high for row in rows]]) - accuracy)
    axes.axvspan(0.5, most + 0.5, color="#f1f1f1", linewidth=0)
    axes.errorbar(hops, accuracy, ends, fmt="o-", color=colour, capsize=3, label="this model")
    axes.plot(hops, [row.guess for row in rows], ":", color=NEUTRAL, label="guessing among look-alikes")
    axes.set_ylim(0, 1.04)
    axes.set_xticks(hops)
    axes.set_xlabel("hops (shaded: trained on)")
    axes.set_ylabel("accuracy")
    axes.set_title("longer chains", fontsize=9.5)
    axes.legend(fontsize=8)
