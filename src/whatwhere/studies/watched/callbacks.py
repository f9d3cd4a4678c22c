"""Watch heads while a model trains, in any training loop: every so many steps they are scored on held-out inputs.

    watch = HeadWatch(model, held_out, "runs/mine")
    for step, batch in enumerate(batches):
        watch(step)  # scores at step 0, 200, 400 ..., and returns at once at the others
        ...

What it sees goes to ``scores.csv`` in the format of a run (DESIGN, section 6), so ``whatwhere report runs/mine`` draws
it, and to a tracker. Training does not notice: modes, gradients and random numbers are as they were before, and a step
at which scoring would take more than a small share of the time spent on training is left out.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import TAU, score
from whatwhere.heads.summary import label_of
from whatwhere.studies.dynamics.history import Row, Settings, rows_of
from whatwhere.studies.watched.tables import Watched
from whatwhere.trace.layer import LayerTrace, Tokens, Trace
from whatwhere.trace.traceable import traceable

BUDGET = 0.05
"""The share of the training time that scoring may take."""
EVERY = 200
EACH_LOGGED = 32
"""Up to so many heads are logged one by one; of more, only counts and means."""


@runtime_checkable
class Tracker(Protocol):
    """Takes numbers as they come: the module ``wandb``, a run of it, and whatever has the same ``log``."""

    def log(self, values: dict[str, float], step: int) -> Any:
        """Records the values of one step."""


class HeadWatch:
    """Scores some heads of a model every so many steps while it trains.

    Args:
        model: the model in training: a transformers model, or one of ours.
        inputs: held-out token ids ``[batch, seq]``, the same throughout; one batch, as one would evaluate on.
        out: the directory that ``scores.csv``, ``metrics.csv`` and ``watch.json`` go to.
        every: score at multiples of this number of steps.
        layers: score all heads of these layers, from 0.
        heads: score these heads, each as ``(layer, head)``. With neither layers nor heads, all are scored.
        queries: which query positions (negative: from the end); only the last by default.
        tau: temperature of the swap weights.
        budget: a due step is left out as long as scoring would have taken more than this share of the time spent on
            training. None leaves none out. The first and the final scoring are never left out.
        tracker: anything with wandb's ``log(values, step=...)``.
        resume: go on with the scores that are in ``out``. Those of the first watched step and later are dropped, as
            training has gone back to before them.

    Raises:
        WhatwhereError: an option or the inputs make no sense, ``out`` holds scores already and ``resume`` is not set,
            or it holds those of another watch.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Tokens,
        out: Path | str,
        *,
        every: int = EVERY,
        layers: Sequence[int] | None = None,
        heads: Sequence[tuple[int, int]] | None = None,
        queries: Sequence[int] | None = None,
        tau: float = TAU,
        budget: float | None = BUDGET,
        tracker: Tracker | None = None,
        resume: bool = False,
    ) -> None:
        if every < 1:
            raise WhatwhereError(f"every must be a number of steps from 1, and {every} arrived.")
        if budget is not None and not 0 < budget <= 1:
            raise WhatwhereError(f"budget must be a share of the training time from 0 to 1, and {budget} arrived.")
        if any(number < 0 for number in (*(layers or ()), *(number for pair in heads or () for number in pair))):
            raise WhatwhereError("layers and heads count from 0, and a number below 0 arrived.")
        self.source = traceable(model)
        self.model, self.every, self.budget, self.tracker = model, every, budget, tracker
        self.inputs = _checked(inputs)
        self.queries = queries
        self.layers, self.heads = layers, heads
        self.settings = Settings(tau, len(self.inputs))
        self.watched = Watched(Path(out), self._description(), resume=resume)
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
        """Tells the watch how far training is; it scores if that is due.

        Args:
            step: the number of steps taken.
            loss: the training loss, if it is to be kept beside the scores.
            final: training has ended: score, unless this step is scored already.

        Returns:
            What was logged, or None where the step was not scored.

        Raises:
            WhatwhereError: the model cannot be traced, a layer, head or query does not exist, or the disk is full.
        """
        if not self._due(step, final):
            return None
        if self._last is None:
            self.watched.begin(step)
            self._began = time.perf_counter()
        self._last = step
        if not (final or self._affordable()):
            return None
        start = time.perf_counter()
        rows = self._score(step)
        self.watched.add(step, rows, loss.item() if isinstance(loss, Tensor) else loss)
        values = logged(rows)
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
                f"steps must rise, and step {step} came after step {self._last}. "
                "After going back to an earlier checkpoint, make a new HeadWatch with resume=True."
            )
        if final:
            return step not in self.watched.rows
        return step // self.every > self._last // self.every

    def _affordable(self) -> bool:
        """Whether scoring once more, at the latest cost, stays within the budget; at first it does."""
        if self.budget is None or math.isnan(self._latest):
            return True
        trained = time.perf_counter() - self._began - self.seconds
        return self.seconds + self._latest <= self.budget * trained

    def _score(self, step: int) -> list[Row]:
        chosen = self._chosen()

        def rows_of_layer(layer: LayerTrace) -> list[Row]:
            there = range(layer.queries.shape[1])
            heads = sorted(chosen[layer.layer] or there) if chosen else list(there)
            if missing := [head for head in heads if head not in there]:
                raise WhatwhereError(
                    f"layer {layer.layer} has the heads 0 to {there[-1]}, and head {missing[0]} was asked for."
                )
            scores = score(Trace((layer.of_heads(heads),)), self.settings.tau)
            return rows_of(step, scores, self.settings, heads)

        layers = sorted(chosen) if chosen else None
        with undisturbed(self.model):
            by_layer = self.source.stream(self.inputs, rows_of_layer, layers=layers, queries=self.queries)
        return [row for rows in by_layer for row in rows]

    def _chosen(self) -> dict[int, set[int]]:
        """The heads to score by layer, none named for all of a layer; empty for all of the model."""
        chosen: dict[int, set[int]] = {}
        for layer, head in self.heads or ():
            chosen.setdefault(layer, set()).add(head)
        return chosen | {layer: set() for layer in self.layers or ()}

    def _description(self) -> Mapping[str, Any]:
        """All that decides the scores but the weights; scores of two descriptions do not belong together."""
        return {
            "model": type(self.model).__name__,
            "layers": None if self.layers is None else list(self.layers),
            "heads": None if self.heads is None else [list(pair) for pair in self.heads],
            "queries": None if self.queries is None else list(self.queries),
            "tau": self.settings.tau,
            "inputs": list(self.inputs.shape),
            "inputs_sha256": hashlib.sha256(self.inputs.numpy().tobytes()).hexdigest(),
        }


