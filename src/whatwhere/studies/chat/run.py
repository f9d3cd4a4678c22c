"""Asks one model everything that a plan wants and that no log has yet; stops and goes on at will.

A directory of results holds one directory per model: ``plan.json`` (what was asked, with versions) and ``logs/`` (one
inspect-ai log per task, size and run, which ``inspect view`` opens). Each reply is written to its log as it arrives.
After an interrupt, a crash or kill -9 the next call asks only for what has no reply: what was under way is all that is
lost. Retries, rate limits and concurrency are inspect-ai's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_json, write_json
from whatwhere.studies.chat.logs import Logged, read_logs
from whatwhere.studies.chat.plan import Cell, Plan
from whatwhere.studies.chat.providers import secrets, strike_out, without

Observer = Callable[[int, int], None]
"""Called with the replies so far and the replies wanted."""
MAX_RETRIES = 12
"""Of one request, with growing waits (seconds at first, up to half an hour)."""
TIMEOUT = 120
"""Seconds after which one attempt is given up and made again."""


@dataclass(frozen=True)
class Outcome:
    """How a call of :func:`run_plan` ended."""

    wanted: int
    answered: int
    error: str | None
    """The first error that left a question without a reply, if there is one."""

    @property
    def complete(self) -> bool:
        """Whether every question has its reply."""
        return self.answered == self.wanted


def model_directory(out: Path, model: str) -> Path:
    """Where the results of a model go: ``OUT/llm/NAME``, with the name made fit for a file system."""
    return out / "llm" / re.sub(r"[^A-Za-z0-9.-]+", "-", model).strip("-.")


def answered(directory: Path) -> dict[Cell, int]:
    """How many questions of each cell have a reply in the logs of a model."""
    return {logged.cell: len(logged.answers) for logged in read_logs([directory / "logs"])}


def run_plan(
    plan: Plan,
    directory: Path,
    *,
    cells: Collection[Cell] | None = None,
    connections: int | None = None,
    max_retries: int = MAX_RETRIES,
    timeout: int = TIMEOUT,
    observer: Observer | None = None,
) -> Outcome:
    """Asks what is missing.

    Args:
        plan: what to ask, and how.
        directory: of this model, see :func:`model_directory`.
        cells: some of the plan's cells; all by default.
        connections: requests at a time; by default inspect-ai finds out what the provider bears.
        max_retries: of one request that fails in a way that may pass.
        timeout: seconds for one attempt.
        observer: told after each reply.

    Returns:
        What is there now. Questions that failed for good are asked again by the next call.

    Raises:
        WhatwhereError: the model cannot be asked, or the directory holds results made with other settings.
        KeyboardInterrupt: it was interrupted; replies so far are kept.
    """
    model = plan.provider.open(plan.model_args, greedy=plan.temperature == 0)
    from inspect_ai import eval_set

    from whatwhere.studies.chat.tasks import TASKS

    _claim(directory, plan)
    chosen = plan.cells if cells is None else [cell for cell in plan.cells if cell in cells]
    before = answered(directory)
    done = sum(min(before.get(cell, 0), plan.examples) for cell in chosen)
    wanted = len(chosen) * plan.examples
    logs = directory / "logs"
    stamps = _stamps(logs)
    if done == wanted:
        return Outcome(wanted, done, None)
    try:
        with _observed(observer, done, wanted), redirect_stdout(sys.stderr):  # results alone go to stdout
            eval_set(
                [
                    TASKS[cell.task](cell.size, cell.run, examples=plan.examples, max_tokens=plan.max_tokens)
                    for cell in chosen
                ],
                log_dir=str(logs),
                model=model,
                display="none",
                log_level="error",
                ctl_server=False,
                log_dir_allow_dirty=True,  # other sizes and runs of the same plan
                log_buffer=1,  # a reply is on disk once it is scored
                log_realtime=False,
                log_refusals=False,
                fail_on_error=True,  # a log with a failed question is not complete, and is taken up again
                continue_on_fail=True,  # but the other questions of the task are asked first
                retry_attempts=1,
                max_tasks=2,
                max_retries=max_retries,
                attempt_timeout=timeout,
                **_generation(plan, connections),
            )
    finally:
        strike_out([path for path, stamp in _stamps(logs).items() if stamps.get(path) != stamp], secrets())
    after = [logged for logged in read_logs([logs]) if logged.cell in chosen]
    return Outcome(wanted, sum(len(logged.answers) for logged in after), _first_error(after))


def _stamps(logs: Path) -> dict[Path, int]:
    """When each log, and each list of logs, was last written."""
    return {path: path.stat().st_mtime_ns for path in logs.glob("*.*") if path.suffix in (".eval", ".json")}


def _generation(plan: Plan, connections: int | None) -> dict[str, Any]:
    settings = {
        "temperature": None if plan.provider.greedy_by_argument and plan.temperature == 0 else plan.temperature,
        "reasoning_effort": plan.reasoning,
        "max_connections": connections,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _first_error(logs: Collection[Logged]) -> str | None:
    found = next((logged.error for logged in logs if logged.error), None)
    return without(found, secrets()) if found else None


def _claim(directory: Path, plan: Plan) -> None:
    """Takes the directory for the plan, or joins results that were made in the same way."""
    path = directory / "plan.json"
    settings = plan.settings()
    if path.is_file():
        known = read_json(path, "the plan of earlier results")["settings"]
        differing = [name for name in settings if known.get(name) != settings[name]]
        if differing:
            name = differing[0]
            raise WhatwhereError(
                f"{directory} holds results made with {name} {known.get(name)!r}, and {settings[name]!r} was asked "
                "for; they would not belong in one table row. Use the same settings, or another --out."
            )
    write_json(
        path,
        {
            "settings": settings,
            "asked": {"tasks": list(plan.tasks), "sizes": list(plan.sizes), "runs": list(plan.runs)},
            "versions": {name: version(name) for name in ("whatwhere", "inspect-ai")},
        },
    )


@contextmanager
def _observed(observer: Observer | None, done: int, wanted: int) -> Iterator[None]:
    """Counts replies as they are scored."""
    from whatwhere.studies.chat import tasks

    count = done

    def scored() -> None:
        nonlocal count
        count += 1
        if observer:
            observer(count, wanted)

    if observer:
        observer(done, wanted)
    tasks.observers.append(scored)
    try:
        yield
    finally:
        tasks.observers.remove(scored)
