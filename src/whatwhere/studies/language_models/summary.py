"""The terminal summary of the study ``heads``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.heads.estimate import Estimate
from whatwhere.heads.purity import KINDS
from whatwhere.studies.language_models.tables import (
    LABELS,
    About,
    HeadRow,
    HeadsSettings,
    TemperatureScore,
    WindowScore,
)
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, table
from whatwhere.trace.layer import counted

FEW = 20
"""Up to this number of heads, all are listed."""
SHOWN = 5
"""Heads in each of the two lists of many."""


def summary(results: Results) -> Sequence[RenderableType]:
    """How many heads have which label, the purest heads, the layers, and what the numbers mean."""
    (about,) = results.rows("about", About)
    rows, settings = results.rows("heads", HeadRow), results.settings
    inputs = counted(about.inputs, "window" if about.is_text else "input")
    blocks: list[RenderableType] = [
        escape(
            f"{counted(len(rows), 'head')} of {results.short_name} ({about.family}) on {about.source}: {inputs} "
            f"of {about.tokens} tokens, {counted(about.queries, 'query', 'queries')} each, tau {settings.tau:g}"
        )
    ]
    if about.is_text:
        begins = f"Each window begins with {about.begins!r}." if about.begins else "No token was put before the text."
        blocks.append(escape(begins))
    blocks.append(f"labels: {_labels(row.label for row in rows)}")
    if about.is_text:
        blocks.append(f"beyond the first token: {_labels(row.rest_label for row in rows)}")
    if len(rows) <= FEW:
        blocks.append(_heads(rows, is_text=about.is_text))
    else:
        for kind in ("positional", "symbolic"):
            # centred, because uniform heads have both scores at 1
            best = sorted(rows, key=lambda row: -np.nan_to_num(getattr(row, f"{kind}_centred"), nan=-1))[:SHOWN]
            blocks += [f"\nThe most {kind} heads", _heads(best, is_text=about.is_text)]
        blocks += ["\nLayers: means over heads, and how many are pure", _layers(results["heads"])]
    if results.has("windows"):
        blocks += ["\nSwaps within one window, weighted by attention within it"]
        blocks.append(_windows(results.rows("windows", WindowScore)))
    if results.has("temperatures"):
        blocks += ["\nPositional and symbolic score at several temperatures"]
        blocks.append(_temperatures(results.rows("temperatures", TemperatureScore)))
    return [*blocks, *_remarks(about, rows, settings)]


def outcomes(results: Results) -> Mapping[str, float]:
    """How many heads are pure of each kind."""
    counts = Counter(row.label for row in results.rows("heads", HeadRow))
    return {"positional_heads": counts["positional"], "symbolic_heads": counts["symbolic"]}


def _labels(labels: Iterable[str]) -> str:
    counts = Counter(labels)
    return ", ".join(f"{counts[name]} {name}" for name in LABELS if counts[name])


def _heads(rows: Sequence[HeadRow], *, is_text: bool) -> Table:
    """What matters of a head: in a text also the first and the previous token, where many heads look."""
    middle = ["first", "prev", "ID", "beyond"] if is_text else ["itself", "ID"]
    made = table("head", "positional", "symbolic", "H", *middle, "label", left=["label"])
    for row in rows:
        cells = {
            "itself": _number(row.own),
            "first": _number(row.first),
            "prev": _number(row.previous),
            "ID": _number(row.weighted_id, 0),
            "beyond": f"{_number(row.rest_positional)} {_number(row.rest_symbolic)}",
        }
        both = _interval(row.positional), _interval(row.symbolic)
        label = f"{row.label}{'*' if row.self_attending else ''}"
        made.add_row(
            f"{row.layer}.{row.head}", *both, _number(row.entropy_share), *(cells[name] for name in middle), label
        )
    return made


def _layers(heads: pd.DataFrame) -> Table:
    cells = []
    for layer, own in heads.groupby("layer"):
        means = own[["positional", "symbolic", "entropy_share", "first"]].mean().tolist()
        pure = ((own["label"] == kind).to_numpy().sum() for kind in KINDS)
        cells.append((str(layer), *map(_number, means), *(str(count or "") for count in pure)))
    return table("layer", "positional", "symbolic", "H", "first", "pure positional", "pure symbolic", rows=cells)


def _windows(rows: Sequence[WindowScore]) -> Table:
    cells = (
        (f"{row.layer}.{row.head}", row.window, *map(_number, (row.attention, row.positional, row.symbolic)))
        for row in rows
    )
    return table("head", "window", "attention", "positional", "symbolic", rows=cells, left=["window"])


def _temperatures(rows: Sequence[TemperatureScore]) -> Table:
    cells: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.layer, row.head, row.tau)):
        cells[row.layer, row.head].append(f"{_number(row.positional)} {_number(row.symbolic)}")
    lines = ((f"{layer}.{head}", *each) for (layer, head), each in cells.items())
    return table("head", *(f"tau {tau:g}" for tau in sorted({row.tau for row in rows})), rows=lines)


def _remarks(about: About, rows: Sequence[HeadRow], settings: HeadsSettings) -> list[RenderableType]:
    over = {
        "inputs": "windows" if about.is_text else "inputs", "queries": "the queries of one input, too narrow"
    }.get(about.interval)  # fmt: skip
    found = [
        f"positional, symbolic: pure within gamma {settings.gamma:g}; uniform: both scores high; mixed: the rest. "
        + (f"In brackets: 95 % intervals (bootstrap over {over}). " if over else "")
        + "H: entropy as a share of its maximum. ID: mean frequency ID, 1 is the fastest plane. "
        + (
            "first, prev: attention to the first and to the previous token. beyond: both scores of swaps among keys "
            "after the first token, where language models park attention (not the paper's score)."
            if about.is_text
            else "itself: attention to the query."
        )
    ]
    if reflexive := [row for row in rows if row.self_attending]:
        again = "; ".join(
            f"{row.layer}.{row.head} {_number(row.renormalised_positional)} {_number(row.renormalised_symbolic)}"
            for row in reflexive[:FEW]
        )
        found.append(
            f"* attends mostly to itself ({counted(len(reflexive), 'head')}), so its scores speak of keys that it "
            f"hardly looks at. Without its own position (head positional symbolic; not the paper's score): {again}."
        )
    if settings.level == "tokens":
        found.append(
            "Tokens were swapped and the model run again; only at layer 0 is this the score of the head alone."
        )
    if any(row.planes == 0 for row in rows):
        found.append("Heads without rotation (no ID) are symbolic by construction: position does not enter them.")
    if about.undefined:
        found.append(f"{counted(about.undefined, '(input, query) pair')} had no score and were left out.")
    if not np.isnan(about.error):
        found.append(
            f"Rebuilt attention agrees with the model's own output within {about.error:.1g} of its largest value."
        )
    return [remark(text) for text in found]


def _interval(found: Estimate) -> str:
    return f"{_number(found.value)} ({_number(found.low)}-{_number(found.high)})"


def _number(value: float, digits: int = 2) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"
