"""The training loop: cross entropy of the answer at the last position (Appendix "GPT-J architecture").

Everything that a step depends on is in the configuration or in the saved state: the seed and the step determine the
data, the order of each epoch and dropout. So a run that was killed and resumed ends with exactly the same weights.
The rows of each batch are split among threads and, if there are several, among processes
(:mod:`whatwhere.training.distributed`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.machine.threads import keep_memory
from whatwhere.model.checkpoint import set_weights, weights_of
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel.build import kernels
from whatwhere.store.documents import parse
from whatwhere.tasks.batch import Batch
from whatwhere.training.config import is_checkpoint
from whatwhere.training.distributed import ALONE, Processes
from whatwhere.training.evaluate import accuracy_by_hop
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.interrupt import Interrupted, stop_requests
from whatwhere.training.optimiser import Optimiser
from whatwhere.training.penalty import Penalty
from whatwhere.training.run import Run, State

_SAVE_EVERY_SECONDS = 30.0


@dataclass(frozen=True)
class Progress:
    """What the observer receives after each step."""

    step: int
    steps: int
    loss: float
    rate: float
    sequences_per_second: float
    seconds: float
    phase: str
    by_hop: tuple[float, ...]
    """Accuracy per hop class at the latest evaluation; empty before the first."""
    evaluated: bool
    """Whether this step ended with an evaluation and a checkpoint."""


Observer = Callable[[Progress], None]


@dataclass
class Counters:
    """The scalar part of the state."""

    seconds: float = 0.0
    """Time spent in training steps, over all sessions."""
    loss_sum: float = 0.0
    loss_steps: int = 0


def counters_of(state: State) -> Counters:
    """The scalar part of a state, with checked types."""
    return parse(Counters, state.counters, "the counters of the state")


def train(
    run: Run,
    observer: Observer | None = None,
    warn: Callable[[str], None] | None = None,
    processes: Processes = ALONE,
) -> GPTJ:
    """Trains a run from its last state to its end, and returns the final model.

    Args:
        run: a created run, new or interrupted; only the first of several processes reads it.
        observer: callback after each step.
        warn: callback for warnings, such as a damaged state.
        processes: the processes that train together; each calls this function.

    Raises:
        Interrupted: a signal asked to stop; the state is saved.
        WhatwhereError: the device is missing, a file cannot be written, or another process ended.
    """
    held = run.held("train") if processes.first else nullcontext()
    with held, stop_requests() as stopping:
        training = _Training(run, warn or (lambda _: None), processes)
        return training.run_steps(observer or (lambda _: None), stopping)


class _Training:
    """The model, optimiser, data and counters of a run in progress."""

    def __init__(self, run: Run, warn: Callable[[str], None], processes: Processes = ALONE) -> None:
        self.run, self.processes = run, processes
        self.config = config = processes.share(lambda: processes.checked(run.config))
        torch.set_num_threads(processes.threads(config.threads))
        keep_memory()
        self.model = GPTJ(config.model, seed=config.seed).to(config.device)
        self.model.task = config.task
        self.model.multiply_in(getattr(torch, config.precision))
        compiled = config.device == "cpu" and kernels().library is not None
        if config.device == "cpu" and not compiled:
            warn(f"Training continues without compiled kernels, at about half the speed: {kernels().missing}")
        self.autocast = config.precision == "bfloat16" and not compiled and config.device != "mps"
        self.optimiser = Optimiser(self.model, config)
        layers = config.penalty_layers or tuple(range(config.model.layers))
        self.penalty = Penalty(config.penalty, layers, config.task.target) if config.penalty else None
        self.counters = Counters()
        self.step = 0
        self.rows: list[dict[str, float]] = []
        self.train_set = config.task.split("train", config.dataset_size, config.seed)
        validation = config.task.split("validation", config.dataset_size, config.seed)
        self.validation = _equal_classes(validation, config.validation, config.task.max_hops)
        state, problems = processes.share(run.latest_state)
        for problem in problems:
            warn(f"{problem} Continuing from the state before it.")
        if state is not None:
            self._restore(state)
            self.rows = processes.share(lambda: [row for row in run.metrics() if row["step"] <= self.step])

    def run_steps(self, observer: Observer, stopping: Callable[[], bool]) -> GPTJ:
        config, schedule = self.config, self.config.schedule
        by_hop: tuple[float, ...] = ()
        if not self.rows:  # otherwise step 0 was evaluated before the interruption
            by_hop = self.processes.share(partial(self._evaluate, float("nan"), 0.0))
            self._save()
        saved = began = last = time.perf_counter()
        at_start = self.step
        while self.step < schedule.steps:
            self.step += 1
            rate = schedule.rate(self.step)
            loss, stops = self.processes.add([self._step(rate), stopping()])
            if self.processes.first and not np.isfinite(loss):
                raise WhatwhereError(
                    f"the loss became {loss} at step {self.step}; lower the learning rate (it is {rate:g}). "
                    "The checkpoints so far are whole."
                )
            self.counters.loss_sum += loss
            self.counters.loss_steps += 1
            now = time.perf_counter()
            self.counters.seconds += now - last
            last = now
            evaluated = is_checkpoint(config, self.step)
            if evaluated:
                mean = self.counters.loss_sum / self.counters.loss_steps
                by_hop = self.processes.share(partial(self._evaluate, mean, rate))
                self.counters.loss_sum, self.counters.loss_steps = 0.0, 0
            if evaluated or stops or now - saved > _SAVE_EVERY_SECONDS:
                self._save()
                saved = time.perf_counter()
            observer(
                Progress(
                    self.step, schedule.steps, loss, rate,
                    (self.step - at_start) * config.batch / max(now - began, 1e-9),  # clocks have finite resolution
                    self.counters.seconds, schedule.phase(self.step), by_hop, evaluated,
                )
            )  # fmt: skip
            if stops and self.step < schedule.steps:
                raise Interrupted(self.step)
        return self.model

    def _step(self, rate: float) -> float:
        """One step of AdamW on one batch; returns this process's share of the loss."""
        tokens, answers = self._batch(self.step - 1)
        dropout = partial(Dropout, self.config.seed, self.step, device=self.config.device)
        rows, positions = self.processes.rows(len(tokens)), self._positions(tokens.shape[1])
        loss, gradients = loss_and_gradients(
            self.model, tokens, answers, dropout, rows, self.autocast, positions, self.penalty
        )
        self.processes.sum_gradients(gradients)
        self.optimiser.step(gradients, rate)
        return loss

    def _positions(self, seq: int) -> Tensor | None:
        """The positions of the tokens of a step: increasing, drawn at random from more positions than tokens.

        All sequences of a step share them, because the compiled blocks rotate all equally. (One offset for a whole
        sequence would change nothing: rotary attention depends on distances only.)
        """
        if not self.config.offsets:
            return None
        rng = np.random.default_rng([self.config.seed, self.step, *b"offsets"])
        drawn = rng.choice(seq + self.config.offsets, seq, replace=False)
        return torch.from_numpy(np.sort(drawn)).to(self.config.device)

    def _batch(self, index: int) -> tuple[Tensor, Tensor]:
        """The sequences of a step: each epoch goes through the training set once, in an order given by the seed."""
        size = len(self.train_set)
        chosen: list[np.ndarray] = []
        first, wanted = index * self.config.batch, self.config.batch
        while wanted:
            epoch, offset = divmod(first, size)
            part = _epoch_order(self.config.seed, epoch, size)[offset : offset + wanted]
            chosen.append(part)
            first, wanted = first + len(part), wanted - len(part)
        batch = self.train_set[np.concatenate(chosen)]
        device = self.config.device
        return torch.from_numpy(batch.tokens).to(device).long(), torch.from_numpy(batch.answers).to(device).long()

    def _evaluate(self, loss: float, rate: float) -> tuple[float, ...]:
        """Measures accuracy by hop class, saves the checkpoint and the metrics; on the first process only."""
        by_hop = accuracy_by_hop(self.model, self.validation, self.config.task.max_hops)
        self.rows.append(
            {
                "step": float(self.step),
                "sequences": float(self.step * self.config.batch),
                "loss": loss,
                "lr": rate,
                "seconds": self.counters.seconds,
                **{f"accuracy_hop{hop}": value for hop, value in enumerate(by_hop, start=1)},
                "accuracy": float(np.mean(by_hop)),  # equal weights (the paper's magenta line)
            }
        )
        self.run.save_checkpoint(self.step, self.model)
        self.run.write_metrics(self.rows)
        return tuple(by_hop)

    def _save(self) -> None:
        if not self.processes.first:
            return
        arrays = {f"model.{name}": value for name, value in weights_of(self.model).items()}
        arrays |= {f"adam.{name}": value for name, value in self.optimiser.moments().items()}
        self.run.save_state(State(self.step, arrays, vars(self.counters)))

    def _restore(self, state: State) -> None:
        """Restores a saved state."""
        set_weights(self.model, state.below("model."), self.run.directory / "resume")
        self.optimiser.restore(state.below("adam."))
        self.counters = counters_of(state)
        self.step = state.step


@lru_cache(maxsize=2)
def _epoch_order(seed: int, epoch: int, size: int) -> np.ndarray:
    """The order of the training set in one epoch."""
    return np.random.default_rng([seed, epoch]).permutation(size)


def _equal_classes(batch: Batch, wanted: int, max_hops: int) -> Batch:
    """The first sequences of each hop class in turn, as many of each as there are, up to ``wanted`` in all."""
    classes = [np.flatnonzero(batch.hops == hop)[: wanted // max_hops or 1] for hop in range(1, max_hops + 1)]
    each = min(len(members) for members in classes)
    return batch[np.stack([members[:each] for members in classes], 1).ravel()]
