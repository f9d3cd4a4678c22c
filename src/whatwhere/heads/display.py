"""Display of scores: a table, a few lines of text, a head map in a notebook, a plot; each fits on a screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from whatwhere.heads.estimate import Estimate
from whatwhere.heads.purity import GAMMAS, KINDS, label_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whatwhere.heads.head_scores import HeadScores

ROWS = 16
"""Heads that are printed at most."""
NAMED = 24
"""Up to so many rows of a drawing, each has its own tick."""
CELLS = 2048
"""The most heads in a notebook's map; above it, the text is shown instead."""
POSITIONAL, SYMBOLIC, FLAT = "#d55e00", "#009e73", "#d9d9d9"
"""Red, green and pale grey: the colours of pure and of flat heads in all figures and on the page.

The two hues are a vermilion and a bluish green that remain distinct to colour-blind readers and in greyscale."""
LEGEND = "red positional, green symbolic, grey uniform"


def frame_of(scores: HeadScores, gamma: float | None = None, seed: int = 0) -> pd.DataFrame:
    """A tidy table, one row per head.

    Columns: ``layer``, ``head``; ``positional`` and ``symbolic``, each with ``_low``, ``_high`` (95 %, bootstrap over
    inputs) and ``_n`` (inputs times queries); ``positional_centred`` = 1 - symbolic, ``symbolic_centred`` = 1 -
    positional and ``flat`` = positional + symbolic - 1, which sum to 1; ``entropy`` in nats, ``entropy_share`` of its
    maximum, ``own`` (attention to the query itself), ``undefined`` (queries without a score), ``label`` (at a tolerance
    gamma, 0.1 by default).
    """
    import pandas as pd

    return pd.DataFrame(_rows(scores, gamma, seed))


def _rows(scores: HeadScores, gamma: float | None = None, seed: int = 0) -> list[dict[str, Any]]:
    from whatwhere.heads.summary import estimates

    gamma = GAMMAS[0] if gamma is None else gamma
    facts = {name: getattr(scores, name).tolist() for name in ("entropy", "entropy_share", "own", "undefined")}
    return [
        {"layer": layer, "head": head}
        | _columns("positional", positional)
        | _columns("symbolic", symbolic)
        | {"positional_centred": 1 - symbolic.value, "symbolic_centred": 1 - positional.value}
        | {"flat": positional.value + symbolic.value - 1}
        | {name: values[index][head] for name, values in facts.items()}
        | {"label": label_of(positional.value, symbolic.value, gamma)}
        for index, (layer, *both) in enumerate(zip(scores.layers, *estimates(scores, seed), strict=True))
        for head, (positional, symbolic) in enumerate(zip(*both, strict=True))
    ]


