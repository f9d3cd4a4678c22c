"""Scores every checkpoint of a run on the same inputs.

The scores are written as the work goes on, whole each time, so an interruption loses a few seconds at most and the next
call goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.levels import score_model
from whatwhere.studies.dynamics.history import Row, ScoreHistory, Settings, read_history, read_rows, rows_of, write_rows
from whatwhere.training.run import Run

_SAVE_EVERY_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 1.0
Observer = Callable[[int, int, int], None]
"""Told the step just scored, how many checkpoints are scored, and how many there are."""


def score_run(
    run: Run, settings: Settings, *, force: bool = False, follow: bool = False, observer: Observer | None = None
) -> ScoreHistory:
    """Scores every checkpoint that is not scored yet.

    Args:
        run: the run.
        settings: how to score.
        force: drop scores that were made with other settings.
        follow: wait for further checkpoints until the run has ended.
        observer: told after each checkpoint.

    Raises:
        WhatwhereError: no run or no checkpoints here, scores made with other settings, a damaged file, or another
            process at the same work.
    """
    tokens = run.task.sample(settings.inputs, seed=settings.seed).tokens
    if not run.steps() and not follow:
        raise WhatwhereError(f"{run.directory} has no checkpoints to score yet; train it first, or wait with --follow.")
    with run.held("score"):
        done = _kept(run.scores_path, settings, force)
        while True:
            last_round = not follow or run.ended  # asked before looking, so that the last checkpoint is not missed
            scored = _score_waiting(run, tokens, settings, done, observer)
            if last_round:
                return read_history(run.scores_path)
            if not scored:
                time.sleep(_LOOK_EVERY_SECONDS)


def _score_waiting(
    run: Run,
    tokens: Int[np.ndarray, "n seq"],
    settings: Settings,
    done: dict[int, list[Row]],
    observer: Observer | None,
) -> int:
    """Scores what is there and not ``done``, adds it there, and returns how many checkpoints that was."""
    waiting = [step for step in run.steps() if step not in done]
    saved = time.monotonic()
    try:
        for step in waiting:
            done[step] = rows_of(step, score_model(run.load(step), tokens, settings.tau), settings)
            if time.monotonic() - saved > _SAVE_EVERY_SECONDS:
                write_rows(run.scores_path, done)
                saved = time.monotonic()
            if observer:
                observer(step, len(done), len(done.keys() | set(run.steps())))
    finally:
        if waiting and done and run.exists:  # a run that was removed meanwhile is not begun anew
            write_rows(run.scores_path, done)
    return len(waiting)


def _kept(path: Path, settings: Settings, force: bool) -> dict[int, list[Row]]:
    """The rows that need not be computed again, by step."""
    if force or not path.exists():
        return {}
    found = read_history(path).settings
    if str(found) != str(settings):
        raise WhatwhereError(
            f"{path} was made with {found}, and {settings} are asked for. "
            "Ask for the same, or score anew with --force, which replaces the file."
        )
    return read_rows(path)
