"""Reads inspect-ai logs of the benchmark, finished or not, into plain rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.chat.extraction import TOKENS, Verdict
from whatwhere.studies.chat.plan import Cell

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSampleSummary


@dataclass(frozen=True)
class Answer:
    """One question and what became of it. Tokens are None where the provider does not say."""

    number: int
    distance: int
    strict: Verdict
    lenient: Verdict
    single_token: bool
    reasoned: bool
    output_tokens: int | None
    reasoning_tokens: int | None
    reply: str
    """Its first characters."""


@dataclass(frozen=True)
class Logged:
    """One cell of one model, as far as it was measured."""

    path: Path
    model: str
    cell: Cell
    version: str
    sequences: str
    """The checksum of the sequences."""
    wanted: int
    answers: tuple[Answer, ...]
    error: str | None
    """Why a question has no reply, if one failed."""
    finished: bool
    """Whether inspect-ai closed the log; one that was killed stays open."""


def read_logs(directories: Iterable[Path]) -> list[Logged]:
    """Reads every log of the benchmark in some directories and below, one for each model and cell.

    Where a cell was measured more than once (a retry that was killed leaves its beginnings behind), the log with the
    most replies counts, and of equals the latest. Logs of other benchmarks are passed over.

    Raises:
        WhatwhereError: one cell of a model was measured with different sequences or versions of the task.
    """
    try:
        from inspect_ai.log import list_eval_logs
    except ImportError as error:
        raise MissingExtraError("inspect_ai", "llm", "to read logs of chat models") from error
    best: dict[tuple[str, Cell], Logged] = {}
    for directory in directories:
        if not directory.is_dir():
            continue
        for info in list_eval_logs(str(directory), descending=False):
            logged = _read(info.name)
            if logged is None:
                continue
            key = logged.model, logged.cell
            other = best.setdefault(key, logged)
            if (other.version, other.sequences) != (logged.version, logged.sequences):
                raise WhatwhereError(
                    f"{other.path} and {logged.path} hold the same cell ({_name(logged)}) with different sequences or "
                    "task versions, which cannot be averaged. Keep them in different directories."
                )
            if len(logged.answers) >= len(other.answers):
                best[key] = logged
    return [best[key] for key in sorted(best, key=lambda key: (key[0], key[1]))]


def _name(logged: Logged) -> str:
    return f"{logged.model}, {logged.cell.task}, size {logged.cell.size}, run {logged.cell.run}"


def _read(location: str) -> Logged | None:
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    try:
        log = read_eval_log(location, header_only=True)
        task = log.eval.task.split("/")[-1]
        if task not in TOKENS:
            return None
        samples = read_eval_log_sample_summaries(location)
    except Exception as error:  # whatever a damaged archive raises; inspect-ai documents no kinds
        raise WhatwhereError(f"the log {location} cannot be read: {error}. Remove it, and run again.") from error
    about: dict[str, Any] = {**(log.eval.metadata or {}), **log.eval.task_args}
    return Logged(
        path=Path(location.removeprefix("file://")),
        model=log.eval.model,
        cell=Cell(task, int(about["size"]), int(about["seed"])),
        version=str(log.eval.task_version),
        sequences=str(about.get("sequences", "")),
        wanted=int(about["examples"]),
        answers=tuple(answer for sample in samples if (answer := _answer(sample)) is not None),
        error=_error(log, samples),
        finished=log.status == "success",
    )


def _answer(sample: EvalSampleSummary) -> Answer | None:
    """The row of a scored sample; a failed one has none."""
    score = (sample.scores or {}).get("reading")
    if score is None or sample.error:
        return None
    notes = score.metadata or {}
    return Answer(
        number=int(sample.id),
        distance=int(sample.metadata["distance"]),
        strict=Verdict(notes["strict"]),
        lenient=Verdict(notes["lenient"]),
        single_token=bool(notes["single_token"]),
        reasoned=bool(notes["reasoned"]),
        output_tokens=notes["output_tokens"],
        reasoning_tokens=notes["reasoning_tokens"],
        reply=(score.explanation or "")[:80],
    )


def _error(log: EvalLog, samples: list[EvalSampleSummary]) -> str | None:
    failed = next((sample.error for sample in samples if sample.error), None)
    return failed or (log.error.message if log.error else None)
