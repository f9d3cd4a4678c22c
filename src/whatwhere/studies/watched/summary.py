"""The terminal summary of a watched training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from whatwhere.heads.purity import KINDS, label_of
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.results import Results


def summary(results: Results) -> Sequence[RenderableType]:
    """How many heads there are of each label at the end, and those that became pure for good."""
    settings, history = results.settings, ScoreHistory.of(results["scores"])
    last = [row for row in results.rows("scores", Score) if row.step == history.steps[-1]]
    labels = Counter(label_of(row.positional, row.symbolic) for row in last)
    lines = (
        f"{settings.model} in training: {len(last)} heads at {len(history.steps)} steps, {history.steps[0]:,} to "
        f"{history.steps[-1]:,}, on {settings.inputs:,} inputs of {settings.length:,} tokens, tau {settings.tau:g}.\n"
        f"At the end: {', '.join(f'{count} {label}' for label, count in labels.most_common())}."
    )
    table = Table("pure for good", "layer.head (from step)", box=None)
    for kind in KINDS:
        joined = [f"{layer}.{head} ({step:,})" for step, layer, head in history.purity().joined(kind)]
        shown = ", ".join(joined[:20]) + f" and {len(joined) - 20} more" * (len(joined) > 20)
        table.add_row(kind, shown or "none")
    return [lines, table]
