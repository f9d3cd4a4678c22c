"""Progress on stderr: a bar in a terminal and in a notebook, a line every half minute elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from whatwhere.studies import study

LINE_EVERY = 30.0
"""Seconds between two lines of progress without a terminal."""
COUNTED = 100_000
"""From this total on, a line shows a percentage instead of a count."""


class Guarded(Console):
    """A console on which external text (names, prompts, paths) cannot control the terminal."""

    def render_str(self, text: str, **style: Any) -> Text:
        """Shows control characters and surrogates as numbers; rich calls this for every string, also in tables."""
        printable = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
        return super().render_str(printable, **style)


# In notebooks rich needs ipywidgets and warns without them; a line that is overwritten does not.
_NOTEBOOK: dict[str, Any] = {"force_terminal": True, "force_jupyter": False} if "ipykernel" in sys.modules else {}
err = Guarded(stderr=True, highlight=False, **_NOTEBOOK)


def note(message: str) -> None:
    """Prints a note on stderr."""
    err.print(escape(message), style="dim", soft_wrap=True)


class Bar(Progress):
    """A progress bar with the estimated time left; without a terminal, a line every half minute."""

    def __init__(self, *columns: ProgressColumn) -> None:
        usual = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(),
        )  # fmt: skip
        super().__init__(*(columns or usual), console=err, disable=not err.is_terminal)
        self._spoke = time.monotonic()

    def follow(self, name: str) -> study.Progress:
        """Adds a line and returns the callback that updates it."""
        task = self.add_task(name, total=None)
        return lambda what, done, total: self.update(task, description=what, completed=done, total=total)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Updates a bar, or prints a line if it is due."""
        super().update(task_id, **changes)
        now = time.monotonic()
        if err.is_terminal or now - self._spoke < LINE_EVERY:
            return
        self._spoke = now
        task = self.tasks[self.task_ids.index(task_id)]
        count = (
            f" {task.completed:.0f}/{task.total:.0f}" if (task.total or 0) < COUNTED else f" {task.percentage:.0f} %"
        )
        share = count if task.total else ""
        left = round((task.time_remaining or 0) / 60)
        note(f"{task.description}{share}" + (f", about {left} min left" if left else ""))
