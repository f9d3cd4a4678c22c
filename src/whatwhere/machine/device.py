"""Which device trains: CUDA, Apple's MPS or the CPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, cast, get_args

import torch

from whatwhere.errors import WhatwhereError

Device = Literal["cpu", "cuda", "mps"]
Precision = Literal["float32", "bfloat16"]
_CPU_FLAGS = Path("/proc/cpuinfo")


def choose_device(wanted: str) -> Device:
    """A device by name; ``auto`` takes the fastest there is."""
    known = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    here = [device for device, present in known.items() if present]
    if wanted not in ("auto", *here):
        raise WhatwhereError(
            f"expected a device of this machine ({', '.join(here)}), got {wanted!r}; auto chooses one."
        )
    return cast(Device, here[0] if wanted == "auto" else wanted)


def check_precision(wanted: str) -> Precision:
    """A precision by name."""
    if wanted not in get_args(Precision):
        raise WhatwhereError(f"expected a precision ({', '.join(get_args(Precision))}), got {wanted!r}.")
    return cast(Precision, wanted)


def fast_precision(device: Device) -> Precision:
    """The precision in which a device multiplies fastest: bfloat16 where it has instructions for it.

    On a CPU they are looked up in the flags that the system reports; where it reports none, float32 is safe.
    """
    if device == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    flags = _CPU_FLAGS.read_text() if device == "cpu" and _CPU_FLAGS.is_file() else ""
    return "bfloat16" if "avx512_bf16" in flags or "amx_bf16" in flags else "float32"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
