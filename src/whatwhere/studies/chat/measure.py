"""Asks a model all questions that have no reply in the logs yet, then tabulates the logs.

The results keep inspect-ai's logs in ``logs/``, one per task, size and run, which ``inspect view`` opens. Each reply is
written to its log at once. After an interrupt, a crash or kill -9 the next call asks only the questions without a
reply. Retries, rate limits and concurrency are inspect-ai's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat import tabulation
from whatwhere.studies.chat.echoes import recorder_without_keys
from whatwhere.studies.chat.logs import Block, Logged, read_logs
from whatwhere.studies.chat.plan import LOGS, Plan, make_plan
from whatwhere.studies.chat.providers import PAPER
from whatwhere.studies.chat.redaction import remove_keys, secrets, without
from whatwhere.studies.chat.tables import ChatSettings
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress

if TYPE_CHECKING:
    from inspect_ai.model import Model


def measure(subject: str | Path, settings: ChatSettings, results: Results, progress: Progress) -> None:
    """Asks what is missing, and writes the tables and logs.

    The subject is the name of a model, ``paper``, or a directory with logs, which are only tabulated.

    Raises:
        WhatwhereError: the model cannot be asked, or some questions have no reply; replies so far are in the tables.
        KeyboardInterrupt: it was interrupted; replies so far are kept.
    """
    if isinstance(subject, Path):
        remove_keys(subject)
        results.write("quoted", tabulation.quoted())
        _tabulate(results, read_logs([subject]), f"below {subject}")
        return
    plan = None if subject == PAPER else make_plan(subject, settings)  # checks for keys before a file is written
    results.write("quoted", tabulation.quoted())
    if plan is None:
        results.write("cells", [])
        return
    with _log_folder(plan, results) as folder:
        asked = _ask(plan, folder, progress)
        logs = [log for log in read_logs([folder]) if log.block in asked]
    missing = len(asked) * settings.examples - sum(len(log.samples) for log in logs)
    error = next((log.error for log in logs if log.error), None) or "no error was given."
    if any(log.samples for log in logs):
        _tabulate(results, logs, subject)
    if missing:
        raise WhatwhereError(
            f"expected {len(asked) * settings.examples} replies of {subject}, got {missing} less: "
            f"{without(error, secrets())} The same command asks for the missing ones again."
        )


def _tabulate(results: Results, logs: Sequence[Logged], where: str) -> None:
    if not any(log.samples for log in logs):
        raise WhatwhereError(
            f"expected logs with replies to the benchmark {where}, got none. "
            "Make some with: whatwhere chat reference/counter --quick"
        )
    results.write("cells", tabulation.cells(logs))
    results.write("profile", tabulation.profile(logs))
    results.write("screening", tabulation.screening(logs))
    results.write("samples", [sample for log in logs for sample in log.samples])


@contextmanager
def _log_folder(plan: Plan, results: Results) -> Iterator[Path]:
    """The folder of a plan's logs; temporary for results in memory, which is an error for replies that cost money."""
    if results.manifest is not None:
        yield results.directory / LOGS / plan.folder
        return
    if plan.provider.paid:
        raise WhatwhereError(
            f"expected a directory for the replies of {plan.provider.model}, which cost money, got none; give out=DIR."
        )
    with TemporaryDirectory() as folder:
        yield Path(folder)


def _ask(plan: Plan, folder: Path, progress: Progress) -> list[Block]:
    """Asks all blocks, or only those of the screening if the model fails it; returns the blocks that were asked."""
    settings = plan.settings
    model = plan.provider.open(plan.arguments, greedy=settings.temperature == 0)
    remove_keys(folder, plan.arguments)  # an earlier version may have left some
    try:
        if settings.screen and (first := plan.screening):
            _ask_blocks(plan, model, first, folder, progress)
            logs = read_logs([folder])
            failed = any(row.status == "screened out" for row in tabulation.screening(logs))
            if failed or _replies(logs, first) < len(first) * settings.examples:
                return first
        _ask_blocks(plan, model, plan.blocks, folder, progress)
    finally:
        remove_keys(folder, plan.arguments)
    return plan.blocks


def _replies(logs: Sequence[Logged], blocks: Sequence[Block]) -> int:
    return sum(len(log.samples) for log in logs if log.block in blocks)


def _ask_blocks(plan: Plan, model: Model, blocks: Sequence[Block], folder: Path, progress: Progress) -> None:
    from inspect_ai import eval_set

    from whatwhere.studies.chat.registry import TASKS, observers

    settings = plan.settings
    done, wanted = _replies(read_logs([folder]), blocks), len(blocks) * settings.examples
    if done == wanted:
        return
    what, numbers = f"asking {plan.provider.model}", count(done + 1)

    def scored() -> None:
        progress(what, next(numbers), wanted)

    progress(what, done, wanted)
    observers.append(scored)
    try:
        with redirect_stdout(sys.stderr), recorder_without_keys(secrets(plan.arguments)):
            eval_set(
                [
                    TASKS[block.task](block.size, block.run, examples=settings.examples, max_tokens=settings.max_tokens)
                    for block in blocks
                ],
                log_dir=str(folder),
                model=model,
                display="none",
                log_level="error",
                ctl_server=False,
                log_dir_allow_dirty=True,  # other sizes and runs of the same plan
                log_buffer=1,  # a reply is on disk once it is scored
                log_realtime=False,
                log_refusals=False,
                fail_on_error=True,  # a log with a failed question is not complete, and is retried
                continue_on_fail=True,  # but the other questions of the task are asked first
                retry_attempts=1,
                max_tasks=2,
                max_retries=settings.max_retries,
                attempt_timeout=settings.timeout,
                max_connections=settings.connections,
                reasoning_effort=cast(Any, plan.effort),
                temperature=plan.temperature,
            )
    finally:
        observers.remove(scored)
