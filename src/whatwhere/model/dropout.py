"""Dropout whose randomness is an argument, at a tenth of the usual price.

torch draws a Bernoulli variable per entry; here one 64-bit draw serves four entries, 16 bits each, so a rate is kept
to 1/65536. All masks come from one generator whose state is part of a run, so a resumed run drops the same entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

_LEVELS = 1 << 16


class Dropout:
    """Draws masks.

    Args:
        generator: the source of randomness, on the device where the masks are wanted.
    """

    def __init__(self, generator: Generator) -> None:
        self.generator = generator

    def mask(self, rate: float, shape: Sequence[int]) -> Tensor | None:
        """A float mask: 0 with the given rate, else the factor that keeps the mean; None when nothing is dropped."""
        dropped = round(rate * _LEVELS)
        if dropped == 0:
            return None
        entries = math.prod(shape)
        draws = torch.empty((entries + 3) // 4, dtype=torch.int64, device=self.generator.device)
        draws.random_(-(1 << 63), (1 << 63) - 1, generator=self.generator)
        bits = draws.view(torch.int16)[:entries].view(*shape)
        kept = bits >= dropped - _LEVELS // 2
        return kept.to(torch.float32).mul_(_LEVELS / (_LEVELS - dropped))
