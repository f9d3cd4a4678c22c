"""Rotations read off vectors, for every layout and for what is no rotation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.model.rope import Rotation, interleaved_to_half, rope_frequencies
from whatwhere.trace.rotation import NotARotation, Planes, find_planes, measure


@settings(max_examples=30)
@given(planes=st.integers(0, 6), still=st.integers(0, 5), seed=st.integers(0, 99), rows=st.integers(2, 9))
def test_any_pairing_of_coordinates_is_found(planes: int, still: int, seed: int, rows: int):
    generator = torch.Generator().manual_seed(seed)
    width = 2 * planes + still
    if width == 0:
        return
    where = torch.randperm(width, generator=generator)
    first, second = where[:planes], where[planes : 2 * planes]
    plain = torch.randn(rows, width, generator=generator)
    quarter = plain.clone()
    quarter[:, first], quarter[:, second] = -plain[:, second], plain[:, first]
    found = find_planes(plain, quarter)
    assert found.count == planes
    pairs = {(int(found.order[k]), int(found.order[k + planes])) for k in range(planes)}
    assert pairs == set(zip(first.tolist(), second.tolist(), strict=True))
    assert sorted(found.order.tolist()) == list(range(width))


def test_layouts_have_names():
    assert Planes(torch.arange(8), 3).layout == "half"
    assert Planes(interleaved_to_half(8, 6), 3).layout == "interleaved"
    assert Planes(torch.arange(8), 0).layout == "none"
    assert Planes(torch.tensor([3, 2, 1, 0]), 2).layout == "other"
    latent = Planes(torch.tensor([4, 6, 5, 7, 0, 1, 2, 3]), 2)  # only the second half of a head turns
    assert (latent.layout, latent.first) == ("interleaved", 4)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("still", [0, 3])
@pytest.mark.parametrize("off", [(0,), (2, 3), (0, 5), (0, 1, 4)])
def test_a_plane_in_which_all_keys_are_zero_keeps_its_place(layout: str, still: int, off: tuple[int, ...]):
    planes, generator = 6, torch.Generator().manual_seed(2)
    order = torch.arange(12) if layout == "half" else interleaved_to_half(12, 12)
    first, second = order[:planes], order[planes:]
    plain = torch.randn(9, 12 + still, generator=generator)
    for plane in off:
        plain[:, [first[plane], second[plane]]] = 0
    quarter = plain.clone()
    quarter[:, first], quarter[:, second] = -plain[:, second], plain[:, first]
    found = find_planes(plain, quarter)
    assert (found.count, found.layout, found.first) == (planes, layout, 0)
    assert found.order.tolist() == [*order.tolist(), *range(12, 12 + still)]


def test_zeros_are_not_taken_for_planes_where_the_layout_has_none():
    plain = torch.randn(9, 8, generator=torch.Generator().manual_seed(3))
    plain[:, 4:] = 0  # never turned: four coordinates, two planes, and then silence
    quarter = plain.clone()
    quarter[:, :2], quarter[:, 2:4] = -plain[:, 2:4], plain[:, :2]
    assert find_planes(plain, quarter).count == 2


@pytest.mark.parametrize("told", [True, False])
def test_a_plane_that_no_vector_shows_has_the_frequency_of_the_table_or_of_its_place(told: bool):
    frequencies = rope_frequencies(12, 500.0)
    plain = torch.randn(5, 300, 12, generator=torch.Generator().manual_seed(1))
    plain[..., [0, 6, 3, 9]] = 0  # planes 1 and 4
    after = Rotation(frequencies).turn(plain, torch.arange(300))
    found = measure(plain, after, 6, [frequencies] if told else []).rotation.frequencies
    assert torch.allclose(found[1:], frequencies[1:], rtol=1e-3)
    assert bool(found[0] == frequencies[0]) is told


def test_coordinates_without_partner_are_no_rotation():
    plain = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    with pytest.raises(NotARotation, match="6 coordinates of a head turn, and 0 planes"):
        find_planes(plain, 2 * plain)


def turned(frequencies: torch.Tensor, factor: float, seq: int) -> tuple[torch.Tensor, torch.Tensor]:
    plain = torch.randn(5, seq, 12, generator=torch.Generator().manual_seed(1))
    after = Rotation(frequencies).turn(plain, torch.arange(seq))
    width = 2 * len(frequencies)
    return plain, torch.cat([after[..., :width] * factor, after[..., width:]], -1)


@pytest.mark.parametrize("factor", [1.0, 1.35])
@pytest.mark.parametrize("seq", [3, 400])
def test_frequencies_and_factor_are_measured(factor: float, seq: int):
    frequencies = rope_frequencies(10, 500.0)
    plain, after = turned(frequencies, factor, seq)
    found = measure(plain, after, 5)
    torch.testing.assert_close(found.rotation.frequencies, frequencies, rtol=0, atol=1e-6)
    assert found.factor == pytest.approx(factor, abs=1e-6)
    assert found.error < 1e-4


def test_a_table_of_the_model_is_taken_if_it_fits_and_only_then():
    frequencies = rope_frequencies(10, 500.0)
    plain, after = turned(frequencies, 1.0, 20)
    plain, after = plain.bfloat16().float(), after.bfloat16().float()
    tables = [rope_frequencies(10, 400.0), frequencies, rope_frequencies(8, 500.0)]
    assert torch.equal(measure(plain, after, 5, tables, 0.05).rotation.frequencies, frequencies)
    other = measure(plain, after, 5, [rope_frequencies(10, 50.0)], 0.05).rotation.frequencies
    torch.testing.assert_close(other, frequencies, rtol=0, atol=2e-3)


def test_turning_the_other_way_for_some_vectors_is_no_rotation():
    plain, after = turned(rope_frequencies(10, 500.0), 1.0, 9)
    after[0] = plain[0]
    with pytest.raises(NotARotation, match="rotated by their position"):
        measure(plain, after, 5)


def test_vectors_that_are_not_numbers_are_no_rotation():
    plain, after = turned(rope_frequencies(10, 500.0), 1.0, 9)
    after[0, 1] = torch.nan
    with pytest.raises(NotARotation, match="differ by nan"):
        measure(plain, after, 5)
