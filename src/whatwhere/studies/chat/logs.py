"""Reads inspect-ai logs of the benchmark, finished or not, into rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.studies.chat.extraction import TOKENS, Verdict
from whatwhere.studies.chat.redaction import reading_log
from whatwhere.studies.chat.tables import Sample

if TYPE_CHECKING:
    from inspect_ai.log import EvalSampleSummary

REPLY = 80
"""Characters of a reply that the table keeps; the log has it whole."""


@dataclass(frozen=True, order=True)
class Block:
    """The questions of one inspect-ai task: one size in one run."""

    task: str
    size: int
    run: int


@dataclass(frozen=True)
class Logged:
    """One block of one model, as far as it was asked."""

    path: Path
    model: str
    block: Block
    version: str
    sequences: str
    """The checksum of the sequences."""
    wanted: int
    samples: tuple[Sample, ...]
    error: str | None
    """Why a question has no reply, if one failed."""


def read_logs(directories: Iterable[Path]) -> list[Logged]:
    """Reads every log of the benchmark in some directories and below, one for each model and block.

    If a block was asked more than once (a killed retry leaves an incomplete log), the log with the most replies counts,
    and of equals the latest. Logs of other benchmarks are ignored.

    Raises:
        WhatwhereError: one block of a model was asked with different sequences or versions of the task.
    """
    best: dict[tuple[str, Block], Logged] = {}
    for directory in directories:
        if not directory.is_dir():
            continue
        with extra_for("to read logs of chat models", "inspect_ai", "llm"):
            from inspect_ai.log import list_eval_logs
        for info in list_eval_logs(str(directory), descending=False):
            logged = _read(info.name)
            if logged is None:
                continue
            key = logged.model, logged.block
            other = best.setdefault(key, logged)
            if (other.version, other.sequences) != (logged.version, logged.sequences):
                about = f"{logged.model}, {logged.block.task}, size {logged.block.size}, run {logged.block.run}"
                raise WhatwhereError(
                    f"expected one set of questions for {about}, got two, in {other.path} and {logged.path}; "
                    "keep them in different directories."
                )
            if len(logged.samples) >= len(other.samples):
                best[key] = logged
    return [best[key] for key in sorted(best)]


def _read(location: str) -> Logged | None:
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    with reading_log(location):
        log = read_eval_log(location, header_only=True)
        task = log.eval.task.split("/")[-1]
        if task not in TOKENS:
            return None
        summaries = read_eval_log_sample_summaries(location)
    about: dict[str, Any] = {**(log.eval.metadata or {}), **log.eval.task_args}
    block = Block(task, int(about["size"]), int(about["seed"]))
    samples = [found for one in summaries if (found := _sample(log.eval.model, block, one)) is not None]
    failed = next((one.error for one in summaries if one.error), None)
    return Logged(
        path=Path(location.removeprefix("file://")),
        model=log.eval.model,
        block=block,
        version=str(log.eval.task_version),
        sequences=str(about.get("sequences", "")),
        wanted=int(about["examples"]),
        samples=tuple(sorted(samples, key=lambda sample: sample.number)),
        error=failed or (log.error.message if log.error else None),
    )


def _sample(model: str, block: Block, summary: EvalSampleSummary) -> Sample | None:
    """The row of a scored question; a failed one has none."""
    score = (summary.scores or {}).get("reading")
    if score is None or summary.error:
        return None
    notes = score.metadata or {}
    return Sample(
        model=model,
        **asdict(block),
        number=int(summary.id),
        distance=int(summary.metadata["distance"]),
        strict=str(Verdict(notes["strict"])),
        lenient=str(Verdict(notes["lenient"])),
        single_token=bool(notes["single_token"]),
        reasoned=bool(notes["reasoned"]),
        output_tokens=notes["output_tokens"],
        reasoning_tokens=notes["reasoning_tokens"],
        reply=(score.explanation or "")[:REPLY],
    )
