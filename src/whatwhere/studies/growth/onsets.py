"""What is read off the tables of a training: its heads at the end, and when each event begins."""

from __future__ import annotations

import numpy as np
import pandas as pd

from whatwhere.heads.purity import KINDS
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.growth.tables import ATTENDS, COPIES, COPYING, INDUCTION, PREVIOUS, Onset
from whatwhere.studies.results import Results


def heads_at_end(results: Results) -> pd.DataFrame:
    """The scores and detectors of each head at the last evaluation, one row per head."""
    scores, detectors = (results[table].query("step == step.max()") for table in ("scores", "detectors"))
    return scores.merge(detectors, on=["layer", "head"])


def find_onsets(results: Results) -> list[Onset]:
    """The events of a training in the order of their steps; what never holds to the end is left out."""
    losses, purity = results["losses"].set_index("step"), ScoreHistory.of(results["scores"]).purity()
    found: list[tuple[str, int | None, int | None, int | None]] = [
        (kind, layer, head, step) for kind in KINDS for step, layer, head in purity.joined(kind)
    ]
    for event in (PREVIOUS, INDUCTION):
        for (layer, head), rows in results["detectors"].groupby(["layer", "head"]):  # pyright: ignore[reportGeneralTypeIssues]
            step = held_from(rows["step"].to_numpy(), rows[event].to_numpy() >= ATTENDS)
            found.append((event, int(layer), int(head), step))
    found.append((COPYING, None, None, held_from(losses.index.to_numpy(), losses["copying"].to_numpy() >= COPIES)))
    tokens = losses["tokens"]
    held = [
        Onset(event, layer, head, step, int(tokens.loc[step])) for event, layer, head, step in found if step is not None
    ]
    return sorted(held, key=lambda row: row.step)


def held_from(steps: np.ndarray, holds: np.ndarray) -> int | None:
    """The first step from which something holds at every evaluation to the end; None if it does not at the end."""
    broken = np.flatnonzero(~holds)
    at = int(broken[-1]) + 1 if len(broken) else 0
    return int(steps[at]) if at < len(steps) else None
