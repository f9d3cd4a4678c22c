"""Watches heads while a model trains, in any training loop: they are scored on held-out inputs at regular steps.

    watch = HeadWatch(model, held_out, "runs/mine")
    for step, batch in enumerate(batches):
        watch(step)  # scores at step 0, 200, 400 ..., and returns at once at the others
        ...

The scores go to ``scores.csv`` and ``metrics.csv`` in that directory, so that ``whatwhere report runs/mine`` draws
them, and to a tracker. Training is not affected: modes, gradients and random numbers are restored, and a step is left
out if scoring would take more than a small share of the training time.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import KINDS, label_of
from whatwhere.heads.scores import score
from whatwhere.store.addresses import name_of_place
from whatwhere.store.documents import plain
from whatwhere.studies.dynamics.measure import score_rows
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.results import Results
from whatwhere.studies.watched import WATCHED
from whatwhere.studies.watched.tables import Loss, WatchOptions, WatchSettings
from whatwhere.studies.watched.watch_arguments import check_tracker, checked_inputs, checked_loss, checked_step
from whatwhere.trace.layer import LayerTrace, Tokens, Trace
from whatwhere.trace.traceable import traceable

EACH_LOGGED = 32
"""Up to this number, heads are logged one by one; of more, only counts and means."""


@runtime_checkable
class Tracker(Protocol):
    """The module ``wandb``, a run of it, or anything with the same ``log``."""

    def log(self, values: dict[str, float], step: int) -> Any:
        """Records the values of one step."""


class HeadWatch:
    """Scores some heads of a model at regular steps while it trains.

    Args:
        model: the model in training: a transformers model, or one of ours.
        inputs: held-out token ids ``[batch, seq]``, the same throughout; one batch, as one would evaluate on.
        out: the directory that ``scores.csv``, ``metrics.csv`` and ``manifest.json`` go to.
        tracker: anything with wandb's ``log(values, step=...)``.
        resume: continue with the scores that are in ``out``. Those of the first watched step and later are dropped,
            because training has gone back to before them.
        options: ``every``, ``layers``, ``heads``, ``queries``, ``tau`` and ``budget``; see
            :class:`~whatwhere.studies.watched.tables.WatchOptions`.

    Raises:
        WhatwhereError: an option or the inputs are impossible, ``out`` holds scores already and ``resume`` is not set,
            or it holds those of another watch.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Tokens,
        out: Path | str,
        *,
        tracker: Tracker | None = None,
        resume: bool = False,
        **options: Any,
    ) -> None:
        known = [field.name for field in fields(WatchOptions)]
        if unknown := sorted(set(options) - set(known)):
            raise WhatwhereError(f"expected options of {', '.join(known)}, got {unknown[0]!r}.")
        self.options = WatchOptions(**options)
        self.model, self.source, self.tracker = model, traceable(model), tracker
        self.inputs = checked_inputs(inputs)
        check_tracker(tracker)
        self.results = Results(WATCHED, self._settings(), type(model).__name__, Path(name_of_place(out)))
        self.rows: dict[int, list[Score]] = {}
        """The scores so far, by step."""
        self.losses: dict[int, float] = {}
        self._load_existing(resume)
        self.seconds = 0.0
        """How long scoring took so far."""
        self._began = self._latest = math.nan
        self._last: int | None = None

    @property
    def share(self) -> float:
        """The time that scoring took, as a share of the rest of the time since the first call."""
        return self.seconds / (time.perf_counter() - self._began - self.seconds)

    def __call__(
        self, step: int, loss: float | Tensor | None = None, *, final: bool = False
    ) -> dict[str, float] | None:
        """Scores the heads if a scoring is due at this step.

        Args:
            step: the number of steps taken.
            loss: the training loss, to be kept with the scores.
            final: whether training has ended: score, unless this step is scored already.

        Returns:
            What was logged, or None where the step was not scored.

        Raises:
            WhatwhereError: the model cannot be traced, a layer, head or query does not exist, the step or the loss is
                no number, or the disk is full.
        """
        step = checked_step(step)
        if not self._due(step, final):
            return None
        loss = None if loss is None else checked_loss(loss)  # only now: it waits for the GPU
        if self._last is None:
            self._begin(step)
        self._last = step
        if not (final or self._affordable()):
            return None
        start = time.perf_counter()
        self.rows[step] = self._score(step)
        if loss is not None:
            self.losses[step] = loss
        self._write()
        values = logged(self.rows[step])
        if self.tracker is not None:
            self.tracker.log(dict(values), step=step)
        self._latest = time.perf_counter() - start
        self.seconds += self._latest
        return values

    def _due(self, step: int, final: bool) -> bool:
        if self._last is None:
            return True
        if step < self._last:
            raise WhatwhereError(
                f"expected steps that rise, got step {step} after step {self._last}; "
                "after going back to an earlier checkpoint, make a new HeadWatch with resume=True."
            )
        if final:
            return step not in self.rows
        return step // self.options.every > self._last // self.options.every

    def _affordable(self) -> bool:
        """Whether another scoring, at the latest cost, stays within the budget; True for the first."""
        if self.options.budget is None or math.isnan(self._latest):
            return True
        trained = time.perf_counter() - self._began - self.seconds
        return self.seconds + self._latest <= self.options.budget * trained

    def _score(self, step: int) -> list[Score]:
        chosen = self.options.chosen
        reading = "last" if self.options.queries is None else None

        def rows_of_layer(layer: LayerTrace) -> list[Score]:
            there = range(layer.queries.shape[1])
            heads = sorted(chosen[layer.layer] or there) if chosen else list(there)
            if missing := [head for head in heads if head not in there]:
                raise WhatwhereError(f"layer {layer.layer}: expected heads from 0 to {there[-1]}, got {missing[0]}.")
            scores = score(Trace((layer.of_heads(heads),)), self.options.tau, reading=reading)
            return score_rows(step, scores, heads)

        layers = sorted(chosen) if chosen else None
        with evaluation_mode(self.model):
            by_layer = self.source.stream(self.inputs, rows_of_layer, layers=layers, queries=self.options.queries)
        if not by_layer:
            raise WhatwhereError(f"expected a model with layers that attend, got {self.source.name} without one.")
        return [row for rows in by_layer for row in rows]

    def _settings(self) -> WatchSettings:
        options = self.options
        layers, heads, queries = (cast(Any, one) for one in (options.layers, options.heads, options.queries))  # tuples
        inputs, length = self.inputs.shape
        return WatchSettings(type(self.model).__name__, layers, heads, queries, float(options.tau), inputs, length)

    def _load_existing(self, resume: bool) -> None:
        """Reads existing scores, if they may be continued."""
        manifest = self.results.manifest
        assert manifest is not None
        if not manifest.exists:
            if there := [name for name in WATCHED.tables if (manifest.directory / f"{name}.csv").exists()]:
                raise WhatwhereError(
                    f"{manifest.directory}: expected nothing or scores of a watch, got a {there[0]}.csv that no watch "
                    "made; choose another directory."
                )
            return
        record = manifest.record
        if record.kind != WATCHED.name:
            raise WhatwhereError(f"{manifest.directory}: expected scores of a watch, got results of {record.kind!r}.")
        if not resume:
            raise WhatwhereError(
                f"{manifest.directory} holds scores of a watch already; continue with them by resume=True, or choose "
                "another directory."
            )
        before, now = record.settings | record.inputs, plain(self.results.settings) | self._fingerprint()
        for name in now:
            if before.get(name) != now[name]:
                raise WhatwhereError(
                    f"{manifest.directory}: expected scores with {name} {now[name]}, got {before.get(name)}; watch the "
                    "same as before, or choose another directory."
                )
        for row in self.results.rows("scores", Score):
            self.rows.setdefault(row.step, []).append(row)
        self.losses = {row.step: row.loss for row in self.results.rows("metrics", Loss)}

    def _fingerprint(self) -> dict[str, str]:
        return {"tokens": hashlib.sha256(self.inputs.numpy().tobytes()).hexdigest()[:16]}

    def _begin(self, step: int) -> None:
        """Removes the scores of this step and of later ones, which training repeats."""
        assert self.results.manifest is not None
        self.results.manifest.begin(WATCHED.name, self.results.settings, self._fingerprint())
        self.rows = {at: rows for at, rows in self.rows.items() if at < step}
        self.losses = {at: loss for at, loss in self.losses.items() if at < step}
        self._began = time.perf_counter()

    def _write(self) -> None:
        self.results.write("scores", [row for step in sorted(self.rows) for row in self.rows[step]])
        self.results.write("metrics", [Loss(step, self.losses[step]) for step in sorted(self.losses)])
        assert self.results.manifest is not None
        self.results.manifest.pause(0.0)  # no write is in progress; a later change of a file is damage


def logged(rows: Sequence[Score]) -> dict[str, float]:
    """The values for a tracker: means over the watched heads, how many are pure, and single heads if they are few."""
    labels = [label_of(row.positional, row.symbolic) for row in rows]
    values = {f"heads/{kind}": float(torch.tensor([getattr(row, kind) for row in rows]).nanmean()) for kind in KINDS}
    values |= {f"heads/pure_{kind}": float(labels.count(kind)) for kind in KINDS}
    if len(rows) <= EACH_LOGGED:
        values |= {f"heads/{row.layer}.{row.head}/{kind}": getattr(row, kind) for row in rows for kind in KINDS}
    return values


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Runs a model in evaluation mode, then restores the modes of all modules, gradients and random state."""
    modes = [(part, part.training) for part in model.modules()]
    cuda = sorted({weight.device.index for weight in model.parameters() if weight.is_cuda})
    # Not inference_mode: tensors that a model caches there (rotary tables) could not be used in training afterwards.
    with torch.no_grad(), torch.random.fork_rng(devices=cuda):
        model.eval()
        try:
            yield
        finally:
            for part, training in modes:
                part.training = training
