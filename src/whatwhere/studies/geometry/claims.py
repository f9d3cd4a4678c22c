"""Keys, queries and frequencies of the trained models: Sections 3.4 and 3.6, Figure 4 and the table of angles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.claim import Claim, Finding, sureness
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


def queries_turn(everything: bool) -> Callable[[Evidence], Finding]:
    """How far the queries of layer 1 agree with the construction, for all integers or those that it serves."""

    def measure(evidence: Evidence) -> Finding:
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
        return Finding(row.agreement >= NEAR, row.agreement, why, None, slope.n)

    return measure


def keys_aligned(group: str) -> Callable[[Evidence], Finding]:
    """How far the keys of layer 1 point the same way in its dominant plane."""

    def measure(evidence: Evidence) -> Finding:
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
        return Finding(one.value >= NEAR, one.value, why + sureness(one.interval, NEAR), one.interval, one.n)

    return measure


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
    return Finding(value > 0, value, why + sureness(interval, 0), interval, fast.n)


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
    return Finding(all(same), sum(same) / len(same), f"Ours: {'; '.join(each)}.", None, inputs)


_FIGURE_4 = "Section 3.4, Figure 4B"
_TABLE = "Section 3.6, table of weighted IDs, figure of frequency use"
_PAPER = "; ".join(f"{model} {', '.join(map(str, ids))}" for model, ids in PAPER_IDS.items())

CLAIMS = (
    Claim(
        "index-queries-turn",
        "Index geometry: the queries of layer 1 turn with their integer",
        "As in the construction, the query of integer i in layer 1 stands i theta before the keys, for every integer.",
        _FIGURE_4,
        "Mean length of unit queries of the integers 1 to 16, each turned forward by i theta, in the dominant plane.",
        f"at least {NEAR}; 1 is the construction",
        queries_turn(True),
    ),
    Claim(
        "index-queries-turn-in-reach",
        "Index geometry: they do for the integers that layer 1 serves",
        "A narrower reading: layer 1 resolves the second hop, whose integers point inside the pre-target window.",
        _FIGURE_4,
        "The same, for the integers 1 to 8.",
        f"at least {NEAR}; 1 is the construction",
        queries_turn(False),
    ),
    Claim(
        "index-keys-aligned",
        "Index geometry: all keys of layer 1 are aligned",
        "For attention to depend on position alone all keys must be aligned, and in the trained layer 1 they are.",
        _FIGURE_4,
        "Length of the mean unit key of layer 1 in its dominant plane, over all positions.",
        f"at least {NEAR}; 1 is the construction",
        keys_aligned("all"),
    ),
    Claim(
        "index-keys-aligned-within-window",
        "Index geometry: the keys that layer 1 looks at are aligned",
        "Our reading: the keys of one window are aligned, here those of pointers, which layer 1 looks at.",
        f"{_FIGURE_4}; see docs/geometry.md",
        "The same, over the positions of the pre-target window.",
        f"at least {NEAR}; 1 is the construction",
        keys_aligned(POINTERS),
    ),
    Claim(
        "frequency-separates-tasks",
        "The number model works with faster frequencies than the letter model",
        "Layer by layer, the first four layers of the number model use faster planes than those of the letter model.",
        _TABLE,
        "Weighted frequency ID (share of the logits' variance; 1 is fastest) of the letter model less that of the "
        "number model, smallest over layers 0 to 3.",
        "above 0",
        faster_than_letter,
        "17 (layer 0: 1 against 18)",
    ),
    Claim(
        "frequency-separates-layers",
        "In the number model, indexing layers are faster than propagating ones",
        "The layers that index use fast planes, those behind them slow ones.",
        _TABLE,
        "Lowest weighted ID of layers 5 to 11 less the highest of layers 0 to 3, number model.",
        "above 0",
        faster_than_later_layers,
        "35 (2 against 37)",
    ),
    Claim(
        "frequency-ids-as-in-table",
        "The weighted IDs are those of the paper's table",
        "The table of weighted average IDs, layer by layer. The paper does not define its weights (erratum E14).",
        _TABLE,
        "Share of the 24 layers whose rounded weighted ID (share of the logits' variance) equals the printed one.",
        "all of them",
        ids_as_in_table,
        _PAPER,
    ),
)  # fmt: skip
