"""Figures of the atlas: the map of claims and conditions, and what each factor does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas.claim_map import DEPENDS, FAILS, HOLDS, judged_claims, share_of_conditions
from whatwhere.studies.atlas.factors import BASE, DATA, changes_of, condition_text
from whatwhere.studies.atlas.tables import OUTCOMES, Cell, Effect
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import FEWEST_SEEDS
from whatwhere.studies.style import MARK, NEUTRAL, PALE, TASK

LOOK = {HOLDS: ("#bfe3d4", "+"), FAILS: ("#f2b48f", "\N{MINUS SIGN}"), DEPENDS: ("#fbf3cf", "±")}
"""Colour and sign of each verdict: light enough for the sign to be read, and different in grey."""
DRAWN = (
    "timing_gap", "pure_share", "pure_positional", "sufficient_heads",
    "layers_per_hop", "chain_accuracy", "accuracy_850", "break_length",
)  # fmt: skip
LONGEST_TITLE = 74
FEW = 0.4
"""The opacity of cells with too few seeds for a verdict."""
Bar = tuple[str, str, Estimate]
"""A label, a task, and what was found over seeds."""


def draw_map(results: Mapping[str, Results]) -> Figure:
    """Every claim that could be judged, under every condition."""
    (one,) = results.values()
    return _map(one.rows("map", Cell), "What the findings depend on")


def draw_paper(results: Mapping[str, Results]) -> Figure:
    """The paper's own statements alone."""
    (one,) = results.values()
    return _map([cell for cell in one.rows("map", Cell) if cell.kind == "trained"], "The paper's findings by condition")


def _map(cells: Sequence[Cell], title: str) -> Figure:
    titles = {claim.id: claim.title for claim in judged_claims()}
    shares = share_of_conditions(cells)
    claims = sorted(shares, key=lambda claim: -shares[claim])
    conditions = ordered_conditions([cell.condition for cell in cells])
    width, height = 6.8 + 0.34 * len(conditions), 2.0 + 0.2 * max(len(claims), 1)
    figure, ax = pyplot.subplots(figsize=(width, height))
    for cell in cells:
        x, y = conditions.index(cell.condition), claims.index(cell.claim)
        colour, sign = LOOK[cell.verdict]
        alpha = 1.0 if cell.n >= FEWEST_SEEDS else FEW
        patch = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1, alpha=alpha)
        ax.add_patch(patch)
        label = sign if cell.verdict != DEPENDS else f"{round(cell.share * cell.n)}/{cell.n}"
        ax.text(x, y, label, ha="center", va="center", fontsize=8 if len(label) == 1 else 6.5)
    for y, claim in enumerate(claims):
        ax.text(len(conditions) - 0.3, y, f"{shares[claim]:.2f}", va="center", fontsize=7, color=NEUTRAL)
    ax.text(len(conditions) - 0.3, -1, "share", va="center", fontsize=7, color=NEUTRAL)
    ax.set_xticks(range(len(conditions)), conditions, rotation=50, ha="left", rotation_mode="anchor", fontsize=7.5)
    ax.set_yticks(range(len(claims)), [_short(titles.get(claim, claim)) for claim in claims], fontsize=7.5)
    ax.set_xlim(-0.5, len(conditions) - 0.5)
    ax.set_ylim(max(len(claims), 1) - 0.5, -0.5)
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    ax.grid(visible=False)
    ax.set_facecolor("#f7f7f7")
    for side in ax.spines.values():
        side.set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    handles = [Rectangle((0, 0), 1, 1, facecolor=LOOK[verdict][0], edgecolor="#999999") for verdict in LOOK]
    words = [
        "+ holds with every seed",
        f"{LOOK[FAILS][1]} fails with every seed",
        "1/3 depends on the seed (seeds that hold)",
        f"pale: fewer than {FEWEST_SEEDS} seeds",
    ]
    handles.append(Rectangle((0, 0), 1, 1, facecolor=LOOK[HOLDS][0], edgecolor="#999999", alpha=FEW))
    figure.legend(handles, words, loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


def ordered_conditions(names: Sequence[str]) -> list[str]:
    """The base, then other data, then changes of one other setting, then of several."""
    return sorted(dict.fromkeys(names), key=lambda name: (len(changes_of(name)), DATA not in changes_of(name), name))


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def draw_effects(results: Mapping[str, Results]) -> Figure:
    """The difference that each change of one setting makes at the base, with its interval over seeds."""
    (one,) = results.values()
    alone = [row for row in one.rows("effects", Effect) if row.at == BASE and " x " not in row.factor]
    rows = [row for row in alone if not math.isnan(row.difference.value)]  # other seeds than the base have no pair
    bars = [(row.outcome, (condition_text({row.factor: row.level}), row.task, row.difference)) for row in rows]
    return draw_differences(
        {OUTCOMES[drawn]: [bar for outcome, bar in bars if outcome == drawn] for drawn in DRAWN},
        list(dict.fromkeys(label for _, (label, _, _) in bars)),
        ("number", "letter"),
        "Change of one setting less the base, paired by seed. Bars: 95 % over seeds; long ones continue outside.",
        lines=2,
        size=(13.5, 0.54),
    )


def draw_differences(
    panels: Mapping[str, Sequence[Bar]], labels: Sequence[str], tasks: Iterable[str], title: str, *,
    lines: int, size: tuple[float, float],
) -> Figure:  # fmt: skip
    """Estimates over seeds: a panel for each title, a line for each label, a mark for each task.

    Panels are arranged in ``lines`` rows; the size is the width of the figure and its height per label.
    """
    width, each = size
    height = 0.4 + 1.1 * lines + each * max(len(labels), 1)
    figure, axes = pyplot.subplots(lines, len(panels) // lines, figsize=(width, height), sharey=True, squeeze=False)
    for ax, (name, bars) in zip(axes.flat, panels.items(), strict=True):
        _bars(ax, bars, labels)
        ax.set_title(name, fontsize=9)
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(labels)), labels, fontsize=8)
        ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    handles = [axes[0, 0].plot([], [], MARK[task], color=TASK[task], label=f"{task} task")[0] for task in tasks]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure


def _bars(ax: Axes, bars: Sequence[Bar], labels: Sequence[str]) -> None:
    ax.axvline(0, color=PALE, linewidth=1.2)
    for label, task, found in bars:
        y = labels.index(label) + (-0.14 if task == "number" else 0.14)
        if not math.isnan(found.low):
            ax.plot(found.interval, (y, y), color=TASK[task], linewidth=1.2)
        ax.plot(found.value, y, MARK[task], color=TASK[task], markersize=4.5)
    if bars:  # three seeds give intervals far wider than the effects: they may leave the panel
        reach = 1.6 * max(abs(found.value) for _, _, found in bars) or 1.0
        ax.set_xlim(-reach, reach)
    ax.tick_params(labelsize=7.5)
