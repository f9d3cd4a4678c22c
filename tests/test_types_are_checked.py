"""The tests check types and shapes at run time; here is that they do."""

import jaxtyping
import pytest
import torch
from beartype import beartype
from checked_types import unchecked
from jaxtyping import Float
from torch import Tensor

from whatwhere.heads.estimate import Estimate, share
from whatwhere.studies.validity.permutations import swap_scores
from whatwhere.trace.rotation import find_planes


def test_a_hint_of_a_function_or_a_record_is_checked():
    with pytest.raises(Exception, match=r"parameter successes='1' violates type hint"):
        share("1", 2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Exception, match=r"parameter n='3' violates type hint"):
        Estimate(0.5, 0.4, 0.6, "3")  # pyright: ignore[reportArgumentType]


def test_axes_of_one_name_must_be_equally_long():
    with pytest.raises(Exception, match=r"(?s)parameter matrices=.* violates type hint"):
        swap_scores(torch.zeros(2, 3, 4, dtype=torch.float64), [0.1])
    with pytest.raises(Exception, match=r"(?s)parameter quarter=.* violates type hint"):
        find_planes(torch.zeros(3, 4), torch.zeros(2, 4))


@jaxtyping.jaxtyped(typechecker=beartype)  # as the import hook decorates
def transposed(x: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    return x.T


def test_axes_of_the_result_are_those_of_the_arguments():
    assert transposed(torch.zeros(3, 3)).shape == (3, 3)
    assert transposed(torch.zeros(2, 2)).shape == (2, 2)  # another call, another length
    with pytest.raises(Exception, match=r"(?s)return .* violates type hint"):
        transposed(torch.zeros(2, 3))


def test_a_test_may_call_what_is_not_checked():
    with unchecked():
        assert Estimate(0.5, 0.4, 0.6, "3").n == "3"  # pyright: ignore[reportArgumentType]
        assert transposed(torch.zeros(2, 3)).shape == (3, 2)
    with pytest.raises(Exception, match="violates type hint"):
        transposed(torch.zeros(2, 3))
