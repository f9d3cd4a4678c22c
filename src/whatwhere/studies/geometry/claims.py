"""Keys, queries and frequencies of the trained models: Sections 3.4 and 3.6, Figure 4 and the table of angles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.tables import AS_TRAINED, PAPER_IDS, VARIANCE, FrequencyId, GatedAccuracy

LAYER = 1
"""The layer of Figure 4B."""
NEAR = 0.9
"""As with purity: 1 is the construction, and 0.9 is near enough."""
FIRST = range(4)
"""The layers that the paper's number model indexes with: as many as the longest input has hops."""
AFTER = range(5, 12)
"""Those that only propagate in the paper's table; layer 4 (ID 10) stands between."""
POINTERS = "pointers"


def learned(evidence: Evidence, model: str) -> None:
    """Refuses a model that has not learned its task, by its accuracy with no plane closed."""
    rows = evidence.rows("geometry", model, "gating", GatedAccuracy)
    require_learned(model, [r.accuracy.value for r in rows if r.kind == AS_TRAINED and r.hop is not None])


def queries_turn(evidence: Evidence, everything: bool) -> Finding:
    """How far the queries of layer 1 agree with the construction, for all integers or those that it serves."""
    learned(evidence, "number")
    rows = evidence.rows("geometry", "number", "queries", tables.QueryTurn)
    task = evidence.results("geometry", "number").inputs["task"]
    wanted = f"1-{task['integers'] if everything else task['context']}"
    row = next((row for row in rows if (row.layer, row.head, row.integers) == (LAYER, 0, wanted)), None)
    if row is None:
        raise NotTested(f"there is no fit of the queries of layer {LAYER} over the integers {wanted}.")
    slope = row.slope
    why = (
        f"Layer {LAYER}, plane {row.plane}, integers {wanted}: the angle turns by {slope.value:.2f} per integer "
        f"({slope.low:.2f} to {slope.high:.2f}), the construction by {row.predicted:.2f}; R^2 {row.r2:.2f}."
    )
    return Finding(row.agreement, why, None, slope.n)


def keys_aligned(evidence: Evidence, group: str) -> Finding:
    """How far the keys of layer 1 point the same way in its dominant plane."""
    learned(evidence, "number")
    table = evidence.rows("geometry", "number", "keys", tables.KeyAlignment)
    rows = {row.keys: row.alignment for row in table if (row.layer, row.head) == (LAYER, 0)}
    if group not in rows:
        raise NotTested(f"the alignment of keys of layer {LAYER} was not measured.")
    plane = next(row.plane for row in table if (row.layer, row.head) == (LAYER, 0))
    each = ", ".join(f"{name} {one.value:.3f}" for name, one in rows.items())
    why = f"Layer {LAYER}, plane {plane}: {each} (1 is aligned, 0 cancels)."
    one = rows[group]
    if group == "all" and one.value < NEAR <= min(rows[name].value for name in ("target", POINTERS)):
        why += " Each window has one direction, and the two are opposite: the head looks at one kind of token only."
    return Finding(one.value, why, one.interval, one.n)


def weighted_ids(evidence: Evidence, model: str, layers: Iterable[int]) -> dict[int, Estimate]:
    """The weighted IDs of some layers of a model (variance share, first head).

    Raises:
        NotTested: the model has not learned its task, or is too shallow.
    """
    learned(evidence, model)
    rows = evidence.rows("geometry", model, "ids", FrequencyId)
    ids = {row.layer: row.weighted_id for row in rows if row.measure == VARIANCE and row.head == 0}
    missing = [at for at in layers if at not in ids or math.isnan(ids[at].value)]
    if missing:
        raise NotTested(f"the paper's models have 12 layers, and layer {missing[0]} is not among the results.")
    return ids


def _above(slow: Estimate, fast: Estimate, why: str) -> Finding:
    """Whether one ID is above another, and by how much."""
    value, interval = slow.value - fast.value, (slow.low - fast.high, slow.high - fast.low)
    return Finding(value, why, interval, fast.n)


def faster_than_letter(evidence: Evidence) -> Finding:
    """By how many IDs the first layers of the number model are below those of the letter model, at least."""
    number, letter = weighted_ids(evidence, "number", FIRST), weighted_ids(evidence, "letter", FIRST)
    layer = min(FIRST, key=lambda at: letter[at].value - number[at].value)
    each = "; ".join(f"layer {at}: {number[at].value:.0f} against {letter[at].value:.0f}" for at in FIRST)
    return _above(letter[layer], number[layer], f"{each}.")


def faster_than_later_layers(evidence: Evidence) -> Finding:
    """The lowest ID of the later layers of the number model, less the highest of its first ones."""
    ids = weighted_ids(evidence, "number", (*FIRST, *AFTER))
    first, after = max(FIRST, key=lambda at: ids[at].value), min(AFTER, key=lambda at: ids[at].value)
    why = (
        f"Layers {FIRST[0]} to {FIRST[-1]} reach ID {ids[first].value:.1f} at most (layer {first}), layers "
        f"{AFTER[0]} to {AFTER[-1]} have {ids[after].value:.1f} at least (layer {after})."
    )
    return _above(ids[after], ids[first], why)


def ids_as_in_table(evidence: Evidence) -> Finding:
    """The share of layers, of both models, whose rounded ID is that of the paper's table."""
    same, inputs, each = [], 0, []
    for model, quoted in PAPER_IDS.items():
        ids = weighted_ids(evidence, model, range(len(quoted)))
        ours = [round(ids[at].value) for at in range(len(quoted))]
        same += [a == b for a, b in zip(ours, quoted, strict=True)]
        each.append(f"{model} {', '.join(map(str, ours))}")
        inputs = ids[0].n
    return Finding(sum(same) / len(same), f"Ours: {'; '.join(each)}.", None, inputs)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
