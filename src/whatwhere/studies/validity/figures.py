"""Scores against the known share with null heads as a band; permutations against swaps; labels of null heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.heads.weighting import TAU, TAUS
from whatwhere.studies.results import Results
from whatwhere.studies.style import LINE, MARK, NEUTRAL, PALE, POSITIONAL, SYMBOLIC
from whatwhere.studies.validity.tables import (
    ADDITIVE,
    ENTROPIES,
    NULLS,
    RANDOM_LOGITS,
    RANDOM_WEIGHTS,
    ROTARY,
    KnownScore,
    NullLabel,
    PermutationScore,
)

COLOUR = {"positional": POSITIONAL, "symbolic": SYMBOLIC}
PLACES = {RANDOM_LOGITS: 1.12, RANDOM_WEIGHTS: 1.25}
"""Where null heads stand, right of the shares."""


def draw_scores(results: Mapping[str, Results]) -> Figure:
    """A panel for each sharpness: both scores by the known share of content, and where null heads lie."""
    (one,) = results.values()
    rows = one.rows("scores", KnownScore)
    figure, panels = pyplot.subplots(1, len(ENTROPIES), figsize=(11.0, 4.8), sharey=True)
    for axes, entropy in zip(panels, ENTROPIES, strict=True):
        here = [row for row in rows if round(row.entropy, 2) == entropy]  # found by a search, hence not exactly
        for kind in KINDS:
            _draw_mixed(axes, here, kind)
            _draw_nulls(axes, [row for row in here if row.tau == TAU], kind)
        axes.set_title(f"attention of {entropy:g} of the maximal entropy")
        axes.set(xlabel="share of the logits' variance from content", ylim=(-0.03, 1.03), xlim=(-0.02, 1.32))
        axes.set_xticks((0, 0.25, 0.5, 0.75, 1, *PLACES.values()), ("0", "", ".5", "", "1", "L", "W"))
    panels[0].set_ylabel("score (mean over heads)")
    panels[0].plot([], [], color=NEUTRAL, linewidth=0.8, label=f"additive heads, tau {TAUS[1]:g} to {TAUS[-1]:g}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _draw_mixed(axes: Axes, rows: Sequence[KnownScore], kind: str) -> None:
    for family, tau in (*((ADDITIVE, tau) for tau in TAUS), (ROTARY, TAU)):
        here = [row for row in rows if (row.family, row.tau) == (family, tau)]
        shares, scores = [row.share for row in here], [getattr(row, kind).value for row in here]
        label = f"{kind}, {family} heads, tau {TAU:g}" if tau == TAU else None
        if family == ROTARY:
            axes.plot(shares, scores, MARK[kind], color=COLOUR[kind], markersize=4, mfc="white", label=label)
        else:
            width, alpha = (2.0, 1.0) if tau == TAU else (0.8, 0.5)
            axes.plot(shares, scores, LINE[kind], color=COLOUR[kind], linewidth=width, alpha=alpha, label=label)


def _draw_nulls(axes: Axes, rows: Sequence[KnownScore], kind: str) -> None:
    """Random logits as a band over all shares; both kinds of null head as bars at the right."""
    for row in rows:
        if row.family not in PLACES:
            continue
        score, span = getattr(row, kind).value, getattr(row, f"{kind}_heads")
        if row.family == RANDOM_LOGITS:
            label = "null heads, 95 of 100: random logits (band, L), random weights (W)" if kind == KINDS[0] else None
            axes.fill_between((-0.02, 1.02), span.low, span.high, color=PALE, alpha=0.6, linewidth=0, label=label)
        at = PLACES[row.family] + (0.02 if kind == "symbolic" else -0.02)
        axes.vlines(at, span.low, span.high, color=COLOUR[kind], linewidth=2)
        axes.plot(at, score, MARK[kind], color=COLOUR[kind], markersize=5)


def draw_nulls(results: Mapping[str, Results]) -> Figure:
    """Left: all permutations against swaps. Right: how often null heads are labelled pure, by the number of inputs."""
    (one,) = results.values()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.5, 4.8))
    permuted = one.rows("permutations", PermutationScore)
    for kind, tokens in dict.fromkeys((row.score, row.tokens) for row in permuted):
        here = [row for row in permuted if (row.score, row.tokens) == (kind, tokens)]
        filled = COLOUR[kind] if here[0].listed else "white"
        left.plot(
            [row.swaps for row in here], [row.permutations for row in here], MARK[kind], color=COLOUR[kind], mfc=filled,
            markersize=4, label=f"{kind}, {tokens} tokens",
        )  # fmt: skip
    left.plot((0, 1), (0, 1), color=NEUTRAL, linewidth=0.8)
    left.set(xlabel="score by swaps", ylabel="score by all permutations", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    left.set_title("additive heads, all shares, sharpnesses and tau")
    left.legend()
    _draw_labels(right, [r for r in one.rows("labels", NullLabel) if r.tau == TAU and r.family in NULLS])
    return figure


def _draw_labels(axes: Axes, rows: Sequence[NullLabel]) -> None:
    for family in NULLS:
        for entropy, mark in zip(ENTROPIES, "os^", strict=True):
            for gamma, line in zip(GAMMAS, ("-", ":"), strict=True):
                here = [
                    row for row in rows if (row.family, round(row.entropy, 2), row.gamma) == (family, entropy, gamma)
                ]
                axes.plot(
                    [row.inputs for row in here], [row.positional.value + row.symbolic.value for row in here],
                    line + mark, color=SYMBOLIC if family == RANDOM_WEIGHTS else NEUTRAL, markersize=4,
                    label=f"{family}, entropy {entropy:g}" if gamma == GAMMAS[0] else None,
                )  # fmt: skip
    ticks = sorted({row.inputs for row in rows})
    axes.set(xscale="log", xlabel="inputs on which a head is scored", ylim=(-0.03, 1.03))
    axes.set(ylabel="share of null heads labelled pure")
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_title(f"tau {TAU:g}; solid: gamma {GAMMAS[0]:g}, dotted: {GAMMAS[1]:g}")
    axes.legend(fontsize=7)
