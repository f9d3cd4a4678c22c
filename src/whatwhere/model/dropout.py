"""Dropout without a state: whether an entry is dropped follows from the seed, the step, the layer and its place.

torch draws from a generator: a run would have to save its state, and the mask of a row would depend on the rows before
it. Here the random word of every entry is a hash of its coordinates. So a resumed run drops the same entries, and so do
threads or processes that share a batch, on any device.

    word(place) = s(s(place + key) ^ other key),        dropped where word < rate * 2^32

The place counts the entries of the whole batch's mask; the keys follow from the seed, the step and the mask's number.

s mixes the 32 bits of a word by shifts and multiplications, so that every bit of the input flips every bit of the
output with a probability near one half (the constants are those of C. Wellons' ``lowbias32``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import byref
from typing import TypeVar

import torch
from torch import Tensor

from whatwhere.model.kernel.build import Mask, kernels

Words = TypeVar("Words", int, Tensor)
_WORDS = 1 << 32


class Dropout:
    """Draws the masks of one step, one after the other, for the sequences of a batch from ``first_row`` on."""

    def __init__(self, seed: int, step: int = 0, first_row: int = 0, device: str = "cpu") -> None:
        self._of_step = _scramble(_scramble(_scramble(seed) + seed // _WORDS) + step)
        self._first_row, self._device = first_row, device
        self._drawn = 0

    def draw(self, rate: float, shape: Sequence[int]) -> Mask | None:
        """The next mask, sequences first, as compiled code takes it: it makes the entries where it needs them."""
        keys = (_scramble(self._of_step + self._drawn), _scramble(self._of_step + self._drawn + 1))
        self._drawn += 2
        threshold = round(rate * _WORDS)
        first = self._first_row * math.prod(shape[1:])
        return Mask(first, *keys, threshold, _WORDS / (_WORDS - threshold)) if threshold else None

    def mask(self, rate: float, shape: Sequence[int]) -> Tensor | None:
        """The next mask: 0 with the given rate, else the factor that keeps the mean; None when nothing is dropped."""
        drawn, count = self.draw(rate, shape), math.prod(shape)
        if drawn is None:
            return None
        library = kernels().library if self._device == "cpu" else None
        if library is not None:
            mask = torch.empty(*shape)
            library.dropout_mask(byref(drawn), count, mask.data_ptr())
            return mask
        places = torch.arange(drawn.first, drawn.first + count, device=self._device)
        words = _scramble(_scramble(places + drawn.before) ^ drawn.between)
        return (words >= drawn.threshold).float().mul_(drawn.kept).view(*shape)


def _scramble(words: Words) -> Words:
    """``scramble`` of ``numbers.h``; torch has no unsigned 32-bit arithmetic, so 64 bits are used and cut."""
    words = words & (_WORDS - 1)
    words = ((words ^ (words >> 16)) * 0x7FEB352D) & (_WORDS - 1)
    words = ((words ^ (words >> 15)) * 0x846CA68B) & (_WORDS - 1)
    return words ^ (words >> 16)
