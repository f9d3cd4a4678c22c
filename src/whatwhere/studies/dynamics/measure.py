"""Scores every checkpoint of a run on the same inputs, from one forward pass each.

The pass gives the answers and the trace of every query that is read. All readings and temperatures are computed from
this trace: they share the swaps, and differ in weights and means only. Checkpoints are distributed over the cores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import share
from whatwhere.heads.head_scores import HeadScores, join_inputs
from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import FIRST_QUERY, READINGS, band
from whatwhere.machine.threads import parallel_map
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import shares_by_hop
from whatwhere.studies.dynamics.association import lags
from whatwhere.studies.dynamics.gradients import measure_gradients
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.tables import Accuracy, DynamicsSettings, PureHead, Score
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.batch import Batch
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.own import OwnModel
from whatwhere.training.run import Run

Rows = dict[str, list[Any]]
"""By table: ``accuracy``, ``scores``, ``readings``."""
_SAVE_EVERY_SECONDS = 20.0
_TOKENS_AT_ONCE = 2**12
"""Tokens per forward pass: enough for a low overhead, and few enough that activations fit in the cache."""
_DIGITS = 7
"""Decimals of a score; the scores are exact to about as many."""


def measure(run: Run, settings: DynamicsSettings, results: Results, progress: Progress) -> bool:
    """Scores the checkpoints that are not scored yet.

    Returns:
        Whether the run has ended, so that no further checkpoint will come.

    Raises:
        WhatwhereError: there are no checkpoints, or one is damaged.
    """
    ended = run.ended  # read first: a later checkpoint must not be missed
    steps = _chosen(run, settings, run.steps())
    tables = _Tables(results)
    if not steps and not tables.done:
        raise WhatwhereError(
            f"expected a run with checkpoints, got {run.directory}, which has none yet; train it first."
        )
    batch = run.task.sample(settings.inputs, seed=settings.seed)
    widely = _read_widely(run, settings, steps)
    first, seq = min(FIRST_QUERY, run.task.target), run.task.length  # a path's pointers are after the target window

    def look(step: int) -> Rows:
        queries = range(first if step in widely else seq - 1, seq)
        return _score_checkpoint(run.load(step), step, batch, queries, settings)

    waiting = [step for step in steps if step not in tables.done]
    cores = max(1, torch.get_num_threads())
    try:
        for start in range(0, len(waiting), cores):
            some = waiting[start : start + cores]
            for step, found in zip(some, parallel_map(look, some), strict=True):
                tables.add(step, found)
            tables.save(_SAVE_EVERY_SECONDS)
            progress(f"step {waiting[start]} scored", len(tables.done), len(tables.done | set(steps)))
    finally:
        tables.save()
    results.write("accuracy", [*tables.rows["accuracy"], *_validation(run), *_test(run)])
    results.write("purity", purity_rows(results["readings"]))
    training = Training(results)
    results.write("lags", lags(training))
    if settings.gradients:
        results.write("gradients", measure_gradients(run, training.scores.purity()))
    return ended


class _Tables:
    """The rows so far. A step is done once all three tables have it: a process may be killed between two writes."""

    def __init__(self, results: Results) -> None:
        self.results = results
        rows: Rows = {
            "accuracy": [row for row in results.rows("accuracy", Accuracy) if row.split == "scored"],
            "scores": results.rows("scores", Score),
            "readings": results.rows("readings", Score),
        }
        self.done = set.intersection(*({row.step for row in part} for part in rows.values()))
        self.rows = {table: [row for row in part if row.step in self.done] for table, part in rows.items()}
        self._saved, self._changed = time.monotonic(), False

    def add(self, step: int, found: Rows) -> None:
        """Adds the rows of a checkpoint."""
        self.done.add(step)
        for table, rows in found.items():
            self.rows[table] += rows
        self._changed = True

    def save(self, after: float = 0.0) -> None:
        """Writes new rows, if the last write was at least ``after`` seconds ago."""
        if not self._changed or time.monotonic() - self._saved < after:
            return
        for table, rows in self.rows.items():
            self.results.write(table, sorted(rows, key=lambda row: row.step))
        self._saved, self._changed = time.monotonic(), False


def _chosen(run: Run, settings: DynamicsSettings, steps: Sequence[int]) -> list[int]:
    """The checkpoints that are scored: all, or some at equal distances of the square root of the step, and the last.

    Most happens early (Figure 2). The steps follow from the plan of the run, so a run in training continues with them.
    """
    if settings.checkpoints is None:
        return list(steps)
    spacing, last = run.config.spacing, run.config.schedule.steps
    parts = np.linspace(0, 1, settings.checkpoints) ** 2
    wanted = {*(np.round(parts * last / spacing) * spacing).astype(int).tolist(), *steps[-1:]}
    return [step for step in steps if step in wanted]


def _read_widely(run: Run, settings: DynamicsSettings, steps: Sequence[int]) -> set[int]:
    """The checkpoints at which all readings are taken: spread over the planned run, and the last existing one."""
    config = run.config
    if settings.checkpoints is not None:
        return set(steps[:: max(1, settings.checkpoints // settings.readings)]) | set(steps[-1:])
    stride = config.spacing * max(1, round(config.schedule.steps / config.spacing / settings.readings))
    return {step for step in steps if step % stride == 0} | set(steps[-1:])


def _score_checkpoint(model: GPTJ, step: int, batch: Batch, queries: range, settings: DynamicsSettings) -> Rows:
    """The scores of one model at some queries, and its accuracy on the same inputs.

    ``scores`` are those at the last query and the chosen temperature, ``readings`` those at all of them.
    """
    size = max(1, _TOKENS_AT_ONCE // batch.tokens.shape[1])
    starts = range(0, len(batch), size)
    parts = [_score_part(model, batch.tokens[start : start + size], queries, settings) for start in starts]
    right = np.concatenate([answers for answers, _ in parts]) == batch.answers
    *classes, _ = shares_by_hop(right, batch.hops)  # without the mean over classes
    accuracy = [Accuracy(step, "scored", hop, estimate) for hop, estimate in classes if hop is not None]
    rows = [
        row
        for same in zip(*(scores for _, scores in parts), strict=True)
        for reading in (READINGS if len(queries) > 1 else READINGS[:1])
        for row in score_rows(step, join_inputs(same).read(reading, batch.paths))
    ]
    main = [row for row in rows if (row.reading, row.tau) == (READINGS[0], settings.tau)]
    return {"accuracy": accuracy, "scores": main, "readings": rows}


@torch.no_grad()
def _score_part(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], queries: range, settings: DynamicsSettings
) -> tuple[Int[np.ndarray, "n"], list[HeadScores]]:
    """The answers to some inputs, and the scores at each temperature, from one forward pass."""
    own = OwnModel(model)
    inputs = replace(own.inputs(tokens), last=1)
    places = inputs.places(queries)
    layers: list[LayerTrace] = []
    logits = own.forward(inputs, lambda call: layers.append(call.read(places)), range(own.depth))  # [n, 1, vocab]
    answers = logits[:, -1].argmax(-1).numpy(force=True)
    return answers, score_weightings(Trace(tuple(layers)), band(settings.taus))


def score_rows(step: int, scores: HeadScores, heads: Sequence[int] | None = None) -> list[Score]:
    """One row per head, with means over what is read; ``heads`` numbers them if not all of a layer were scored."""
    names = ("positional", "symbolic", "entropy", "entropy_share", "own")
    means = torch.stack([getattr(scores, name) for name in names], -1).numpy(force=True).round(_DIGITS)
    defined = (~scores.masked(scores.each_positional).isnan()).sum((1, 3)).tolist()  # [layer, head]
    reading, tau = scores.reading or "chosen", scores.tau
    return [
        Score(step, layer, head, reading, tau, *means[i, at].tolist(), n=defined[i][at])
        for i, layer in enumerate(scores.layers)
        for at, head in enumerate(range(means.shape[1]) if heads is None else heads)
    ]


def _validation(run: Run) -> list[Accuracy]:
    """The training's own evaluations: what ``metrics.csv`` holds, with its number of sequences."""
    hops = range(1, run.task.max_hops + 1)
    n = run.config.validation // len(hops)
    return [
        Accuracy(int(row["step"]), "validation", hop, share(round(row[f"accuracy_hop{hop}"] * n), n))
        for row in run.metrics()
        for hop in hops
        if not np.isnan(row.get(f"accuracy_hop{hop}", np.nan))
    ]


def _test(run: Run) -> list[Accuracy]:
    """The last model on the test split, if that was measured."""
    return [
        Accuracy(row.step, "test", row.hop, share(round(row.accuracy * row.sequences), row.sequences))
        for row in run.test()
    ]


def purity_rows(readings: pd.DataFrame) -> list[PureHead]:
    """When each head became pure, for each reading, temperature and tolerance (Figure 2C)."""
    rows = []
    for (reading, tau), history in ScoreHistory.each(readings).items():
        scored = np.argwhere(np.isfinite(history.entropy[-1])).tolist()  # the heads that were
        for gamma, kind in product(GAMMAS, KINDS):
            found = history.purity(gamma)
            both = np.stack([found.first(kind), found.for_good(kind)])  # [2, layer, head]
            for layer, head in scored:
                first, for_good = (None if np.isnan(step) else int(step) for step in both[:, layer, head])
                rows.append(PureHead(gamma, reading, tau, kind, layer, head, first, for_good))
    return rows
