import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from whatwhere.model import dropout as module
from whatwhere.model.dropout import Dropout
from whatwhere.model.kernel.build import Kernels, kernels


def draw(rate: float, *shape: int, seed: int = 0, step: int = 0, first_row: int = 0) -> Tensor:
    mask = Dropout(seed, step, first_row).mask(rate, shape)
    assert mask is not None
    return mask


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_given_share_is_dropped_and_the_mean_is_kept(rate: float):
    mask = draw(rate, 1000, 333)
    assert float((mask == 0).float().mean()) == pytest.approx(rate, abs=0.004)
    assert float(mask.mean()) == pytest.approx(1, abs=0.02)
    assert len(mask.unique()) == 2


@pytest.mark.parametrize(
    "other",
    [{"seed": 1}, {"seed": 2**32}, {"seed": 2**63 - 1}, {"step": 1}, {"step": 2**20}, {"first_row": 1}],
)
def test_seed_step_and_row_each_give_another_mask_that_has_nothing_to_do_with_the_first(other: dict[str, int]):
    dropped = (draw(0.5, 500, 800) == 0).double() - 0.5
    others = (draw(0.5, 500, 800, **other) == 0).double() - 0.5
    assert abs(float((dropped * others).mean()) * 4) < 0.01


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 8, 16, 64, 800, 801])
def test_neighbouring_entries_rows_and_masks_are_independent(distance: int):
    masks = Dropout(3, 5)
    first, second = masks.mask(0.5, (500, 800)), masks.mask(0.5, (500, 800))
    assert first is not None
    assert second is not None
    one, two = ((mask == 0).double().flatten() - 0.5 for mask in (first, second))
    for later in (one[distance:], two[distance:]):
        assert abs(float((one[:-distance] * later).mean()) * 4) < 0.01


def test_rows_and_columns_are_dropped_as_often_as_chance_has_it():
    dropped = (draw(0.1, 2000, 2000) == 0).double()
    for axis in (0, 1):
        spread = float(dropped.sum(axis).std())
        assert spread == pytest.approx((2000 * 0.1 * 0.9) ** 0.5, rel=0.08)


@given(rows=st.integers(1, 40), cut=st.integers(0, 40), seed=st.integers(0, 2**63 - 1), step=st.integers(0, 10**6))
def test_a_part_of_a_batch_has_its_part_of_every_mask(rows: int, cut: int, seed: int, step: int):
    cut = min(cut, rows)
    whole, head, tail = Dropout(seed, step), Dropout(seed, step), Dropout(seed, step, first_row=cut)
    for shape in ((3, 4), (2, 5, 5), (7,)):
        mask, first, rest = (d.mask(0.3, (n, *shape)) for d, n in ((whole, rows), (head, cut), (tail, rows - cut)))
        assert mask is not None
        assert first is not None
        assert rest is not None
        assert torch.equal(mask, torch.cat([first, rest]))


@pytest.mark.skipif(kernels().library is None, reason=f"runs where there is a C compiler; {kernels().missing}")
@given(
    seed=st.integers(0, 2**63 - 1), step=st.integers(0, 2**40), first_row=st.integers(0, 2**20), rate=st.floats(0, 0.99)
)
def test_compiled_code_and_torch_drop_the_same_entries(seed: int, step: int, first_row: int, rate: float):
    compiled, by_torch = (Dropout(seed, step, first_row) for _ in range(2))
    for _ in range(2):
        ours = compiled.mask(rate, (5, 33))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "kernels", lambda: Kernels(None))
            theirs = by_torch.mask(rate, (5, 33))
        assert (ours is None) == (theirs is None)
        assert ours is None or theirs is None or torch.equal(ours, theirs)


def test_no_rate_costs_no_mask_and_leaves_the_next_as_it_is():
    one, other = Dropout(0), Dropout(0)
    assert one.mask(0.0, (3,)) is None
    other.mask(0.5, (100,))
    first, second = one.mask(0.5, (50, 3)), other.mask(0.5, (50, 3))
    assert first is not None
    assert second is not None
    assert torch.equal(first, second)
