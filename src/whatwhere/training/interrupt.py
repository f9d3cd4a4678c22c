"""Graceful stops: after Ctrl-C or SIGTERM the current step ends and the state is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """Training was asked to stop, and has saved its state."""

    def __init__(self, step: int) -> None:
        super().__init__(f"stopped at step {step}")
        self.step = step


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Yields a function that tells whether a stop was asked for; a second Ctrl-C stops at once.

    Outside the main thread signals cannot be caught, and the function always returns False.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: object) -> None:
        asked.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
