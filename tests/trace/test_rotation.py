"""Rotations read off vectors, for every layout and for what is no rotation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.model.rope import Rotation, interleaved_to_half, rope_frequencies
from whatwhere.trace.rotation import NotARotation, Planes, _declared, _frequencies, find_planes, measure


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
    assert (Planes(torch.arange(8), 0).layout, Planes(torch.arange(8), 0).first) == ("none", 0)
    assert Planes(torch.tensor([3, 2, 1, 0]), 2).layout == "other"
    latent = Planes(torch.tensor([4, 6, 5, 7, 0, 1, 2, 3]), 2)  # only the second half of a head turns
    assert (latent.layout, latent.first) == ("interleaved", 4)


@settings(max_examples=25)
@given(
    layout=st.sampled_from(["half", "interleaved"]),
    planes=st.integers(2, 6),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    off=st.sets(st.integers(0, 5), max_size=5),
)
def test_a_plane_in_which_all_keys_are_zero_keeps_its_place(
    layout: str, planes: int, before: int, after: int, off: set[int]
):
    off = {plane for plane in off if plane < planes}
    off -= {0} if len(off) == planes else set()  # something must be seen to turn
    width = before + 2 * planes + after
    order = before + (torch.arange(2 * planes) if layout == "half" else interleaved_to_half(2 * planes, 2 * planes))
    first, second = order[:planes], order[planes:]
    plain = torch.randn(9, width, generator=torch.Generator().manual_seed(2))
    for plane in off:
        plain[:, [first[plane], second[plane]]] = 0
    quarter = plain.clone()
    quarter[:, first], quarter[:, second] = -plain[:, second], plain[:, first]
    found = find_planes(plain, quarter)
    assert (found.count, found.layout, found.first) == (planes, layout, before)
    assert found.order.tolist() == [*order.tolist(), *range(before), *range(width - after, width)]


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


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("row", [0, 3, 8])
def test_one_vector_that_turns_otherwise_is_noticed_beyond_rounding(scale: float, row: int):
    plain = scale * torch.randn(9, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    plain[5, 0] = 4 * scale  # the largest
    quarter = torch.cat([-plain[:, 3:], plain[:, :3]], -1)
    quarter[row, 1] += 3e-6 * scale
    assert find_planes(plain, quarter).order.tolist() == list(range(6))
    quarter[row, 1] += 2e-6 * scale
    with pytest.raises(NotARotation, match="6 coordinates of a head turn, and 2 planes"):
        find_planes(plain, quarter)


def turned(frequencies: torch.Tensor, factor: float, seq: int) -> tuple[torch.Tensor, torch.Tensor]:
    plain = torch.randn(5, seq, 12, generator=torch.Generator().manual_seed(1))
    after = Rotation(frequencies).turn(plain, torch.arange(seq))
    width = 2 * len(frequencies)
    return plain, torch.cat([after[..., :width] * factor, after[..., width:]], -1)


@pytest.mark.parametrize("factor", [1.0, 1.35])
@pytest.mark.parametrize("seq", [2, 3, 400])
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


def test_planes_that_turn_backwards_are_measured_and_leave_a_silent_one_at_rest():
    frequencies = torch.tensor([-1.0, -0.3, -0.1], dtype=torch.float64)
    plain = torch.randn(5, 30, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = measure(plain, Rotation(frequencies).turn(plain, torch.arange(30)), 3)
    torch.testing.assert_close(found.rotation.frequencies, frequencies)
    plain[..., [1, 4]] = 0
    found = measure(plain, Rotation(frequencies).turn(plain, torch.arange(30)), 3)
    assert found.rotation.frequencies.tolist() == pytest.approx([-1.0, 0.0, -0.1])


def test_one_position_shows_no_frequency_and_leaves_it_to_the_table():
    plain, after = turned(rope_frequencies(10, 500.0), 1.35, 1)
    assert measure(plain, after, 5).rotation.frequencies.tolist() == [0] * 5
    found = measure(plain, after, 5, [rope_frequencies(10, 500.0)])
    assert torch.equal(found.rotation.frequencies, rope_frequencies(10, 500.0))
    assert found.factor == pytest.approx(1.35, abs=1e-6)


def test_vectors_that_do_not_turn_have_no_frequency_and_the_factor_1():
    plain = torch.randn(5, 9, 6, generator=torch.Generator().manual_seed(1))
    found = measure(plain, plain, 0)
    assert (len(found.rotation.frequencies), found.factor, found.error) == (0, 1, 0)


def test_vectors_that_are_all_zero_turn_by_nothing():
    zeros = torch.zeros(5, 9, 6)
    found = measure(zeros, zeros, 2, [rope_frequencies(4, 500.0)])
    assert (found.rotation.frequencies.tolist(), found.factor, found.error) == ([0, 0], 1, 0)


@pytest.mark.parametrize(("off", "taken"), [(40, True), (41, False), (-40, True), (-41, False)])
def test_a_table_is_taken_up_to_five_tolerances_at_the_last_position(off: int, taken: bool):
    """In fractions of two, so that nothing is rounded: 8 steps of 40/64 of a tolerance are 5 tolerances."""
    tolerance, found = 2.0**-10, torch.tensor([1.0, 0.5], dtype=torch.float64)
    table = found + torch.tensor([0.0, off / 64 * tolerance])
    given = _declared(found, torch.tensor([True, True]), [table], 9, tolerance)
    assert torch.equal(given, table if taken else found)


@pytest.mark.parametrize(("factor", "given"), [(1.0009, 1.0), (0.9991, 1.0), (1.0011, 1.0011), (0.9989, 0.9989)])
def test_a_factor_that_is_1_within_the_tolerance_is_1(factor: float, given: float):
    plain, after = turned(rope_frequencies(10, 500.0), factor, 20)
    assert measure(plain, after, 5, tolerance=1e-3).factor == pytest.approx(given, abs=1e-5)


@pytest.mark.parametrize("silent", [[0], [5], [3, 4, 9], [0, 1, 11]])
def test_positions_of_zero_vectors_tell_nothing_and_disturb_nothing(silent: list[int]):
    """The embedding of a padding token may be 0."""
    frequencies = rope_frequencies(8, 10000.0)
    plain = torch.randn(3, 12, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    plain[:, silent] = 0
    turned = Rotation(frequencies).turn(plain, torch.arange(12))
    found = measure(plain, turned, 4)
    torch.testing.assert_close(found.rotation.frequencies, frequencies, rtol=0, atol=1e-9)


def test_frequencies_are_found_where_planes_begin_at_their_own_angles_and_some_tell_nothing_of_the_first_place():
    frequencies, phases = torch.tensor([1.0, 0.3, 0.01], dtype=torch.float64), torch.tensor([0.5, -1.0, 2.0])
    angles = phases + torch.arange(9, dtype=torch.float64)[:, None] * frequencies
    turns = torch.polar(torch.ones_like(angles), angles)
    turns[0, 1] = 0
    assert torch.allclose(_frequencies(turns), frequencies, atol=1e-12)


def test_short_vectors_show_their_planes_as_long_ones_do():
    frequencies = rope_frequencies(10, 500.0)
    plain, after = turned(frequencies, 1.0, 20)
    small = measure(plain * 0.01, after * 0.01, 5, [frequencies])
    assert torch.equal(small.rotation.frequencies, frequencies)


def test_planes_and_measurements_are_told_apart_by_what_they_are():
    assert Planes(torch.arange(8), 3) != Planes(torch.arange(8), 3)
    plain, after = turned(rope_frequencies(10, 500.0), 1.0, 9)
    assert measure(plain, after, 5) != measure(plain, after, 5)


@pytest.mark.parametrize(("off", "refused"), [(0.5e-4, False), (2e-4, True)])
def test_vectors_may_differ_by_a_ten_thousandth_of_the_largest_coordinate(off: float, refused: bool):
    plain, after = turned(rope_frequencies(10, 500.0), 1.0, 9)
    plain, after = plain.double(), Rotation(rope_frequencies(10, 500.0)).turn(plain.double(), torch.arange(9))
    after[2, 4, 11] += off * float(after.abs().max())  # a coordinate that does not turn
    if refused:
        with pytest.raises(
            NotARotation, match=r"they differ by 0.0002 of the largest coordinate, and 0.0001 is allowed"
        ):
            measure(plain, after, 5)
    else:
        assert measure(plain, after, 5).error == pytest.approx(off, rel=1e-3)


def test_interleaved_planes_go_on_to_both_sides_as_long_as_there_is_silence():
    plain = torch.randn(9, 14, generator=torch.Generator().manual_seed(4))
    plain[:, [0, 1, 2, 3, 8, 9, 12, 13]] = 0  # planes at 4 and 10 turn; 6 and 7 are not silent
    plain[:, [6, 7]] = 0
    quarter = plain.clone()
    quarter[:, 4], quarter[:, 5] = -plain[:, 5], plain[:, 4]
    quarter[:, 10], quarter[:, 11] = -plain[:, 11], plain[:, 10]
    found = find_planes(plain, quarter)
    assert (found.count, found.first, found.layout) == (7, 0, "interleaved")
    loud = plain.clone()
    loud[:, 7] = 1.0  # never turned, and not silent: the planes do not reach past it
    quarter[:, 7] = 1.0
    assert find_planes(loud, quarter).order[:2].tolist() == [4, 10]


def test_half_split_planes_with_silent_ends_are_placed_where_all_fit():
    plain = torch.randn(9, 10, generator=torch.Generator().manual_seed(5))
    plain[:, [0, 4, 3, 7]] = 0  # of four planes that lie four apart the first and the last are silent
    quarter = plain.clone()
    for first in (1, 2):
        quarter[:, first], quarter[:, first + 4] = -plain[:, first + 4], plain[:, first]
    found = find_planes(plain, quarter)
    assert (found.count, found.first, found.layout) == (4, 0, "half")
    assert found.order.tolist() == list(range(10))


def test_only_some_vectors_are_compared_to_find_the_planes():
    plain = torch.randn(200, 6, generator=torch.Generator().manual_seed(6))
    quarter = torch.cat([-plain[:, 3:], plain[:, :3]], -1)
    assert find_planes(plain, quarter).order.tolist() == list(range(6))
    quarter[-1] = 0  # the last is among them
    with pytest.raises(NotARotation):
        find_planes(plain, quarter)


def test_a_table_of_another_size_or_far_away_is_left_alone():
    found = torch.tensor([1.0, 0.5], dtype=torch.float64)
    shown = torch.tensor([True, True])
    assert torch.equal(_declared(found, shown, [torch.ones(3), found + 1], 9, 1e-4), found)
    near, nearer = found + 2e-6, found + 1e-6
    assert torch.equal(_declared(found, shown, [near, nearer], 9, 1e-4), nearer)
    assert torch.equal(_declared(found, ~shown, [near], 9, 1e-4), found), "nothing was seen to turn"


def test_a_silent_plane_lies_between_its_neighbours_in_powers():
    found = torch.tensor([1.0, 7.0, 0.01], dtype=torch.float64)
    given = _declared(found, torch.tensor([True, False, True]), [], 9, 1e-4)
    assert given.tolist() == pytest.approx([1.0, 0.1, 0.01])


def test_a_factor_or_an_error_of_just_the_tolerance_counts_as_one_and_is_allowed():
    plain = torch.tensor([1.0, 0.0, 0.75], dtype=torch.float64).expand(1, 2, 3)  # one plane, and one that never turns
    longer = plain * torch.tensor([1.25, 1.25, 1.0])
    assert measure(plain, longer, 1, tolerance=0.25).factor == 1.25
    off = plain + torch.tensor([0.0, 0.0, 0.25])
    assert measure(plain, off, 1, tolerance=0.25).error == 0.25
    with pytest.raises(NotARotation):
        measure(plain, off, 1, tolerance=0.2499)
