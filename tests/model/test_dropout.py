import pytest
import torch

from whatwhere.model.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_given_share_is_dropped_and_the_mean_is_kept(rate: float):
    mask = Dropout(torch.Generator().manual_seed(0)).mask(rate, (1000, 333))
    assert mask is not None
    assert float((mask == 0).float().mean()) == pytest.approx(rate, abs=0.004)
    assert float(mask.mean()) == pytest.approx(1, abs=0.02)
    assert len(mask.unique()) == 2


def test_neighbouring_entries_are_independent():
    mask = Dropout(torch.Generator().manual_seed(0)).mask(0.5, (400_000,))
    assert mask is not None
    dropped = (mask == 0).double() - 0.5
    for distance in range(1, 9):
        correlation = float((dropped[:-distance] * dropped[distance:]).mean()) * 4
        assert abs(correlation) < 0.01


def test_a_saved_generator_draws_the_same_masks_again():
    generator = torch.Generator().manual_seed(3)
    dropout = Dropout(generator)
    dropout.mask(0.2, (7, 5))
    state = generator.get_state()
    first = dropout.mask(0.2, (7, 5))
    generator.set_state(state)
    again = dropout.mask(0.2, (7, 5))
    assert first is not None
    assert again is not None
    assert torch.equal(first, again)


def test_no_rate_costs_no_mask():
    assert Dropout(torch.Generator()).mask(0.0, (3,)) is None
