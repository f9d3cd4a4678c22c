"""What a person reads of the mechanism in the terminal; every share with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.mechanism import path_tables, tables
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, table
from whatwhere.trace.layer import counted

SHORTCUT = 0.05
"""A layer takes shortcuts if more than this share of the answers that it brings surely comes from far ..."""
ENOUGH = 20
"""... and it brings so many of them."""
SETTLED = 0.995
DECODED = 0.9
SHOWN = 0.1
"""Edges with so much of the effect are shown."""


def summary(results: Results) -> Sequence[RenderableType]:
    """Roles, when the answer can be read, what ablation and patching say, longer chains."""
    shown = results.rows("examples", tables.Example)[0]
    right = "right" if shown.predicted == shown.answer else f"wrong, it is {shown.answer}"
    return [
        f"The mechanism of {escape(results.name)}, on {results.settings.inputs} inputs",
        f"Figures 1 and 3 show the input {shown.tokens}. The answer of the model, {shown.predicted}, is {right}.",
        *_roles(results.rows("verdicts", tables.Verdict)),
        _readout(results.rows("readout", tables.Readable)),
        _shortcuts(results.rows("moves", tables.Move)),
        _layers_used(results.rows("layers_used", tables.LayersUsed)),
        _addresses(results.rows("pointers", tables.Pointer)),
        *_ablation(results.rows("ablation", tables.Ablation)),
        _groups(results.rows("groups", tables.GroupAblation)),
        _sufficient(results.rows("sufficient", tables.SufficientSet)),
        _patching(results.rows("patching", tables.Patched)),
        _edges(results.rows("edges", path_tables.Edge)),
        *_selectivity(results.rows("selectivity", path_tables.Selectivity)),
        *_keeping(results.rows("keeping", path_tables.Keeping), results.rows("kinds", tables.Kind)),
        _chains(results.rows("chains", tables.Chain)),
    ]


def outcomes(results: Results) -> Mapping[str, float]:
    """How many heads are needed alone, how many suffice for the most hops, the layers used, and how flow is timed."""
    largest = max(results.rows("sufficient", tables.SufficientSet), key=lambda row: row.hops)
    used = max(results.rows("layers_used", tables.LayersUsed), key=lambda row: row.hops)
    needed = {(row.layer, row.head) for row in results.rows("ablation", tables.Ablation) if row.needed}
    (all_heads,) = (row for row in results.rows("selectivity", path_tables.Selectivity) if row.layer is None)
    sizes = {"needed_heads": len(needed), "sufficient_heads": largest.size}
    return sizes | {"layers_used": used.layers.value, "flow_in_time": all_heads.share.value}


def shortcut_layers(rows: Sequence[tables.Move]) -> list[int]:
    """Layers that often bring the answer from two or more hops nearer to it."""
    return sorted({row.layer for row in _shortcut_rows(rows)})


def _shortcut_rows(rows: Sequence[tables.Move]) -> list[tables.Move]:
    far = [row for row in rows if row.hops_nearer is not None and row.hops_nearer >= 2]
    return [row for row in far if row.share.low > SHORTCUT and row.share.n >= ENOUGH]


def _roles(rows: Sequence[tables.Verdict]) -> list[RenderableType]:
    cells = (
        (f"{row.layer}.{row.head}", f" {row.role}", _span(row.share),
         *(f" {text or '-'}" for text in (row.serves, row.needed_by, row.expected, row.verdict)))
        for row in rows
    )  # fmt: skip
    made = table(
        "head", "role", "share of queries", " brings", " needed by hops", " expected", " verdict", rows=cells,
        left=("role", " verdict"), title="\nRoles: the strongest key of path positions, on solved inputs",
    )  # fmt: skip
    told = (
        "brings: hops from the answer at which the answer can first be read after this layer. Classes of as many hops "
        "or more are then expected to need the head."
    )
    return [made, remark(told)]


def _readout(rows: Sequence[tables.Readable]) -> Table:
    classes = sorted({row.hops for row in rows})
    made = table("after layer", *map(_hops, classes), title="\nThe answer can be read at the last token")
    last = {(row.layer, row.hops): row.share for row in rows if row.position == 0}
    for layer in sorted({layer for layer, _ in last if layer is not None}):
        made.add_row(str(layer), *(f" {_span(last[layer, hops])}" for hops in classes))
        if min(last[layer, hops].value for hops in classes) >= SETTLED:
            break
    made.add_row("inputs", *(str(last[None, hops].n) for hops in classes))
    return made


def _shortcuts(rows: Sequence[tables.Move]) -> str:
    found = shortcut_layers(rows)
    if not found:
        return "\nShortcuts: no layer brings the answer from two or more hops away."
    lines = ["\nShortcuts: layers whose strongest key was two or more hops nearer to the answer that they bring"]
    for layer in found:
        far = [row for row in _shortcut_rows(rows) if row.layer == layer]
        told = ", ".join(f"{row.hops_nearer} hops {_span(row.share)}" for row in far)
        lines.append(f"layer {layer}: {told} of {far[0].share.n} answers")
    return "\n".join(lines)


def _layers_used(rows: Sequence[tables.LayersUsed]) -> Table:
    return table(
        "hops", "layers", "doubling", "fewer layers than hops", "inputs",
        rows=((str(r.hops), *_apart(_span(r.layers), r.doubling, _span(r.fewer), r.layers.n)) for r in rows),
        title="\nLayers until the answer can be read at the last token",
    )  # fmt: skip


def _addresses(rows: Sequence[tables.Pointer]) -> str:
    """The layer from which on each address is decoded in nine of ten inputs."""
    told = []
    for ahead in sorted({row.ahead for row in rows}):
        layers = [row.layer for row in rows if row.ahead == ahead and row.share.low >= DECODED]
        numbers = [layer for layer in layers if layer is not None]
        when = "at once" if None in layers else f"after layer {min(numbers)}" if numbers else "never"
        told.append(f"p{ahead} {when}")
    return "There a linear probe decodes the address of " + ", ".join(told) + "."


def _ablation(rows: Sequence[tables.Ablation]) -> list[RenderableType]:
    classes = sorted({row.hops for row in rows})
    heads = sorted({(row.layer, row.head) for row in rows})
    of = {(row.layer, row.head, row.hops): row for row in rows}
    made = table("head", *map(_hops, classes), title="\nAccuracy with one head replaced by its mean")
    made.add_row("none", *(f" {_span(of[*heads[0], hops].before)}" for hops in classes))
    needed = [head for head in heads if any(of[*head, hops].needed for hops in classes)]
    for head in needed:
        made.add_row(f"{head[0]}.{head[1]}", *(f" {_span(of[*head, hops].after)}" for hops in classes))
    spared = len(heads) - len(needed)
    told = (
        f"None of the {'other ' if needed else ''}{spared} heads is needed alone: without it no hop class loses more "
        "than 0.05 with p < 0.001 (McNemar's exact test)."
    )
    return [made, *([remark(told)] if spared else [])]


def _groups(rows: Sequence[tables.GroupAblation]) -> Table:
    classes = sorted({row.hops for row in rows})
    first = "ablated together"
    of = {(row.group, row.hops): f" {_number(row.after.value)}{'*' if row.needed else ' '}" for row in rows}
    return table(
        first, *map(_hops, classes), left=(first,), title="\nAccuracy without groups",
        rows=((group, *(of[group, hops] for hops in classes)) for group in dict.fromkeys(row.group for row in rows)),
        caption="* needed: a loss above 0.05, p < 0.001",
    )  # fmt: skip


def _sufficient(rows: Sequence[tables.SufficientSet]) -> Table:
    spans = [_apart(*map(_span, (row.accuracy, row.held_out, row.whole))) for row in rows]
    return table(
        "hops", "heads", "which", "search", "held out", "whole model", left=("which",),
        rows=((str(row.hops), *_apart(f"{row.size} of {row.all_heads}", _short(row.heads) or "none"), *some)
              for row, some in zip(rows, spans, strict=True)),
        title="\nThe fewest heads found that keep 0.95 of the accuracy, all others ablated",
    )  # fmt: skip


def _short(heads: str) -> str:
    """Layers alone, where each has one head."""
    names = heads.split()
    return " ".join(name[:-2] for name in names) if all(name.endswith(".0") for name in names) else heads


def _patching(rows: Sequence[tables.Patched]) -> str:
    lines = ["\nPatching: the first layer after which the last token carries a changed hop"]
    for hop in sorted({row.changed_hop for row in rows}):
        last = [row for row in rows if (row.changed_hop, row.position) == (hop, 0)]
        first = next((row for row in last if row.share.low > 0.5), None)
        found = f"layer {first.layer}, {_span(first.share)} of" if first else "none, of"
        pairs = last[0].share.n
        lines.append(f"hop {hop}: {found} {pairs} pairs" if pairs else f"hop {hop}: no pairs")
    return "\n".join(lines)


def _edges(rows: Sequence[path_tables.Edge]) -> Table:
    """The edges that carry most in the model of the sufficient heads, along the path."""
    shown, cells = [row for row in rows if row.alone.value >= SHOWN], []
    for row in sorted(shown, key=lambda row: (-row.from_position, -1 if row.from_layer is None else row.from_layer)):
        start = "token" if row.from_layer is None else f"{row.from_layer}.{row.from_head}"
        end = "answer" if row.to_layer is None else f"{row.to_layer}.{row.to_head} at p{row.to_position}"
        cells.append((f"{start} at p{row.from_position}", *_apart(end, _span(row.alone), _span(row.share))))
    return table(
        "from", "to", "heads alone", "whole model", rows=cells, left=("from", "to"),
        title="\nEdges between the sufficient heads: share of a changed answer's logit difference",
        caption=f"{len(shown)} of {len(rows)} edges carry {SHOWN} or more",
    )  # fmt: skip


def _selectivity(rows: Sequence[path_tables.Selectivity]) -> list[RenderableType]:
    made = table(
        "head", "before", "looks", "present", "looks", "in time",
        title="\nSelective copying: flow of a look at the place that a pointer indexes",
    )  # fmt: skip
    for row in (row for row in rows if row.before.n or row.present.n):
        name = "all" if row.layer is None else f"{row.layer}.{row.head}"
        cells = (_span(row.before), row.before.n, _span(row.present), row.present.n, _span(row.share))
        made.add_row(name, *_apart(*cells))
    told = (
        "before: the place still holds a pointer; present: it holds the answer, and the pointer does not. Flow: how "
        "far a swap of the value there moves the answer. In time: the part of all flow that comes once it is there."
    )
    return [made, remark(told)]


def _keeping(rows: Sequence[path_tables.Keeping], kinds: Sequence[tables.Kind]) -> list[RenderableType]:
    made = table(
        "layer", "kind", "there", "kept", "itself", "equal", "else", "logits", "right without", left=("kind",),
        title="\nReflexive: the answer at the last token, once it can be read there",
    )  # fmt: skip
    for row in (row for row in rows if row.kept.n):
        of_layer = sorted({kind.label for kind in kinds if kind.layer == row.layer})
        shares = (_number(one.value) for one in (row.there, row.kept, row.itself, row.equal, row.elsewhere))
        logits = "/".join(f"{one.value:.1f}" for one in (row.itself_logit, row.equal_logit, row.elsewhere_logit))
        name = "all" if row.layer is None else str(row.layer)
        made.add_row(name, *_apart(" ".join(of_layer), *shares, logits, _span(row.residual)))
    told = (
        "itself, equal, else: attention of the last token to itself, to other positions that hold the answer, to the "
        "rest; logits: what it writes from there. Right without: with all heads from this layer on ablated (all: from "
        "the first layer before which the answer can be read)."
    )
    return [made, remark(told)]


def _chains(rows: Sequence[tables.Chain]) -> Table:
    cells = []
    for row in rows:
        guess = "nothing hides the answer" if row.guess == 1 else _number(row.guess)
        numbers = _apart(_span(row.accuracy), row.accuracy.n, guess)
        cells.append((str(row.hops), *numbers, " trained" if row.trained else ""))
    return table("hops", "accuracy", "inputs", "guessing", "", rows=cells, left=("",), title="\nLonger chains")


def _hops(hops: int) -> str:
    return counted(hops, "hop")


def _apart(*cells: object) -> list[str]:
    """With a space before each."""
    return [f" {cell}" for cell in cells]


def _span(estimate: Estimate) -> str:
    if estimate.value != estimate.value:
        return "undefined"
    value, low, high = map(_number, (estimate.value, *estimate.interval))
    return f"{value} ({low}-{high})"


def _number(x: float) -> str:
    return f"{x:.2f}".removeprefix("0")