def logged(rows: Sequence[Row]) -> dict[str, float]:
    """What a tracker is told: means over the watched heads, how many are pure, and single heads if they are few."""
    both = [(float(str(row[3])), float(str(row[4]))) for row in rows]
    labels = [label_of(*pair) for pair in both]
    values: dict[str, float] = {
        f"heads/{kind}": float(torch.tensor([pair[i] for pair in both]).nanmean())
        for i, kind in enumerate(("positional", "symbolic"))
    }
    values |= {f"heads/pure_{kind}": float(labels.count(kind)) for kind in ("positional", "symbolic")}
    if len(rows) <= EACH_LOGGED:
        for row, (positional, symbolic) in zip(rows, both, strict=True):
            values |= {f"heads/{row[1]}.{row[2]}/positional": positional, f"heads/{row[1]}.{row[2]}/symbolic": symbolic}
    return values


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Lets a model run as in evaluation and leaves training as it was: modes of all parts, gradients, random state."""
    modes = [(part, part.training) for part in model.modules()]
    cuda = sorted({weight.device.index for weight in model.parameters() if weight.is_cuda})
    # Not inference_mode: what a model caches in there (rotary tables) could not be trained with afterwards.
    with torch.no_grad(), torch.random.fork_rng(devices=cuda):
        model.eval()
        try:
            yield
        finally:
            for part, training in modes:
                part.training = training


def _checked(inputs: Tokens) -> Tensor:
    tokens = torch.as_tensor(inputs).detach().cpu()
    whole = not (tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool)
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 3 or not whole:
        raise WhatwhereError(
            "held-out inputs of at least one sequence of at least three token ids [batch, seq] were expected, and "
            f"{tuple(tokens.shape)} of {tokens.dtype} arrived."
        )
    return tokens.long().contiguous()
