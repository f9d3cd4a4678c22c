from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.heads.swaps import swap_cosines

logits = st.floats(-1e6, 1e6)


def cosines(d: float, after: float) -> tuple[float, float]:
    positional, symbolic = swap_cosines(torch.tensor(d, dtype=torch.float64), torch.tensor(after, dtype=torch.float64))
    return float(positional), float(symbolic)


def sech(x: float) -> float:
    return float(1 / torch.tensor(x, dtype=torch.float64).clamp(-700, 700).cosh())


@pytest.mark.parametrize(
    ("d", "after", "expected"),
    [
        (0, 0, (1, 1)),
        (3, 3, (1, 0.0993)),
        (3, -3, (0.0993, 1)),
        (1e5, 3, (0.99876, 0.04973)),
        (-1e5, 1e5, (0, 1)),
    ],
)
def test_published_vectors_are_met(d: float, after: float, expected: tuple[float, float]) -> None:
    assert cosines(d, after) == pytest.approx(expected, abs=5e-5)


@given(logits, logits)
def test_the_exclusion_principle_is_an_identity(d: float, after: float) -> None:
    positional, symbolic = cosines(d, after)
    assert positional**2 + symbolic**2 == pytest.approx(1 + sech(d) * sech(after), abs=1e-14)


@given(st.floats(-300, 300), st.floats(-300, 300))
def test_the_tanh_form_equals_the_cosh_form(d: float, after: float) -> None:
    a, b = torch.tensor([d, after], dtype=torch.float64)
    norm = (a.cosh() * b.cosh()).sqrt()
    expected = float(((a + b) / 2).cosh() / norm), float(((b - a) / 2).cosh() / norm)
    assert cosines(d, after) == pytest.approx(expected, abs=1e-13)


@given(logits)
def test_a_swap_that_changes_nothing_is_positional_and_one_that_carries_attention_along_symbolic(d: float) -> None:
    assert cosines(d, d) == pytest.approx((1, sech(d)), abs=1e-14)
    assert cosines(d, -d) == pytest.approx((sech(d), 1), abs=1e-14)
