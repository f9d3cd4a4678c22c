from __future__ import annotations

import pytest

from whatwhere.theory import decomposition


@pytest.mark.parametrize("check", [decomposition.number_decomposition, decomposition.letter_decomposition])
def test_one_application_per_hop_solves_the_task_and_no_fewer_do(check) -> None:
    assert (check(400).inputs, check(400).errors) == (400, 0)


def test_a_function_that_hops_too_slowly_or_not_at_all_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposition, "index", lambda tokens, _: tokens)
    assert decomposition.number_decomposition(400).errors == 400
