import os
import random
import re
import signal
import threading
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.machine import threads
from whatwhere.machine.threads import parallel_map, split


@pytest.fixture(params=[1, 2, 3])
def cores(request: pytest.FixtureRequest):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_order_whatever_the_number_of_cores(cores: int):
    assert parallel_map(lambda n: n * n, range(20)) == [n * n for n in range(20)]
    assert parallel_map(lambda n: n, []) == []
    assert torch.get_num_threads() == cores


def test_each_piece_has_one_core_and_they_run_at_the_same_time(cores: int):
    meeting = threading.Barrier(cores, timeout=300)  # breaks unless all are there at once

    def work(_: int) -> int:
        meeting.wait()
        return torch.get_num_threads()

    assert parallel_map(work, range(cores)) == [1] * cores


def test_pieces_may_have_pieces(cores: int):
    nested = parallel_map(lambda n: parallel_map(lambda m: n + m, range(3)), range(4))
    assert nested == [[n, n + 1, n + 2] for n in range(4)]
    assert torch.get_num_threads() == cores


def test_an_error_arrives_and_the_number_of_threads_is_as_before(cores: int):
    def work(n: int) -> int:
        if n == 2:
            raise ValueError("two")
        return n

    with pytest.raises(ValueError, match="two"):
        parallel_map(work, range(4))
    assert torch.get_num_threads() == cores
    assert parallel_map(lambda n: n, range(4)) == [0, 1, 2, 3]


def test_threads_that_come_late_do_not_change_what_all_share(cores: int, monkeypatch: pytest.MonkeyPatch):
    set_number = torch.set_num_threads

    def slow_to_come(number: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.05 * random.random())
        set_number(number)

    monkeypatch.setattr(torch, "set_num_threads", slow_to_come)
    threads._workers.cache_clear()
    parallel_map(lambda n: n, range(cores))
    time.sleep(0.1)
    shared = re.search(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    assert shared is None or int(shared[1]) == cores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 warns of what is tried here
def test_a_forked_process_starts_threads_of_its_own():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        parallel_map(lambda n: n, range(4))
        child = os.fork()
        if child == 0:
            signal.alarm(300)  # a process that waits for threads that it does not have ends here
            os._exit(parallel_map(lambda n: n, range(4)) != [0, 1, 2, 3])
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    finally:
        torch.set_num_threads(before)


@given(count=st.integers(0, 500), first=st.integers(0, 9), parts=st.integers(1, 40))
def test_rows_are_dealt_out_evenly_and_once(count: int, first: int, parts: int):
    dealt = split(range(first, first + count), parts)
    assert [row for part in dealt for row in part] == list(range(first, first + count))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
