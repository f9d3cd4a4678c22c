import pytest

from whatwhere.theory.verification import CHECKS

TASKS = ("number_task", "letter_task")


@pytest.mark.slow
@pytest.mark.parametrize("check", [check for check in CHECKS if check.__name__ not in TASKS])
def test_every_check_that_the_command_runs_passes(check):
    result = check()
    assert result.passed, f"{result.claim}: {result.errors} of {result.inputs}"
    assert result.inputs > 0


@pytest.mark.slow
@pytest.mark.parametrize("check", [check for check in CHECKS if check.__name__ in TASKS])
def test_iterated_heads_solve_the_whole_test_split_of_their_task(check):
    result = check()
    assert (result.inputs, result.errors) == (45_600, 0)


def test_no_check_is_run_twice():
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 19
