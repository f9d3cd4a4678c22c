"""Which device trains: CUDA, Apple's MPS or the CPU."""

from __future__ import annotations

from typing import Literal, get_args

import torch

from whatwhere.errors import WhatwhereError

Device = Literal["cpu", "cuda", "mps"]


def choose_device(wanted: str) -> Device:
    """A device by name; ``auto`` takes the fastest there is.

    Raises:
        WhatwhereError: there is no such device, here or at all.
    """
    there: dict[Device, bool] = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(device for device, present in there.items() if present)
    for device in get_args(Device):
        if device == wanted and there[device]:
            return device
    present = ", ".join(device for device, is_there in there.items() if is_there)
    raise WhatwhereError(f"the device {wanted!r} was asked for, and this machine has {present}; auto chooses.")
