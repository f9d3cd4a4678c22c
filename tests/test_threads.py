import os
import re
import signal
import threading
import time

import pytest
import torch

from whatwhere import threads
from whatwhere.threads import side_by_side


@pytest.fixture(params=[1, 2, 3])
def cores(request: pytest.FixtureRequest):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_order_whatever_the_number_of_cores(cores: int):
    assert side_by_side(lambda n: n * n, range(20)) == [n * n for n in range(20)]
    assert side_by_side(lambda n: n, []) == []
    assert torch.get_num_threads() == cores


def test_each_piece_has_one_core_and_they_run_at_the_same_time(cores: int):
    meeting = threading.Barrier(cores, timeout=30)  # breaks unless all are there at once

    def work(_: int) -> int:
        meeting.wait()
        return torch.get_num_threads()

    assert side_by_side(work, range(cores)) == [1] * cores


def test_pieces_may_have_pieces(cores: int):
    nested = side_by_side(lambda n: side_by_side(lambda m: n + m, range(3)), range(4))
    assert nested == [[n, n + 1, n + 2] for n in range(4)]
    assert torch.get_num_threads() == cores


def test_an_error_arrives_and_the_number_of_threads_is_as_before(cores: int):
    def work(n: int) -> int:
        if n == 2:
            raise ValueError("two")
        return n

    with pytest.raises(ValueError, match="two"):
        side_by_side(work, range(4))
    assert torch.get_num_threads() == cores
    assert side_by_side(lambda n: n, range(4)) == [0, 1, 2, 3]


def test_threads_that_come_late_do_not_change_what_all_share(cores: int):
    threads._crew.cache_clear()
    side_by_side(lambda n: n, range(cores))
    time.sleep(0.05)
    shared = re.search(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    assert shared is None or int(shared[1]) == cores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 warns of what is tried here
def test_a_forked_process_starts_threads_of_its_own():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        side_by_side(lambda n: n, range(4))
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # a process that waits for threads that it does not have ends here
            os._exit(side_by_side(lambda n: n, range(4)) != [0, 1, 2, 3])
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    finally:
        torch.set_num_threads(before)
