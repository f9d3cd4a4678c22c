"""The terminal summary of the study ``causal``."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.causal.tables import CHANGES, Ability, Effect, Member
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, spanned, table


def summary(results: Results) -> Sequence[RenderableType]:
    """Which heads were changed, what the model can do, and what each change costs."""
    members, abilities = results.rows("sets", Member), results.rows("abilities", Ability)
    rows, settings = results.rows("effects", Effect), results.settings
    blocks: list[RenderableType] = [f"Heads changed by label: {escape(results.short_name)}", _sets(members)]
    blocks += ["\nWhat the model does when nothing is changed", _abilities(abilities)]
    if unable := [row.probe for row in abilities if not row.able]:
        blocks.append(remark(f"Not above chance, so nothing was changed there: {', '.join(unable)}."))
    blocks += ["\nWhat stands out, in nats per token", *_clear(rows)]
    for change in CHANGES:
        blocks += [f"\n{change.capitalize()}: increase of the loss, nats per token", _effects(rows, change)]
    by = "scores beyond the first token" if settings.beyond else "the paper's scores"
    explanation = remark(
        f"Labels by {by}, tau {settings.tau:g}, gamma {settings.gamma:g}. others: random heads of other labels in the "
        "same layers, mean over draws; below: draws that cost less. What stands out: the interval of the difference is "
        "on one side of 0, and so is every draw. In brackets: 95 % intervals (bootstrap over windows of the texts, or "
        "prompts). induction: random tokens that repeat; back: two tokens in a pattern that repeats; name: a name "
        f"{settings.far} tokens back; fast, slow: halves of a head's rotary planes; mask far: each query sees the "
        f"first and the last {settings.recent} keys."
    )
    return [*blocks, explanation]


def _sets(members: Sequence[Member]) -> Table:
    made = table("label", "heads", "which", left=("label", "which"))
    made.columns[-1].no_wrap = False
    for label in dict.fromkeys(row.label for row in members):
        own = [row for row in members if row.label == label and row.draw is None]
        made.add_row(f"{label} ", str(len(own)), " " + " ".join(f"{row.layer}.{row.head}" for row in own))
    return made


def _abilities(rows: Sequence[Ability]) -> Table:
    cells = (
        (row.probe, f"{row.loss.value:.2f}", spanned(row.right), "" if isnan(row.chance) else f"{row.chance:.2f}",
         str(row.right.n))
        for row in rows
    )  # fmt: skip
    return table("", "loss", "right", "chance", "inputs", rows=cells, left=("",))


def _clear(rows: Sequence[Effect]) -> list[str]:
    """For each label and change, where its heads cost more (or less) than other heads, surely and for every draw."""
    lines = []
    for label, change in dict.fromkeys((row.label, row.change) for row in rows):
        some = [row for row in rows if (row.label, row.change) == (label, change)]
        worse = [row for row in some if row.excess.low > 0 and row.beaten == row.draws]
        better = [row for row in some if row.excess.high < 0 and row.beaten == 0]
        for words, sure in (("worse", worse), ("better", better)):
            found = sorted(sure, key=lambda row: -abs(row.excess.value))
            listed = ", ".join(f"{row.probe} ({row.excess.value:+.2f})" for row in found)
            if listed:
                lines.append(f"  {change}, {label} heads: {words} than others on {listed}")
    return lines or ["  nothing: no label differs from other heads in the same layers"]


def _effects(rows: Sequence[Effect], change: str) -> Table:
    made = table("", "label", "its heads", "others", "difference", "below", left=("", "label"))
    before = ""
    for row in sorted((row for row in rows if row.change == change), key=lambda row: row.probe):
        loss, excess = (spanned(found, "+.2f", " to ") for found in (row.loss, row.excess))
        cells = (loss, f"{row.control.value:+.2f}", excess, f"{row.beaten}/{row.draws}")
        made.add_row("" if row.probe == before else row.probe, f" {row.label}", *cells)
        before = row.probe
    return made
