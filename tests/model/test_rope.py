import math
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import Rotation, interleaved_to_half, rope_frequencies

PRINTED = {1: 1.0, 2: 0.865964, 10: 0.273842, 18: 0.086596, 32: 0.011548, 37: 0.005623, 38: 0.004870, 39: 0.004217,
           40: 0.003652, 41: 0.003162, 42: 0.002738, 64: 1.1548e-4}  # fmt: skip


@pytest.mark.parametrize(("identifier", "frequency"), PRINTED.items())
def test_frequencies_are_those_of_the_papers_table(identifier: int, frequency: float):
    assert rope_frequencies(128, 10000.0)[identifier - 1].item() == pytest.approx(frequency, abs=5.1e-7)


def test_no_base_means_no_rotation():
    rotation = Rotation(rope_frequencies(8, None))
    x = torch.randn(3, 8)
    assert torch.equal(rotation.turn(x, torch.arange(3)), x)


@pytest.mark.parametrize(("width", "base", "message"), [(7, 1e4, "even"), (-2, 1e4, "even"), (8, 0.0, "above 0")])
def test_impossible_rotations_are_refused(width: int, base: float, message: str):
    with pytest.raises(WhatwhereError, match=message):
        rope_frequencies(width, base)


@given(seed=st.integers(0, 1000), rotary=st.sampled_from([0, 2, 6, 12]), at=st.integers(-900, 900))
def test_both_layouts_agree_after_the_permutation(seed: int, rotary: int, at: int):
    x = torch.randn(4, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    frequencies = rope_frequencies(rotary, 10000.0)
    order = interleaved_to_half(12, rotary)
    position = torch.tensor(at)
    interleaved = Rotation(frequencies, "interleaved").turn(x, position)
    half = Rotation(frequencies, "half").turn(x[:, order], position)
    torch.testing.assert_close(interleaved[:, order], half, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_only_the_distance_counts(layout):
    rotation = Rotation(rope_frequencies(16, 100.0), layout)
    q, k = torch.randn(2, 20, dtype=torch.float64)

    def logit(n: int, j: int) -> float:
        return float(rotation.turn(q, torch.tensor(n)) @ rotation.turn(k, torch.tensor(j)))

    assert logit(17, 5) == pytest.approx(logit(1017, 1005), abs=1e-9)
    assert logit(17, 5) == pytest.approx(float(k @ rotation.turn(q, torch.tensor(12))), abs=1e-9)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_a_plane_turns_by_its_frequency(layout):
    frequencies = torch.tensor([1.0, 0.25], dtype=torch.float64)
    rotation = Rotation(frequencies, layout)
    x = torch.zeros(4, dtype=torch.float64)
    x[1] = 1.0  # plane 1 first coordinate when half-split, plane 0 second when interleaved
    turned = rotation.planes(rotation.turn(x, torch.tensor(2)))
    expected = {
        "half": [[0, 0], [math.cos(0.5), math.sin(0.5)]],
        "interleaved": [[-math.sin(2), math.cos(2)], [0, 0]],
    }
    torch.testing.assert_close(turned, torch.tensor(expected[layout], dtype=torch.float64))


@pytest.mark.parametrize(("layout", "expected"), [("half", [0, 2, 3, 5]), ("interleaved", [0, 4, 1, 5])])
def test_the_coordinates_of_planes_follow_the_layout(layout: Literal["half", "interleaved"], expected: list[int]):
    rotation = Rotation(rope_frequencies(6, 100.0), layout)
    assert rotation.coordinates([0, 2]).tolist() == expected
