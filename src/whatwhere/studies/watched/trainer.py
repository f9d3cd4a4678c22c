"""Watches heads in a training with the Hugging Face Trainer.

    trainer = Trainer(model=model, args=args, train_dataset=data)
    trainer.add_callback(HeadWatchCallback(trainer, held_out, "runs/mine"))
    trainer.train()

Scores go to ``runs/mine`` and, through ``Trainer.log``, to whatever the Trainer reports to.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whatwhere.errors import extra_for
from whatwhere.studies.watched.callbacks import HeadWatch
from whatwhere.trace.layer import Tokens

with extra_for("to watch heads in the Hugging Face Trainer", "transformers", "hf"):
    from transformers import TrainerCallback

if TYPE_CHECKING:
    from transformers import Trainer, TrainerControl, TrainerState


class HeadWatchCallback(TrainerCallback):
    """A :class:`~whatwhere.studies.watched.callbacks.HeadWatch` that the Trainer calls, on the main process only.

    Args:
        trainer: the trainer that it is added to; its model is watched, and scores go to its ``log``.
        inputs: held-out token ids ``[batch, seq]``.
        out: the directory of the scores. A training that resumes from a checkpoint continues with those that are there.
        options: those of HeadWatch: ``every``, ``layers``, ``heads``, ``queries``, ``tau``, ``budget``.
    """

    def __init__(self, trainer: Trainer, inputs: Tokens, out: Path | str, **options: Any) -> None:
        self.trainer, self.inputs, self.out, self.options = trainer, inputs, out, options
        self.watch: HeadWatch | None = None
        self._loss: float | None = None

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Scores the model before training."""
        del args, kwargs
        if not state.is_world_process_zero:
            return
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        self.watch = HeadWatch(model, self.inputs, self.out, resume=state.global_step > 0, **self.options)
        self._look(state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        """Remembers the loss."""
        del args, state, control, kwargs
        self._loss = (logs or {}).get("loss", self._loss)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Scores the model if that is due."""
        del args, kwargs
        self._look(state, control)

    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Scores the model after training."""
        del args, kwargs
        self._look(state, control, final=True)

    def _look(self, state: TrainerState, control: TrainerControl, final: bool = False) -> None:
        values = self.watch and self.watch(state.global_step, self._loss, final=final)
        if values:
            due = control.should_log  # logging clears a pending request to log, such as that of the loss
            self.trainer.log(values)
            control.should_log = due
