"""The terminal summary of the study ``validity``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import RenderableType

from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.heads.weighting import TAU
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, table
from whatwhere.studies.validity.tables import KnownScore, NullLabel, PermutationScore

SHOWN = (0.0, 0.25, 0.5, 0.75, 1.0)


def summary(results: Results) -> Sequence[RenderableType]:
    """Scores by known share, labels of null heads, and swaps against all permutations."""
    return [
        "Scores of heads whose nature is known\n",
        *_scores(results.rows("scores", KnownScore)),
        *_labels(results.rows("labels", NullLabel)),
        *_permutations(results.rows("permutations", PermutationScore)),
    ]


def _scores(rows: Sequence[KnownScore]) -> list[RenderableType]:
    """A line for each kind of head and sharpness, a column for each share."""
    kinds: dict[tuple[str, str], dict[float | None, list[KnownScore]]] = {}
    for row in rows:
        share = None if math.isnan(row.share) else row.share
        kinds.setdefault((row.family, f"{row.entropy:.2f}"), {}).setdefault(share, []).append(row)
    made = table(
        "heads", "entropy", *(f"{share:g}" for share in SHOWN), "no share", "change", left=("heads",),
        title=f"Positional/symbolic score at tau {TAU:g}, by share of content",
    )  # fmt: skip
    for (family, entropy), by_share in kinds.items():
        cells = (_pair(by_share[share]) if share in by_share else "" for share in (*SHOWN, None))
        moved = max(
            max(values) - min(values)
            for same in by_share.values()
            for values in ([row.positional.value for row in same], [row.symbolic.value for row in same])
        )
        made.add_row(family, entropy, *cells, f"{moved:.2f}")
    note = (
        "share of content: of the variance of the logits, 0 for a positional and 1 for a symbolic head; flat and null "
        "heads have none. entropy: as a share of its maximum. change: the largest one of a score from tau 1e-4 to 0.1."
    )
    return [made, remark(note)]


def _pair(rows: Sequence[KnownScore]) -> str:
    one = next(row for row in rows if row.tau == TAU)
    both = (f"{score.value:.2f}".removeprefix("0").replace("1.00", "1.0") for score in (one.positional, one.symbolic))
    return "/".join(both)


def _labels(rows: Sequence[NullLabel]) -> list[RenderableType]:
    most = max(row.inputs for row in rows)
    shown = {
        (row.family, row.entropy, row.inputs, row.gamma): row
        for row in rows
        if row.tau == TAU and row.inputs in (1, most)
    }
    made = table(
        "null heads", "entropy", "inputs", *(f"{kind[:3]}. {gamma:g}" for gamma in GAMMAS for kind in KINDS),
        left=("null heads",), title=f"\nNull heads (neither kind): share that is labelled pure, at tau {TAU:g}",
    )  # fmt: skip
    for family, entropy, inputs in dict.fromkeys(key[:3] for key in shown):
        pairs = (shown[family, entropy, inputs, gamma] for gamma in GAMMAS)
        cells = (f"{share.value:.2f}" for row in pairs for share in (row.positional, row.symbolic))
        made.add_row(family, f"{entropy:.2f}", str(inputs), *cells)
    note = "pos., sym.: labelled positional or symbolic, at this gamma. inputs: on which each head is scored."
    return [made, remark(note)]


def _permutations(rows: Sequence[PermutationScore]) -> list[RenderableType]:
    made = table(
        "tokens", "taken", "score", "entropy", "swaps", "all", "difference", "95 %", "error", left=("taken", "score"),
        title=f"\nSwaps against all permutations: additive heads, share 0.5, tau {TAU:g}",
    )  # fmt: skip
    for row in rows:
        if row.tau == TAU and row.share == 0.5:
            one = row.difference
            made.add_row(
                str(row.tokens), "all" if row.listed else "drawn", row.score, f"{row.entropy:g}", f"{row.swaps:.3f}",
                f"{row.permutations:.3f}", f"{one.value:+.3f}", f"{one.low:+.2f} {one.high:+.2f}", f"{row.error:.3f}",
            )  # fmt: skip
    return [
        made,
        remark("taken: all permutations or a sample; error: standard error of sampling. The table has more shares."),
    ]
