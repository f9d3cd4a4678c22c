"""The reproduction of the paper in a directory: jobs, figures, claims, times and the page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from whatwhere.store.locks import hold
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import to_frame, write_csv
from whatwhere.studies.claim import Judged
from whatwhere.studies.evidence import evidence_of
from whatwhere.studies.judging import judge, write_claims
from whatwhere.training.config import TrainingConfig
from whatwhere.work.executor import Executor, Job, JobProgress, Observer, ThisProcess, run_jobs
from whatwhere.work.plan import Plan, jobs_of
from whatwhere.work.processes import WorkerProcesses
from whatwhere.work.reporting import regressions
from whatwhere.work.timing import Timing, timings, training_seconds

KIND = "reproduction"


@dataclass(frozen=True)
class Done:
    """The result of a reproduction."""

    directory: Path
    timings: list[Timing]
    judged: list[Judged] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Claims that held in the recorded baseline and no longer do, in words."""
    page: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The content of ``--json``."""
        return {
            "directory": str(self.directory),
            "page": None if self.page is None else str(self.page),
            "timings": [asdict(row) for row in self.timings],
            "figures": sorted(str(path) for path in (self.directory / "figures").glob("*.pdf")),
            "claims": [one.to_dict() for one in self.judged],
            "no_longer": self.lost,
        }


class Reproduction:
    """A plan and its directory, which need not exist yet."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan, self.directory = plan, directory
        self.manifest = Manifest(directory)
        measuring = jobs_of(plan, directory)
        self.jobs = [*measuring, *_drawing_jobs(measuring, directory)]

    def estimate(self, jobs: Sequence[Job], workers: int) -> float:
        """Estimated seconds of the trainings among some jobs."""
        configs = [TrainingConfig.from_dict(job.arguments["config"]) for job in jobs if job.group == "train"]
        return training_seconds(configs, workers)

    def run(self, jobs: Sequence[Job], workers: int, observer: Observer, progress: JobProgress) -> Done:
        """Runs the jobs that are not up to date, then judges the claims and writes the page.

        One worker means this process. A directory that holds another reproduction is an error.
        """
        with hold(self.directory, KIND):
            self.manifest.begin(KIND, self.plan.decisive(), {}, held=True)
            self.manifest.pause(0.0)  # other plans are refused from now on
            began = time.perf_counter()
            executor: Executor = (
                ThisProcess(progress) if workers == 1 else WorkerProcesses(workers, self.plan.threads, progress)
            )
            try:
                run_jobs(jobs, executor, observer)
            finally:
                executor.stop()
                self.manifest.pause(time.perf_counter() - began)
            return self._finish(whole=len(jobs) == len(self.jobs))

    def _finish(self, *, whole: bool) -> Done:
        """Writes the times and, if all jobs were requested, the claims and the page."""
        rows = timings(self.jobs, self.manifest.record.seconds)
        self.manifest.put("timing.csv", write_csv(to_frame(Timing, rows)))
        if not whole:
            return Done(self.directory, rows)
        from whatwhere.page import write_page

        judged = judge(evidence_of(self.directory))
        write_claims(self.directory, judged)
        page = write_page(self.directory)
        self.manifest.finish(0.0)
        return Done(self.directory, rows, judged, regressions(judged, self.plan.baseline), page)


def _drawing_jobs(before: Sequence[Job], directory: Path) -> list[Job]:
    """The figures of each model as soon as its studies are done, then those that show several models."""
    labels = {job.name.partition("-")[2]: job for job in before if job.group in ("train", "zoo")}
    made = [
        Job(
            f"figures-{label}" if label else "figures", "figures drawn", "whatwhere.work.reporting:draw_places",
            {"directory": str(directory), "labels": [label]},
            tuple(job.name for job in before if job.name.partition("-")[2] == label),
        )
        for label in ("", *labels)
        if label == "" or "-" not in label.removeprefix("letter-control")
    ]  # fmt: skip
    together = Job(
        "figures-together", "figures of all models drawn", "whatwhere.work.reporting:draw_together",
        {"directory": str(directory)}, tuple(job.name for job in before),
    )  # fmt: skip
    return [*made, together]
