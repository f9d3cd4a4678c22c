"""A model in one file: weights, shape, and the task it was trained on, as checked safetensors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.store.tensors import load_tensors, save_tensors
from whatwhere.tasks import task_from_dict


def save_model(path: Path, model: GPTJ, notes: Mapping[str, Any] | None = None) -> None:
    """Writes a model, whole or not at all; ``notes`` (the step, say) are kept as JSON beside the weights."""
    task = None if model.task is None else model.task.to_dict()
    about = {"model": model.config.to_dict(), "task": task, "notes": dict(notes or {})}
    save_tensors(path, weights_of(model), {"whatwhere": json.dumps(about)})


def load_model(path: Path, notes: Mapping[str, Any] | None = None) -> GPTJ:
    """Reads a model that :func:`save_model` wrote; its weights are frozen, ``model.requires_grad_()`` thaws them.

    Its notes must not contradict ``notes``, the run and the step it should be of.
    """
    arrays, metadata = load_tensors(path, "a model")
    try:
        about = json.loads(metadata["whatwhere"])
        config = ModelConfig.from_dict(about["model"])
        task = None if about["task"] is None else task_from_dict(about["task"])
        known = dict(about["notes"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, WhatwhereError):
            raise
        raise WhatwhereError(f"{path} holds no whatwhere model: its description is missing or damaged.") from error
    for name, value in (notes or {}).items():
        if known.get(name, value) != value:
            raise WhatwhereError(
                f"{path} holds the model of another {name} than it should ({known[name]}, not {value}). "
                "Put the right file back."
            )
    if task is not None and task.vocab_size != config.vocab_size:
        raise WhatwhereError(
            f"{path} holds a model of {config.vocab_size} tokens for a task of {task.vocab_size}; it is damaged."
        )
    numbers = sum(array.size for array in arrays.values())
    if config.parameters != numbers:  # before memory is taken
        raise WhatwhereError(
            f"{path} does not hold the weights that its configuration describes: {config.parameters:,} numbers were "
            f"expected, and there are {numbers:,}."
        )
    model = GPTJ(config, seed=None)
    model.task = task
    set_weights(model, arrays, path)
    return model.requires_grad_(False)


def check_finite(model: nn.Module, name: str) -> None:
    """Refuses a model with weights that are NaN or infinite: it would answer, and wrongly."""
    parameters = [(one, weights) for one, weights in model.named_parameters() if weights.is_floating_point()]
    wrong = [one for one, weights in parameters if not weights.is_meta and not bool(torch.isfinite(weights).all())]
    if wrong:
        raise WhatwhereError(
            f"expected a model with finite weights, got {name}, where {len(wrong)} tensors hold NaN or infinity: "
            f"{wrong[0]}{', ...' * (len(wrong) > 1)}. Take an earlier checkpoint, or load it again."
        )


def model_fingerprint(model: GPTJ) -> str:
    """A name for the shape and the weights of a model: results of another model are not taken for its own."""
    digest = hashlib.sha256(repr(model.config).encode())
    for name, weights in weights_of(model).items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weights).data)
    return digest.hexdigest()[:16]


def weights_of(model: GPTJ) -> dict[str, np.ndarray]:
    """The parameters by name, as arrays."""
    return {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}


def set_weights(model: GPTJ, arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Gives a model the weights of a file."""
    expected = {name: (tuple(value.shape), "float32") for name, value in model.state_dict().items()}
    found = {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}
    if expected != found:
        odd = sorted(set(expected.items()) ^ set(found.items()))[0][0]
        raise WhatwhereError(
            f"{path} does not hold the weights that its configuration describes: {odd!r} should be "
            f"{expected.get(odd)} and is {found.get(odd)}."
        )
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
