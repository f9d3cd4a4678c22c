"""The terminal summary of the study ``geometry``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.markup import escape

from whatwhere.heads.frequency import MEASURES
from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.tables import SLIDING, VARIANCE, FrequencyId, GatedAccuracy, KeyAlignment
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, table
from whatwhere.trace.layer import counted


def summary(results: Results) -> Sequence[RenderableType]:
    """Frequencies by head, keys and queries in each dominant plane, and what closing planes does."""
    return [
        f"Rotary frequencies of {escape(results.name)}",
        *_frequencies(results.rows("ids", FrequencyId)),
        *_planes(results),
        *_gating(results.rows("gating", GatedAccuracy)),
    ]


def _frequencies(rows: Sequence[FrequencyId]) -> list[RenderableType]:
    by_measure = {name: [row for row in rows if row.measure == name] for name in MEASURES}
    made = table("layer", "head", "ID", "95 %", "frequency", "paper", "dominant", "share", "W1", "W3")
    for row, norm, margin in zip(by_measure[VARIANCE], by_measure["norm"], by_measure["margin"], strict=True):
        ids = row.weighted_id
        made.add_row(
            str(row.layer), str(row.head), f"{ids.value:.0f}", ends(ids, ".1f"), f"{row.frequency:.4f}",
            str(row.paper_id or ""), str(row.dominant or ""), f"{row.dominant_weight.value:.2f}",
            f"{norm.weighted_id.value:.0f}", f"{margin.weighted_id.value:.0f}",
        )  # fmt: skip
    note = (
        "ID: mean frequency ID (1 is the fastest), weighted by each plane's share of the logits' variance (W2). "
        "W1, W3: weighted by norm and by margin. dominant: the plane with the largest share. frequency: that of ID, in "
        "radians per token. paper: the ID that the paper prints."
    )
    return [made, remark(note)]


def _planes(results: Results) -> list[RenderableType]:
    keys = {(row.layer, row.head, row.keys): row.alignment for row in results.rows("keys", KeyAlignment)}
    chance = {
        (row.layer, row.head, row.statement): f"{row.reached / row.nulls:.3f}"
        for row in results.rows("nulls", tables.NullComparison)
        if row.null == "shuffled names" and row.nulls
    }
    blocks: list[RenderableType] = []
    turns = tables.clearest_turns(results.rows("queries", tables.QueryTurn))
    if turns:
        made = table(
            "layer", "ID", "target", "pointers", "integers", "slope", "95 %", "theory", "agree", "chance",
            "aims at", title="\nIndex geometry in the dominant plane",
        )  # fmt: skip
        for row in turns:
            made.add_row(
                str(row.layer), str(row.plane),
                *(f"{keys[row.layer, row.head, of].value:.2f}" for of in ("target", "pointers")), row.integers,
                f"{row.slope.value:.2f}", ends(row.slope, between=" "), f"{row.predicted:.2f}",
                f"{row.agreement:.2f}", chance.get((row.layer, row.head, f"queries turn {row.integers}"), ""),
                "target" if row.aim_target > row.aim_pointers else "pointers",
            )  # fmt: skip
        note = (
            "target, pointers: alignment of these keys (1: all point the same way). slope: of the query's angle per "
            "integer; theory: -frequency. agree: 1 if queries turn as in T_Index. chance: share of shuffles of the "
            "integers that agree as well. Of each layer the range of integers that agrees best; the table queries has "
            "all, the table nulls every comparison."
        )
        blocks += [made, remark(note)]
    matching = results.rows("matching", tables.LetterMatching)
    if matching:
        made = table(
            "layer", "ID", "keys aligned", "queries match keys", "95 %", "chance",
            rows=((str(row.layer), str(row.plane), f"{keys[row.layer, row.head, 'all'].value:.2f}",
                   f"{row.matching.value:.2f}", ends(row.matching, between=" "),
                   chance.get((row.layer, row.head, "queries match keys"), "")) for row in matching),
            title="\nRetrieval geometry in the dominant plane",
        )  # fmt: skip
        note = (
            "match: cosine between the queries for a letter and its keys, less that for other letters. chance: share "
            "of shuffles of the letters that match as well."
        )
        blocks += [made, remark(note)]
    return blocks


def _gating(rows: Sequence[GatedAccuracy]) -> list[RenderableType]:
    hops = sorted({row.hop for row in rows if row.hop is not None})
    made = table(
        "", "layers", *(counted(hop, "hop") for hop in hops), "mean", "95 %", left=("",),
        title="\nAccuracy with frequencies closed",
    )  # fmt: skip
    for name in dict.fromkeys(row.variation for row in rows if row.kind != SLIDING):
        here = {row.hop: row for row in rows if row.variation == name}
        mean = here[None]
        closed = f" ({mean.first}-{mean.last})" if mean.first is not None and mean.kind != tables.ALONE else ""
        made.add_row(
            name.split(" in ")[0] + closed, mean.layers or "all", *(f"{here[hop].accuracy.value:.2f}" for hop in hops),
            f"{mean.accuracy.value:.3f}", ends(mean.accuracy, ".3f"),
        )  # fmt: skip
    note = "In brackets: the closed IDs. fast: a turn or more within the training length; slow: below 1/20 of one."
    blocks: list[RenderableType] = [made, remark(note)]
    sliding = [row for row in rows if row.kind == SLIDING and row.hop is None]
    if sliding:
        worst = min(sliding, key=lambda row: row.accuracy.value)
        share = worst.accuracy
        blocks.append(
            f"Closing {worst.closed} neighbouring IDs in all layers leaves accuracy at {share.value:.3f} "
            f"({ends(share, '.3f')}, {share.n} inputs) or above; it is lowest for {worst.first}-{worst.last}."
        )
    return blocks
