"""Watches heads in a training with Lightning.

    watch = HeadWatchCallback(module.model, held_out, "runs/mine")
    Trainer(callbacks=[watch]).fit(module)

Scores go to ``runs/mine`` and to every logger of the Lightning trainer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from whatwhere.errors import extra_for
from whatwhere.studies.watched.callbacks import HeadWatch
from whatwhere.trace.layer import Tokens

with extra_for("to watch heads in a Lightning training", "lightning", "lightning"):
    from lightning.pytorch import Callback, LightningModule, Trainer


class HeadWatchCallback(Callback):
    """A :class:`~whatwhere.studies.watched.callbacks.HeadWatch` that Lightning calls, on the main process only.

    Args:
        model: the model inside the LightningModule: a transformers model, or one of ours.
        inputs: held-out token ids ``[batch, seq]``.
        out: the directory of the scores. A training that resumes from a checkpoint continues with those that are there.
        options: those of HeadWatch: ``every``, ``layers``, ``heads``, ``queries``, ``tau``, ``budget``.
    """

    def __init__(self, model: nn.Module, inputs: Tokens, out: Path | str, **options: Any) -> None:
        self.model, self.inputs, self.out, self.options = model, inputs, out, options
        self.watch: HeadWatch | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Scores the model before training."""
        del pl_module
        if not trainer.is_global_zero:
            return
        self.watch = HeadWatch(self.model, self.inputs, self.out, resume=trainer.global_step > 0, **self.options)
        self._look(trainer, None)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Scores the model if that is due."""
        del pl_module, batch, batch_idx
        self._look(trainer, outputs)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Scores the model after training."""
        del pl_module
        self._look(trainer, None, final=True)

    def _look(self, trainer: Trainer, outputs: Any, final: bool = False) -> None:
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        values = self.watch and self.watch(trainer.global_step, loss, final=final)
        if values:
            for logger in trainer.loggers:
                logger.log_metrics(values, step=trainer.global_step)
