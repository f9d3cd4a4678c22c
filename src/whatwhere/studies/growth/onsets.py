"""When each event of a training begins: from which evaluation on something holds to the end."""

from __future__ import annotations

import numpy as np

from whatwhere.heads.purity import KINDS
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.growth.tables import ATTENDS, COPIES, COPYING, INDUCTION, PREVIOUS, Onset
from whatwhere.studies.results import Results


def find_onsets(results: Results) -> list[Onset]:
    """The events of a training in the order of their steps; what never holds to the end is left out."""
    losses = results["losses"].set_index("step")
    tokens = losses["tokens"]
    history = ScoreHistory.of(results["scores"])
    found: list[tuple[str, int | None, int | None, int]] = [
        (kind, layer, head, int(step)) for kind in KINDS for step, layer, head in history.purity().joined(kind)
    ]
    detectors = results["detectors"]
    for event in (PREVIOUS, INDUCTION):
        for (layer, head), rows in detectors.groupby(["layer", "head"]):  # pyright: ignore[reportGeneralTypeIssues]
            step = held_from(rows["step"].to_numpy(), rows[event].to_numpy() >= ATTENDS)
            if step is not None:
                found.append((event, int(layer), int(head), step))
    copying = held_from(losses.index.to_numpy(), losses["copying"].to_numpy() >= COPIES)
    if copying is not None:
        found.append((COPYING, None, None, copying))
    ordered = sorted(found, key=lambda one: one[3])
    return [Onset(event, layer, head, step, int(tokens.loc[step])) for event, layer, head, step in ordered]


def held_from(steps: np.ndarray, holds: np.ndarray) -> int | None:
    """The first step from which something holds at every evaluation to the end; None if it does not at the end."""
    broken = np.flatnonzero(~holds)
    at = int(broken[-1]) + 1 if len(broken) else 0
    return int(steps[at]) if at < len(steps) else None
