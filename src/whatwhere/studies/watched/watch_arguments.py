"""What a watch is given by a training loop: refused in words before it can end a training with a traceback."""

from __future__ import annotations

from inspect import signature
from operator import index
from typing import Any

import torch
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.machine.memory import is_exhausted
from whatwhere.trace.layer import Tokens

_MOST_STEPS = 2**63 - 1


def checked_inputs(inputs: Tokens) -> Tensor:
    """Held-out inputs as token ids ``[batch, seq]`` on the CPU."""
    try:
        tokens = torch.as_tensor(inputs).detach().cpu().contiguous()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if is_exhausted(error):
            raise
        raise WhatwhereError(
            f"expected held-out inputs as token ids [batch, seq], got a {type(inputs).__name__}: {error!s:.100}."
        ) from error
    whole = not (tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool)
    if tokens.ndim != 2 or not len(tokens) or tokens.shape[1] < 3 or not whole:
        raise WhatwhereError(
            "expected held-out inputs of at least one sequence of at least three token ids [batch, seq], "
            f"got {tuple(tokens.shape)} of {tokens.dtype}."
        )
    return tokens.long()


def checked_step(step: Any) -> int:
    """The number of steps taken; a tensor or array of one whole number counts, too."""
    try:
        number = index(step)
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST_STEPS:
        raise WhatwhereError(f"expected the number of steps taken, a whole number from 0, got {step!r:.80}.")
    return number


def checked_loss(loss: Any) -> float:
    """The loss; one that is not finite is a fact about the training."""
    try:
        return float(loss.detach() if isinstance(loss, Tensor) else loss)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise WhatwhereError(f"expected the loss as one number, got {loss!r:.80}.") from error


def check_tracker(tracker: Any) -> None:
    """Refuses what has no ``log`` as wandb has it; what that raises later is its own."""
    if tracker is None:
        return
    try:
        signature(tracker.log).bind({}, step=0)
    except (AttributeError, TypeError) as error:
        raise WhatwhereError(
            f"expected a tracker with log(values, step=...), such as the module wandb, got a {type(tracker).__name__}: "
            f"{error!s:.100}."
        ) from error
    except ValueError:  # written in C: it tells nothing of its arguments
        return
