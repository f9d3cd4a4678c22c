"""The tests check types and shapes at run time; here is that they do."""

import jaxtyping
import pytest
import torch

from whatwhere.heads.estimate import Estimate, share
from whatwhere.studies.validity.permutations import swap_scores


def test_a_hint_of_a_function_or_a_record_is_checked():
    with pytest.raises(Exception, match=r"parameter successes='1' violates type hint"):
        share("1", 2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Exception, match=r"parameter n='3' violates type hint"):
        Estimate(0.5, 0.4, 0.6, "3")  # pyright: ignore[reportArgumentType]


def test_axes_of_one_name_must_be_equally_long():
    with pytest.raises(jaxtyping.TypeCheckError, match="'matrices'"):
        swap_scores(torch.zeros(2, 3, 4, dtype=torch.float64), [0.1])
