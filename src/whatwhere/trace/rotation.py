"""The rotation that a model applies, measured from its vectors and checked against them.

Libraries differ in which coordinates form a plane, in how many turn, in how frequencies are stretched for long
contexts (linear, dynamic, YaRN, llama3) and in whether the turned vectors are lengthened (YaRN). None of this is
taken from a configuration. Given the vectors of a layer before rotation (u), the same after a quarter turn in every
plane, and the same as the model turned them (r):

- the planes follow from the quarter turn, which sends (x, y) to (-y, x) and so pairs the coordinates;
- the angle of plane k at position p follows from u and r, and grows by the plane's frequency per position;
- u, the frequencies and the factor must then reproduce r at every position; anything else is an error.

A plane in which all keys are 0 cannot be measured: Gemma 3 switches off some fast planes with zeros in its norms of
queries and keys. Its place follows from the layout of the others, so that frequency IDs do not change.

A trace always has its planes half a head apart: coordinates are put into that order, which changes no logit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from whatwhere.model.rope import Rotation, interleaved_to_half

ROWS = 64
"""Vectors that are compared to find the planes."""
ANGLES = 5
"""Angles at the last position that differ by at most this many tolerances count as equal."""


class NotARotation(Exception):
    """The vectors do not follow a rotation by position; the message says why."""


@dataclass(frozen=True, eq=False)
class Planes:
    """The coordinates of each plane in a head."""

    order: Int[Tensor, "d_head"]
    """Coordinates: the first of each plane, then the second of each plane, then those that are not rotated."""
    count: int

    @property
    def first(self) -> int:
        """The first rotated coordinate; 0 if there is none."""
        return int(self.order[: 2 * self.count].min()) if self.count else 0

    @property
    def layout(self) -> str:
        """The layout's name, independent of the first coordinate: half, interleaved, none (no rotation) or other."""
        rotary = 2 * self.count
        if not rotary:
            return "none"
        order = self.order[:rotary] - self.first
        if torch.equal(order, torch.arange(rotary)):
            return "half"
        return "interleaved" if torch.equal(order, interleaved_to_half(rotary, rotary)) else "other"


def find_planes(plain: Float[Tensor, "row d_head"], quarter: Float[Tensor, "row d_head"]) -> Planes:
    """The planes of a head, from some vectors and the same vectors after a quarter turn in every plane."""
    some = torch.linspace(0, len(plain) - 1, min(ROWS, len(plain))).long()
    u, v = plain[some].double(), quarter[some].double()
    width = u.shape[1]
    turning = (u != v).any(0).nonzero().flatten().tolist()
    # [i, j] is 0 if (i, j) is a plane: the first coordinate becomes -second, the second becomes first.
    misfit = (v[:, :, None] + u[:, None, :]).abs().amax(0) + (v[:, None, :] - u[:, :, None]).abs().amax(0)
    allowed = 1e-6 * float(u.abs().max())
    first, second = [], []
    for i in turning:
        j = int(misfit[i].argmin())
        if misfit[i, j] <= allowed and j not in second and i not in second:
            first.append(i)
            second.append(j)
    if 2 * len(first) != len(turning):
        raise NotARotation(f"{len(turning)} coordinates of a head turn, and {len(first)} planes were found among them")
    pairs = _with_silent(list(zip(first, second, strict=True)), ((u == 0) & (v == 0)).all(0).tolist())
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    rest = [i for i in range(width) if i not in {*first, *second}]
    return Planes(torch.tensor(first + second + rest, dtype=torch.long), len(first))


def _with_silent(pairs: list[tuple[int, int]], silent: list[bool]) -> list[tuple[int, int]]:
    """Planes in half-split or interleaved layout, and those of the layout whose coordinates are both silent.

    Half-split planes that lie k coordinates apart are k in number. Interleaved ones continue to both sides as long as
    there is silence. In any other layout a silent plane cannot be placed, and stays out.
    """
    apart = {j - i for i, j in pairs}
    if len(apart) != 1 or min(apart) < 1 or not any(silent):
        return pairs
    (gap,), seen, width = apart, dict(pairs), len(silent)
    lowest, highest = min(seen), max(seen)

    def placed(i: int) -> bool:
        return i in seen or (0 <= i < width - gap and silent[i] and silent[i + gap])

    if gap > 1:
        runs = [range(start, start + gap) for start in range(max(0, highest - gap + 1), lowest + 1)]
    else:
        start = next(i for i in count(lowest, -2) if not placed(i - 2))
        end = next(i for i in count(highest, 2) if not placed(i + 2))
        runs = [range(start, end + 1, 2)]
    whole = next((run for run in runs if all(map(placed, run))), None)
    return pairs if whole is None else [(i, i + gap) for i in whole]


