"""What a person reads of the study ``growth`` in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from whatwhere.heads.purity import KINDS, label_of
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.growth.tables import ATTENDS, COPIES, COPYING, INDUCTION, PREVIOUS, Detector, Loss, Onset
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, table

EVENTS = {
    "positional": "purely positional", PREVIOUS: "looks one place back", "symbolic": "purely symbolic",
    INDUCTION: "induction", COPYING: "the model copies",
}  # fmt: skip
_SHOWN = 12


def summary(results: Results) -> Sequence[RenderableType]:
    """The loss, the heads at the end, and when each event began."""
    settings, losses = results.settings, results.rows("losses", Loss)
    last = losses[-1]
    head = (
        f"{settings.model} with {settings.heads} heads each, trained on {last.tokens:,} tokens. Held-out loss "
        f"{losses[0].held_out:.2f} to {last.held_out:.2f} nats; repetition helps by {last.copying:.2f} nats."
    )
    note = (
        f"Steps: from which it holds to the end. Pure: gamma 0.1, tau 1e-4, on held-out text. One "
        f"place back, induction: attention of {ATTENDS} or more on that token. Copies: by {COPIES} nats or more."
    )
    return [head, _heads(results), _events(results.rows("onsets", Onset)), remark(note)]


def outcomes(results: Results) -> Mapping[str, float]:
    """The held-out loss, what repetition helps, and the pure heads of each kind at the end."""
    last, labels = results.rows("losses", Loss)[-1], Counter(_labels(results).values())
    return {
        "held_out": last.held_out,
        "copying": last.copying,
        **{f"pure_{kind}": float(labels[kind]) for kind in KINDS},
    }


def _labels(results: Results) -> dict[tuple[int, int], str]:
    rows = results.rows("scores", Score)
    return {(r.layer, r.head): label_of(r.positional, r.symbolic) for r in rows if r.step == rows[-1].step}


def _heads(results: Results) -> Table:
    """Every head at the end."""
    scores, detectors, labels = results.rows("scores", Score), results.rows("detectors", Detector), _labels(results)
    last = {(row.layer, row.head): row for row in detectors if row.step == detectors[-1].step}
    made = table("head", "positional", "symbolic", "one back", "induction", "label", left=("label",))
    for row in (row for row in scores if row.step == scores[-1].step):
        seen = last[row.layer, row.head]
        made.add_row(
            f"{row.layer}.{row.head}", f"{row.positional:.2f}", f"{row.symbolic:.2f}", f"{seen.previous:.2f}",
            f"{seen.induction:.2f}", f" {labels[row.layer, row.head]}",
        )  # fmt: skip
    return made


def _events(onsets: Sequence[Onset]) -> Table:
    """When each event began, first to last."""
    made = table("event", "heads", "first at token", "which, in order", left=("event", "which, in order"))
    for event, words in EVENTS.items():
        rows = [row for row in onsets if row.event == event]
        which = [f"{row.layer}.{row.head}" for row in rows if row.layer is not None]
        more = f" and {len(which) - _SHOWN} more" if len(which) > _SHOWN else ""
        first = f"{rows[0].tokens:,}" if rows else "never"
        made.add_row(words, str(len(which)) if event != COPYING else "", first, "  " + ", ".join(which[:_SHOWN]) + more)
    return made
