"""Where the commands write: results on stdout, everything else (progress, notes, errors) on stderr.

So ``whatwhere ... --json > file`` always holds the result and nothing else.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
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

from whatwhere.store.documents import plain
from whatwhere.studies.terminal import table


class _Guarded(Console):
    """A console on which text from outside (names, prompts, paths) cannot steer the terminal."""

    def render_str(self, text: str, **style: Any) -> Text:
        """Every string that is printed passes here, those in tables too.

        Control characters, and halves of characters that no terminal takes, are shown as numbers.
        """
        printable = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
        return super().render_str(printable, **style)


__all__ = ["INTERRUPTED", "Bar", "complain", "err", "note", "out", "print_json", "remark", "table"]

INTERRUPTED = 130
"""The exit code of a command that was stopped."""
LINE_EVERY = 30.0
"""Seconds between two lines of progress where there is no terminal."""
out = _Guarded(highlight=False)
err = _Guarded(stderr=True, highlight=False)


def complain(message: str) -> None:
    """Prints an error; text from outside is escaped, so that names cannot style or steer the terminal."""
    err.print(f"[bold red]whatwhere:[/bold red] {escape(message)}", soft_wrap=True)


def note(message: str) -> None:
    """Prints a remark on stderr."""
    err.print(escape(message), style="dim", soft_wrap=True)


def print_json(result: Mapping[str, Any]) -> None:
    """Prints one JSON object on stdout; undefined numbers become null, as JSON has no NaN."""
    ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(plain(result), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def remark(text: str) -> None:
    """Prints an explanation below a result."""
    out.print(text, style="dim", markup=False)


class Bar(Progress):
    """A progress bar with an estimate of the time left, on stderr; a line every half minute where no terminal is."""

    def __init__(self, *columns: ProgressColumn) -> None:
        usual = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(),
        )  # fmt: skip
        super().__init__(*(columns or usual), console=err, disable=not err.is_terminal)
        self._spoke = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Moves a bar, or prints the line when it is time."""
        super().update(task_id, **changes)
        now = time.monotonic()
        if err.is_terminal or now - self._spoke < LINE_EVERY:
            return
        self._spoke = now
        task = self.tasks[self.task_ids.index(task_id)]
        share = f" {task.completed:.0f}/{task.total:.0f}" if task.total else ""
        left = round((task.time_remaining or 0) / 60)
        note(f"{task.description}{share}" + (f", about {left} min left" if left else ""))
