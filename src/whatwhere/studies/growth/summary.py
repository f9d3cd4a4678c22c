"""The terminal summary of the study ``growth``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import RenderableType
from rich.table import Table

from whatwhere.heads.purity import KINDS, label_of
from whatwhere.studies.growth.onsets import heads_at_end
from whatwhere.studies.growth.tables import ATTENDS, COPIES, COPYING, INDUCTION, PREVIOUS, Loss, Onset
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
    return [head, _heads(heads_at_end(results)), _events(results.rows("onsets", Onset)), remark(note)]


def outcomes(results: Results) -> Mapping[str, float]:
    """The held-out loss, what repetition helps, and the pure heads of each kind at the end."""
    last, labels = results.rows("losses", Loss)[-1], Counter(_labels(heads_at_end(results)))
    return {
        "held_out": last.held_out,
        "copying": last.copying,
        **{f"pure_{kind}": float(labels[kind]) for kind in KINDS},
    }


def _labels(heads: pd.DataFrame) -> list[str]:
    return [label_of(*scores) for scores in heads[["positional", "symbolic"]].to_numpy()]


def _heads(heads: pd.DataFrame) -> Table:
    """Every head at the end."""
    numbers = heads[["positional", "symbolic", PREVIOUS, INDUCTION]].map("{:.2f}".format)
    names = heads["layer"].astype(str) + "." + heads["head"].astype(str)
    cells = zip(names, *(numbers[name] for name in numbers), [f" {label}" for label in _labels(heads)], strict=True)
    return table("head", "positional", "symbolic", "one back", "induction", "label", rows=cells, left=("label",))


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