@dataclass(frozen=True, eq=False)
class Measured:
    """A rotation as a model performs it."""

    rotation: Rotation
    factor: float
    """The factor of the rotated coordinates (YaRN's attention factor; 1 otherwise)."""
    error: float
    """The largest error of a rebuilt rotated vector, relative to the largest coordinate."""


def measure(
    plain: Float[Tensor, "row seq d_head"],
    turned: Float[Tensor, "row seq d_head"],
    planes: int,
    declared: Iterable[Tensor] = (),
    tolerance: float = 1e-4,
) -> Measured:
    """Frequencies and factor of a rotation, from vectors in half-split order before and after it.

    ``declared`` are frequency tables that the model holds. One that agrees with the measured frequencies replaces them,
    because rounded vectors (bfloat16) give only a few digits. ``tolerance`` is the largest allowed error.

    Raises:
        NotARotation: the vectors after cannot be rebuilt from those before.
    """
    seq = plain.shape[1]
    u1, u2 = plain[..., :planes], plain[..., planes : 2 * planes]
    r1, r2 = turned[..., :planes], turned[..., planes : 2 * planes]
    cos = (u1 * r1 + u2 * r2).double().sum(0)  # [seq, plane], times the squared length
    sin = (u1 * r2 - u2 * r1).double().sum(0)
    length = (u1.square() + u2.square()).double().sum(0)
    found = _frequencies(torch.complex(cos, sin).cpu())
    factor = float((cos.square() + sin.square()).sqrt().sum() / length.sum())
    if not abs(factor - 1) >= tolerance:  # also where nothing turns, or all vectors are 0
        factor = 1.0
    rotation = Rotation(_declared(found, (length > 0).any(0).cpu(), declared, seq, tolerance))
    error = _misfit(plain, turned, rotation, factor)
    if not error <= tolerance:
        raise NotARotation(
            f"its turned vectors are not its plain ones rotated by their position: they differ by {error:.1g} of the "
            f"largest coordinate, and {tolerance:.1g} is allowed"
        )
    return Measured(rotation, factor, error)


def _frequencies(turns: Shaped[Tensor, "seq plane"]) -> Float[Tensor, "plane"]:
    """The angle per position of each plane, from complex numbers that rotate by it; zeros are ignored.

    First the mean rotation between neighbours, which needs no unwrapping; then the slope of the residual angle.
    """
    place = torch.arange(len(turns), dtype=torch.float64)[:, None]
    rough = (turns[1:] * turns[:-1].conj()).sum(0).angle()  # [plane]
    left = (turns * torch.polar(torch.ones_like(place), -place * rough)).angle()  # [seq, plane]
    known = turns.abs() > 0
    first = left.gather(0, known.double().argmax(0, keepdim=True))
    slope = (place * (left - first) * known).sum(0) / (place.square() * known).sum(0).clamp(min=1.0)
    return rough + slope


def _declared(
    found: Float[Tensor, "plane"], shown: Bool[Tensor, "plane"], declared: Iterable[Tensor], seq: int, tolerance: float
) -> Float[Tensor, "plane"]:
    """The declared table nearest to the measured frequencies, if it gives the same angles; else the measured ones.

    A plane that could not be measured gets the frequency of the table, or one interpolated from its neighbours. Only
    its ID matters.
    """
    tables = [table.detach().to("cpu", torch.float64) for table in declared if table.shape == found.shape]

    def off(table: Tensor) -> float:
        return float((table - found)[shown].abs().max())

    best = min(tables, key=off, default=None) if bool(shown.any()) else None
    if best is not None and off(best) * (seq - 1) <= ANGLES * tolerance:
        return best
    if not bool(shown.any()) or not bool((found[shown] > 0).all()):
        return found
    place = np.arange(len(found))
    between = np.exp(np.interp(place, place[shown.numpy()], np.log(found[shown].numpy())))
    return torch.where(shown, found, torch.from_numpy(between))


def _misfit(plain: Tensor, turned: Tensor, rotation: Rotation, factor: float) -> float:
    rebuilt = rotation.turn(plain, torch.arange(plain.shape[1]))
    rebuilt = torch.cat([rebuilt[..., : rotation.width] * factor, rebuilt[..., rotation.width :]], -1)
    largest = float(turned.abs().max())
    return float((rebuilt - turned).abs().max()) / largest if largest else 0.0
