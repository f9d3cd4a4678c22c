"""The terminal summary of the study ``rope``: the rotation by groups of layers, then the differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from whatwhere.studies.results import Results
from whatwhere.studies.rope.tables import About, Difference, LayerRope
from whatwhere.studies.terminal import number_runs, remark, table

MOST = 12
"""Rows of a table; a model with more kinds of layers or faults has the rest in its CSV."""


def passes(results: Results) -> bool:
    """Whether there are no differences."""
    return results["differences"].empty


def summary(results: Results) -> Sequence[RenderableType]:
    """One screen."""
    blocks: list[RenderableType] = []
    every = results.rows("about", About)
    short = {about.model: Path(about.model).name for about in every}  # as the other studies name a model
    short = short if len(set(short.values())) == len(short) else {}
    for about in every:
        layers = [row for row in results.rows("layers", LayerRope) if row.model == about.model]
        blocks.append(_rotations(about, short.get(about.model, about.model), layers))
    found = results.rows("differences", Difference)
    if found:
        blocks += _differences(found, short)
    else:
        with_other = (
            f", and with {short.get(every[1].model, every[1].model)}, which agrees with its own"
            if len(every) > 1
            else ""
        )
        blocks.append(f"\nAll layers agree with the configuration{escape(with_other)}.")
    why = "the pairing, scale and unrotated layers of this family are not known here; only what its configuration says"
    return blocks + [remark(f"{about.family}: {why} was judged.") for about in every if not about.judged]


def _rotations(about: About, name: str, layers: Sequence[LayerRope]) -> RenderableType:
    shown = table(
        "layers", "kind", "turns", "pairing", "base", "lengthened", "scale", left=("layers", "kind", "pairing"),
        title=f"{name} ({about.family}), measured on {about.tokens} tokens",
    )  # fmt: skip
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in layers:
        base = f"{row.base:,.5g}" if row.base == row.base else "scaled" if row.planes else ""
        turns = f"{2 * row.planes} of {row.width}"
        groups[row.kind, turns, row.pairing, base, f"{row.factor:.4g}", f"{row.scale:.4g}"].append(row.layer)
    for cells, numbers in list(groups.items())[:MOST]:
        shown.add_row(number_runs(numbers, ","), *cells)
    if len(groups) > MOST:
        shown.caption = f"... and {len(groups) - MOST} more kinds of layers"
    return shown


def _differences(found: Sequence[Difference], short: Mapping[str, str]) -> list[RenderableType]:
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in found:
        groups[row.model, row.against, row.what, row.found, row.expected, row.cause].append(row.layer)
    lines = [""]
    for (model, against, what, measured, expected, cause), layers in list(groups.items())[:MOST]:
        named = f"layer{'s' if len(layers) > 1 else ''} {number_runs(layers, ',')}"
        model, against = short.get(model, model), short.get(against, against)
        lines.append(f"{model}, {named}: {what}: {cause} (found {measured}; {against}: {expected})")
    if len(groups) > MOST:
        lines.append(f"and {len(groups) - MOST} more, in differences.csv")
    return [*map(escape, lines), f"{len(found)} difference{'s' if len(found) > 1 else ''}."]