def _columns(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_n": found.n}


def text_of(scores: HeadScores) -> str:
    """A heading and a small table; of many heads, the purest few and the counts of labels.

    Entropy is given as a share of its maximum.
    """
    rows = _rows(scores)
    shown = rows
    if len(rows) > ROWS:  # the purest, in the order of the layers; heads without a score come last
        purest = sorted(rows, key=lambda row: -np.nan_to_num(abs(row["positional"] - row["symbolic"]), nan=-1))[:ROWS]
        shown = sorted(purest, key=lambda row: (row["layer"], row["head"]))
    lines = [_heading(scores), "layer head  positional        symbolic          entropy  label"]
    for row in shown:
        both = (f"{row[kind]:.2f} ({row[kind + '_low']:.2f}-{row[kind + '_high']:.2f})" for kind in KINDS)
        cells = "  ".join(f"{text:<16}" for text in both)
        lines.append(f"{row['layer']:>5} {row['head']:>4}  {cells}  {row['entropy_share']:>7.2f}  {row['label']}")
    if len(shown) < len(rows):
        lines.append(f"the {ROWS} purest of {len(rows)} heads; {_counts(rows)}; .to_frame() has all")
    return "\n".join(lines)


def html_of(scores: HeadScores) -> str:
    """The head map: one cell per head, layers downwards; the tooltip has the numbers. Inline SVG without scripts."""
    rows = _rows(scores)
    heading = f"<p>{escape(_heading(scores))}<br>{escape(_counts(rows))}</p>"
    if len(rows) > CELLS:
        return f"{heading}<pre>{escape(text_of(scores))}</pre>"
    layers, heads = len(scores.layers), scores.positional.shape[1]
    cell = 22 if heads <= 24 else 12
    line = {layer: index for index, layer in enumerate(scores.layers)}
    drawn = [
        f'<rect x="{40 + row["head"] * cell}" y="{18 + line[row["layer"]] * cell}" width="{cell - 1}" '
        f'height="{cell - 1}" fill="rgb{colour_of(row["positional_centred"], row["symbolic_centred"])}">'
        f"<title>layer {row['layer']} head {row['head']}: positional {row['positional']:.2f}, "
        f"symbolic {row['symbolic']:.2f}, {row['label']}</title></rect>"
        for row in rows
    ]
    drawn += [
        f'<text x="34" y="{18 + index * cell + cell * 0.7:.0f}" text-anchor="end" font-size="11">{layer}</text>'
        for layer, index in line.items()
    ]
    drawn.append(f'<text x="40" y="12" font-size="11">layer by head: {LEGEND}</text>')
    size = f'width="{max(360, 50 + heads * cell)}" height="{24 + layers * cell}"'
    return f'{heading}<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">{"".join(drawn)}</svg>'


def plot_map(scores: HeadScores, ax: Axes | None = None) -> Axes:
    """The head map on matplotlib axes, new ones by default."""
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1] if ax is None else ax
    both = scores.centred_positional.tolist(), scores.centred_symbolic.tolist()  # [layer][head] each
    picture = np.array([list(map(colour_of, *layer)) for layer in zip(*both, strict=True)], np.uint8)
    draw_cells(ax, picture, scores.layers)
    ax.set_title(LEGEND)
    return ax


def draw_cells(ax: Axes, picture: np.ndarray, layers: Sequence[int]) -> None:
    """Draws heads as cells with white lines between them.

    Args:
        ax: where to draw.
        picture: red, green and blue, [layer, head, 3].
        layers: the number of each row.
    """
    heads = picture.shape[1]
    ax.imshow(picture, aspect="auto", interpolation="nearest")
    ax.grid(visible=False)
    ax.set_yticks(np.arange(0.5, len(layers) - 1), minor=True)
    ax.set_xticks(np.arange(0.5, heads - 1), minor=True)
    ax.grid(visible=True, which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    ax.set_axisbelow(False)
    every = ceil(len(layers) / NAMED)
    ax.set_yticks(range(0, len(layers), every), [str(layer) for layer in layers[::every]])
    ax.set_xticks(range(0, heads, max(1, heads // 8)))
    ax.set(xlabel="head", ylabel="layer")


def colour_of(positional: float, symbolic: float) -> tuple[int, int, int]:
    """Red, green and blue of a head: a mixture by the centred scores, which with the flat rest sum to 1.

    White where they are undefined.
    """
    if np.isnan(positional):
        return 255, 255, 255
    colours = [list(bytes.fromhex(colour[1:])) for colour in (POSITIONAL, SYMBOLIC, FLAT)]
    mixed = np.dot((positional, symbolic, 1 - positional - symbolic), colours)
    red, green, blue = np.clip(mixed.round(), 0, 255).astype(int).tolist()
    return red, green, blue


def _heading(scores: HeadScores) -> str:
    layers, heads = scores.positional.shape
    queries = scores.positions.shape[-1]
    read = f"reading {scores.reading}" if scores.reading else f"{queries} {'query' if queries == 1 else 'queries'} each"
    return (
        f"HeadScores: {layers} layers x {heads} head{'s' * (heads != 1)}, {scores.inputs:,} inputs, {read}, "
        f"tau {scores.tau:g}, swaps of {scores.level}{', renormalised' if scores.weighting.renormalised else ''}"
    )


def _counts(rows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{count} {label}" for label, count in Counter(row["label"] for row in rows).most_common())
