"""A preset and what a user changes in it: the options of ``whatwhere train``, and the axes of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.task_options import TaskOptions

if TYPE_CHECKING:
    from whatwhere.training.config import TrainingConfig

MOST_NUMBERED = 1 << 16
"""More planes or layers than any model has: an upper limit for ranges such as 1-8."""
PLANES, LAYERS = (1, "planes by their IDs from 1, such as 1-8,20"), (0, "layers from 0, such as 0-3")
"""The smallest number of each, and its description in errors."""
_MODEL = ("heads", "layers", "d_model", "d_mlp", "dropout", "attention_dropout", "activation", "nope_from")
_SCHEDULE = ("warmup", "steps")
_TRAINING = ("batch", "weight_decay", "spacing", "threads", "penalty", "offsets")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The shape of the model; None keeps the preset's value."""

    heads: Annotated[int | None, "Attention heads per layer."] = None
    layers: Annotated[int | None, "Layers."] = None
    d_model: Annotated[int | None, "Width of the model."] = None
    d_mlp: Annotated[int | None, "Width of the MLP."] = None
    dropout: Annotated[float | None, "Dropout on embeddings and block outputs."] = None
    attention_dropout: Annotated[float | None, "Dropout on attention weights."] = None
    activation: Annotated[str | None, "gelu (exact) or gelu_tanh."] = None
    rope_base: Annotated[float | None, "Base of the rotary frequencies; 0 switches rotation off."] = None
    nope_from: Annotated[int | None, "The first layer without rotation, and all after it."] = None
    close: Annotated[str | None, "Rotary planes that no head may use, by ID from 1, such as 1-8,20."] = None


@dataclass(frozen=True)
class Options(TaskOptions, ModelOptions):
    """The options of a run, those of its task and model included; None keeps the preset's value."""

    task: Annotated[str, "number, letter or both."]
    preset: Annotated[str, "paper (the authors' recipe), short (minutes), smoke (seconds)."] = "short"
    seed: Annotated[int, "Seed of data, weights, order and dropout."] = 0
    lr: Annotated[float | None, "Peak learning rate."] = None
    warmup: Annotated[int | None, "Steps over which the rate rises."] = None
    steps: Annotated[int | None, "Steps of the training."] = None
    batch: Annotated[int | None, "Sequences per step."] = None
    weight_decay: Annotated[float | None, "Weight decay of the matrices."] = None
    penalty: Annotated[float | None, "Weight of the positional score in the loss."] = None
    penalty_layers: Annotated[str | None, "Layers that the penalty scores, such as 0-3; all by default."] = None
    offsets: Annotated[int | None, "Positions that each step leaves out at random between tokens."] = None
    spacing: Annotated[int | None, "Steps between two checkpoints."] = None
    device: Annotated[str, "cpu, cuda, mps, or auto for the fastest there is."] = "auto"
    precision: Annotated[str | None, "float32, or bfloat16 for the large products."] = None
    threads: Annotated[int | None, "CPU threads."] = None

    def config(self) -> TrainingConfig:
        """The complete configuration."""
        from whatwhere.training.presets import preset

        return self.changed(preset(self.preset, self.make(self.task)))

    def changed(self, base: TrainingConfig) -> TrainingConfig:
        """A configuration with these options applied."""
        from whatwhere.machine.device import check_precision, choose_device
        from whatwhere.tasks import make_task

        task = make_task(**(base.task.to_dict() | self.parameters))
        model = replace(base.model, vocab_size=task.vocab_size, **self._chosen(_MODEL))
        if self.rope_base is not None:
            model = replace(model, rope_base=self.rope_base or None)
        if self.close is not None:
            model = replace(model, closed_planes=(numbers(self.close, *PLANES),) * model.layers)
        schedule = replace(base.schedule, **self._chosen(_SCHEDULE))
        if self.lr is not None:
            schedule = replace(schedule, peak=self.lr)
        rest = self._chosen(_TRAINING)
        if self.penalty_layers is not None:
            rest["penalty_layers"] = numbers(self.penalty_layers, *LAYERS)
        if self.precision is not None:
            rest["precision"] = check_precision(self.precision)
        device = choose_device(self.device)
        return replace(base, task=task, seed=self.seed, model=model, schedule=schedule, device=device, **rest)

    def _chosen(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def numbers(text: str, least: int, expected: str) -> tuple[int, ...]:
    """The sorted numbers, ``least`` or more, of a text such as ``1-8,20``."""
    chosen: set[int] = set()
    try:
        for word in text.split(","):
            first, dash, last = word.partition("-")
            ends = int(first), int(last if dash else first)
            if not least <= ends[0] <= ends[1] <= MOST_NUMBERED:
                raise ValueError(word)
            chosen |= set(range(ends[0], ends[1] + 1))
    except ValueError as error:
        raise WhatwhereError(f"expected {expected}, got {text!r:.80}.") from error
    return tuple(sorted(chosen))
