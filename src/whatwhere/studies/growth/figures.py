"""The figure of the study ``growth``: losses, detectors and pure heads under one axis of tokens."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib import pyplot
from matplotlib.figure import Figure

from whatwhere.heads.purity import KINDS
from whatwhere.studies.growth.tables import ATTENDS, COPYING, INDUCTION, PREVIOUS, Onset
from whatwhere.studies.results import Results
from whatwhere.studies.style import LINE, NEUTRAL, PALE, POSITIONAL, SYMBOLIC

COLOURS = {"positional": POSITIONAL, "symbolic": SYMBOLIC, PREVIOUS: POSITIONAL, INDUCTION: SYMBOLIC}


def draw_growth(results: Mapping[str, Results]) -> Figure:
    """Loss and copying; attention of each head to the token before and to the induction target; pure heads."""
    (one,) = results.values()
    losses, onsets = one["losses"], one.rows("onsets", Onset)
    tokens = losses.set_index("step")["tokens"]
    figure, (top, middle, bottom) = pyplot.subplots(3, 1, figsize=(7.2, 7.6), sharex=True)
    for column, line, label in (("held_out", "-", "held-out text"), ("copying", ":", "what repetition helps")):
        top.plot(losses["tokens"], losses[column], line, color=NEUTRAL, label=label)
    top.set_title(f"{one.settings.model}: loss and copying")
    top.set_ylabel("nats")
    top.set_ylim(min(0.0, losses["copying"].min()) - 0.2)
    attended = (PREVIOUS, "-", "to the token before"), (INDUCTION, "--", "to the induction target")
    for detector, line, label in attended:
        for _, rows in one["detectors"].groupby(["layer", "head"]):
            middle.plot(tokens[rows["step"]], rows[detector], line, color=COLOURS[detector], linewidth=1, label=label)
            label = None
    middle.axhline(ATTENDS, color=PALE, linewidth=1)
    middle.set_title("Attention of each head")
    middle.set_ylim(-0.03, 1.03)
    for kind in KINDS:
        at = sorted(row.tokens for row in onsets if row.event == kind)
        ends = [0, *at, losses["tokens"].max()]
        bottom.step(ends, [*range(len(at) + 1), len(at)], LINE[kind], where="post", color=COLOURS[kind], label=kind)
    for place in (row.tokens for row in onsets if row.event == COPYING):
        for axes in (top, middle, bottom):
            axes.axvline(place, color=NEUTRAL, linewidth=0.8, linestyle=":")
        bottom.annotate("the model copies", (place, 1), (4, -12), xycoords=("data", "axes fraction"),
                        textcoords="offset points", fontsize=8, color=NEUTRAL)  # fmt: skip
    bottom.set_title("Heads pure for good")
    bottom.set_ylim(bottom=-0.2)
    bottom.yaxis.get_major_locator().set_params(integer=True)
    bottom.set_xscale("symlog", linthresh=one.settings.batch * one.settings.window)
    bottom.set_xlim(left=0)
    bottom.set_xlabel("tokens trained on")
    for axes in (top, middle, bottom):
        axes.legend(fontsize=8, loc="center left")
    return figure
