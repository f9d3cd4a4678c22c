"""Keys, queries and frequencies of the trained models: Sections 3.4 and 3.6, Figure 4 and the table of angles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import numpy as np
from jaxtyping import Float

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.tables import PAPER_IDS, VARIANCE, NullComparison, PlaneWeight
from whatwhere.studies.terminal import ends, spanned

LAYER = 1
"""The layer of Figure 4B."""
NEAR = 0.9
"""As with purity: 1 is the construction, and 0.9 is near enough."""
FIRST = range(4)
"""The layers that the paper's number model indexes with: as many as the longest input has hops."""
AFTER = range(5, 12)
"""The layers that only propagate in the paper's table; layer 4 (ID 10) is in between."""
SELDOM = 0.05
"""The largest share of shuffles with a value as large."""
SHUFFLES = 1000


def learned(evidence: Evidence, model: str) -> None:
    """Raises NotTested for a model that has not learned its task, by its accuracy without closed planes."""
    rows = evidence.rows("geometry", model, "gating", tables.GatedAccuracy)
    require_learned(model, [r.accuracy.value for r in rows if r.kind == tables.AS_TRAINED and r.hop is not None])


def against_nulls(evidence: Evidence, statement: str) -> tuple[bool, str]:
    """Whether a statement about layer 1 exceeds that for shuffled integers, and its rank among all nulls in words.

    Other planes and layers may share the geometry (the keys of the construction are aligned in every plane), so their
    ranks are reported and do not decide.
    """
    rows = [row for row in evidence.rows("geometry", "number", "nulls", NullComparison) if row.statement == statement]
    mine = [row for row in rows if (row.layer, row.head) == (LAYER, 0)]
    text = [f"{row.reached} of {row.nulls} {row.null} (median {row.median:.2f})" for row in mine]
    with suppress(NotTested):
        others = evidence.rows("geometry", "letter", "nulls", NullComparison)
        values = {row.layer: row.value for row in others if row.statement == statement and row.head == 0}
        reached = sum(value >= row.value for value in values.values() for row in mine[:1])
        text += [f"{reached} of {len(values)} letter layers"] * bool(values)
    evidence.asked.discard("letter")  # a null: the statement is about the number model, whatever data letters came from
    why = f" As large: {', '.join(text)}." if text else ""
    return all(row.reached <= SELDOM * row.nulls for row in mine if row.null == "shuffled names"), why


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
        f"({ends(slope, between=' to ')}), the construction by {row.predicted:.2f}; R^2 {row.r2:.2f}."
    )
    stands_out, ranks = against_nulls(evidence, f"queries turn {wanted}")
    return Finding(row.agreement, why + ranks, None, slope.n, rest_holds=stands_out)


def keys_aligned(evidence: Evidence, group: str) -> Finding:
    """How far the keys of layer 1 point the same way in its dominant plane."""
    learned(evidence, "number")
    table = evidence.rows("geometry", "number", "keys", tables.KeyAlignment)
    rows = {row.keys: row for row in table if (row.layer, row.head) == (LAYER, 0)}
    if group not in rows:
        raise NotTested(f"the alignment of keys of layer {LAYER} was not measured.")
    each = ", ".join(f"{name} {row.alignment.value:.3f}" for name, row in rows.items())
    why = f"Layer {LAYER}, plane {rows[group].plane}: {each} (1 is aligned, 0 cancels)."
    one = rows[group].alignment
    if group == "all" and one.value < NEAR <= min(rows[name].alignment.value for name in ("target", "pointers")):
        why += " Each window has one direction, and the two are opposite: the head looks at one kind of token only."
    return Finding(one.value, why + against_nulls(evidence, f"keys aligned {group}")[1], one.interval, one.n)


def plane_of_layer_1(evidence: Evidence) -> Finding:
    """The ID of the plane that carries layer 1 of the number model, and how far it leads."""
    learned(evidence, "number")
    by_layer: dict[int, list[PlaneWeight]] = {}
    weights = evidence.rows("geometry", "number", "weights", PlaneWeight)
    for row in sorted(weights, key=lambda row: -row.weight.value):
        if (row.measure, row.head) == (VARIANCE, 0):
            by_layer.setdefault(row.layer, []).append(row)
    if LAYER not in by_layer:
        raise NotTested(f"the planes of layer {LAYER} were not weighed.")
    first, second = by_layer.pop(LAYER)[:2]
    share = first.weight
    why = (
        f"ID {first.plane} has {spanned(share, between=' to ')} of the logits' variance, the next, ID {second.plane}, "
        f"{second.weight.value:.2f}."
    )
    others = [rows[0].weight.value for rows in by_layer.values()]
    why += f" {sum(o >= share.value for o in others)} of {len(others)} other layers have a plane of as large a share."
    return Finding(float(first.plane), why, None, share.n, rest_holds=share.low > second.weight.high)


def weighted_ids(evidence: Evidence, model: str, layers: Iterable[int], measure: str = VARIANCE) -> dict[int, Estimate]:
    """The weighted IDs of the layers of a model (first head); not tested if one of ``layers`` is not among them."""
    learned(evidence, model)
    rows = evidence.rows("geometry", model, "ids", tables.FrequencyId)
    ids = {row.layer: row.weighted_id for row in rows if row.measure == measure and row.head == 0}
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


def distance_to_table(evidence: Evidence) -> Finding:
    """The mean distance between our 24 weighted IDs and the paper's, beside that between our own measures."""
    table = np.concatenate(list(PAPER_IDS.values()))  # [model and layer]
    ours: dict[str, Float[np.ndarray, "id"]] = {}
    inputs = 0
    rows = (evidence.rows("geometry", model, "ids", tables.FrequencyId) for model in PAPER_IDS)
    common = set.intersection(*({row.measure for row in some} for some in rows))
    for measure in sorted({VARIANCE, *common}):
        found = [weighted_ids(evidence, model, range(len(quoted)), measure) for model, quoted in PAPER_IDS.items()]
        ours[measure] = np.array([ids[at].value for ids in found for at in range(len(table) // len(found))])
        inputs = found[-1][0].n
    far = {measure: float(np.abs(ids - table).mean()) for measure, ids in ours.items()}
    apart = [float(np.abs(a - b).mean()) for a, b in combinations(ours.values(), 2)]
    random = np.random.default_rng(0)
    shuffled = [np.concatenate([random.permutation(ids) for ids in PAPER_IDS.values()]) for _ in range(SHUFFLES)]
    near = int((np.abs(ours[VARIANCE] - np.stack(shuffled)).mean(1) <= far[VARIANCE]).sum())
    by_model = zip(PAPER_IDS, np.split(ours[VARIANCE], len(PAPER_IDS)), strict=True)
    each = "; ".join(f"{model} {', '.join(f'{x:.0f}' for x in ids)}" for model, ids in by_model)
    why = (
        f"Ours: {each}. Our {len(ours)} measures differ by {min(apart):.1f} to {max(apart):.1f} IDs from each other; "
        f"{near} of {SHUFFLES:,} tables with shuffled layers are as near."
    )
    value = far.pop(VARIANCE)
    return Finding(value, why, None, inputs, elsewhere={"measure": far})


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
