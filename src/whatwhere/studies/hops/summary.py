"""The terminal summary of the study ``hops``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.hops.tables import Confirmed, LoopedAccuracy
from whatwhere.studies.mechanism.tables import LayersUsed
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, table


def summary(results: Results) -> Sequence[RenderableType]:
    """Accuracy and layers by hops, the loops of the last block, and the best loop."""
    rows, layers = results.rows("accuracy", LoopedAccuracy), results.rows("layers", LayersUsed)
    note = (
        "layers: until the answer can be read at the last token, by the model's own unembedding; never read: inputs in "
        "which it cannot. guess: accuracy of a guess among the tokens that look like the answer."
    )
    loops = [_loops(rows), *_confirmed(results.rows("confirmed", Confirmed))] if any(row.loops for row in rows) else []
    return [f"Chains beyond training: {escape(results.name)}", _plain(rows, layers), remark(note), *loops]


def outcomes(results: Results) -> Mapping[str, float]:
    """The accuracy of the model as it is at the longest chain of training, and at one hop more."""
    plain = {row.hops: row.accuracy.value for row in results.rows("accuracy", LoopedAccuracy) if row.first is None}
    trained = max(row.hops for row in results.rows("accuracy", LoopedAccuracy) if row.trained)
    return {"trained_hops": plain[trained], "one_hop_more": plain.get(trained + 1, float("nan"))}


def blocks_named(first: int | None, last: int | None) -> str:
    """``block 3``, or ``blocks 4-7``; the model as it is without any."""
    if first is None:
        return "as trained"
    return f"block {first}" if first == last else f"blocks {first}-{last}"


def _plain(rows: Sequence[LoopedAccuracy], layers: Sequence[LayersUsed]) -> Table:
    used = {row.hops: row for row in layers}
    made = table("hops", "trained", "accuracy", "95 %", "guess", "inputs", "layers", "95 %", "never read")
    for row in rows:
        if row.first is None:
            share, at = row.accuracy, used[row.hops].layers
            made.add_row(
                str(row.hops), "yes" if row.trained else "no", f"{share.value:.3f}", ends(share, ".3f"),
                f"{row.guess:.2f}", str(share.n), f"{at.value:.2f}", ends(at), str(used[row.hops].never),
            )  # fmt: skip
    return made


def _loops(rows: Sequence[LoopedAccuracy]) -> Table:
    """One line for each looped stretch, run once more; the last block with every number of loops."""
    hops = sorted({row.hops for row in rows})
    end = max(row.last for row in rows if row.last is not None)
    by_loop: dict[tuple[int | None, int | None, int], dict[int, float]] = {}
    for row in rows:
        by_loop.setdefault((row.first, row.last, row.loops), {})[row.hops] = row.accuracy.value
    made = table("", *map(str, hops), left=("",), title="Accuracy by hops with blocks run again")
    for (first, last, loops), found in by_loop.items():
        if loops > 1 and first != end:
            continue
        name = f"{blocks_named(first, last)}{f', {loops} more' if loops else ''}"
        made.add_row(name, *(f" {found[hop]:.2f}" if hop in found else "" for hop in hops))
    return made


def _confirmed(rows: Sequence[Confirmed]) -> list[Table]:
    if not rows:
        return []
    made = table("", "loop", "chosen at", "before", "after", "lead", "95 %", left=("", "loop"),
                 title="Chosen on these inputs, confirmed on others: mean beyond the trained hops")  # fmt: skip
    for row in rows:
        made.add_row(
            row.choice, f"{blocks_named(row.first, row.last)}, {row.loops} more", f"{row.chosen_at:.3f}",
            f"{row.before.value:.3f}", f"{row.after.value:.3f}", f"{row.lead.value:+.3f}",
            ends(row.lead, "+.3f", " to "),
        )  # fmt: skip
    return [made]
