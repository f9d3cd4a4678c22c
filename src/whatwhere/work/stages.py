"""Work in stages, each skipped when its results are there and its inputs are unchanged.

Of each stage that was begun ``DIR/stages/NAME.json`` records a fingerprint of its inputs (its settings and the results
of the stages it needs), and once it is done, one of its results. So a stage runs again if its settings, anything before
it or its own results changed, and not otherwise; an interrupted one goes on, as far as its own work can.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.records import from_json
from whatwhere.store.storage import read_json, remove_file, write_json
from whatwhere.work.stage import Alone, Crew, Observer, Record, Stage


class Work:
    """Stages in the order in which they run, each after all that it needs, and the directory they fill.

    Args:
        stages: the stages.
        directory: where everything goes; it need not exist yet.
    """

    def __init__(self, stages: Sequence[Stage], directory: Path) -> None:
        self.stages = {stage.name: stage for stage in stages}
        self.directory = directory

    def choose(self, names: Collection[str]) -> list[Stage]:
        """The stages of these names or groups, all if there are none, in order.

        Raises:
            WhatwhereError: there is no such stage.
        """
        known = {name for stage in self.stages.values() for name in (stage.name, stage.group)}
        for name in names:
            if name not in known:
                raise WhatwhereError(
                    f"a stage ({', '.join(self.stages)}) or a group of them was expected, and {name!r} arrived."
                )
        return [stage for stage in self.stages.values() if not names or {stage.name, stage.group} & set(names)]

    def run(
        self,
        chosen: Sequence[Stage],
        observer: Observer = lambda _stage, _event: None,
        crew: Crew | None = None,
    ) -> None:
        """Runs what is not done yet; whatever ends it early, the same call goes on.

        Args:
            chosen: what to run, in order.
            observer: told when a stage is begun, done, or kept as it is.
            crew: those who do it; by default one after the other in this process.

        Raises:
            WhatwhereError: a needed stage is not done and not among the chosen, or the work itself cannot be done.
        """
        for stage in self.stages.values():
            stage.check(self.directory)
        crew = crew or Alone(self.directory)
        waiting = list(chosen)
        running: dict[str, float] = {}
        try:
            while waiting or running:
                self._begin_what_can(waiting, running, crew, observer)
                if running:
                    name = self._wait(crew)
                    self._end(name, running.pop(name), done=True)
                    observer(self.stages[name], "done")
        finally:  # time counts also when it was interrupted
            for name, began in running.items():
                self._end(name, began, done=False)

    def _begin_what_can(self, waiting: list[Stage], running: dict[str, float], crew: Crew, observer: Observer) -> None:
        """Begins stages that wait for nothing, while the crew has hands free; those that are done only pass by."""
        for stage in list(waiting):
            if len(running) == crew.size:
                return
            if set(stage.needs) & ({other.name for other in waiting} | set(running)):
                continue
            inputs, record = self._inputs(stage), self.record(stage)
            waiting.remove(stage)
            if record is not None and record.inputs == inputs and self._whole(stage, record):
                observer(stage, "kept")
                continue
            observer(stage, "begun")
            self._prepare(stage, record, inputs)
            running[stage.name] = time.perf_counter()
            crew.begin(stage)

    def _wait(self, crew: Crew) -> str:
        """The next stage that is done; the time until then counts, whatever ends it."""
        since = time.perf_counter()
        try:
            return crew.wait()
        finally:
            passed = self.elapsed + time.perf_counter() - since
            if self._elapsed_path.parent.is_dir():  # a directory that was removed meanwhile does not come back
                write_json(self._elapsed_path, {"seconds": passed})

    @property
    def elapsed(self) -> float:
        """Seconds in which stages were at work here, over all sittings; those side by side count once."""
        path = self._elapsed_path
        found = read_json(path, "the time that passed").get("seconds") if path.is_file() else 0.0
        if not isinstance(found, int | float):
            raise WhatwhereError(f"{path} should tell seconds, and {found!r:.80} stands there; remove it.")
        return float(found)

    @property
    def _elapsed_path(self) -> Path:
        return self.directory / "stages" / "elapsed.json"

    def record(self, stage: Stage) -> Record | None:
        """What is known of a stage, if it was begun here.

        Raises:
            WhatwhereError: the record is damaged.
        """
        path = self._record_path(stage)
        if not path.is_file():
            return None
        record = from_json(Record, read_json(path, "the record of a stage"), f"the record of a stage at {path}")
        return record if record.stage == stage.name else None  # that of another stage says nothing

    def _prepare(self, stage: Stage, record: Record | None, inputs: str) -> None:
        """Clears results that other inputs made or that were changed, and records the beginning."""
        goes_on = record is not None and record.inputs == inputs and record.results is None
        if record is not None and not goes_on and not stage.costly:
            for path in self._files(stage):
                remove_file(path)
        spent = record.seconds if record is not None and (goes_on or stage.costly) else 0.0
        self._write(Record(stage.name, inputs, seconds=spent), stage)

    def _end(self, name: str, began: float, *, done: bool) -> None:
        """Records what a stage left and how long it took, done or not."""
        stage = self.stages[name]
        record = self.record(stage)
        if record is None:
            if done:
                raise WhatwhereError(f"{self.directory} was removed while the stage {name} was at work there.")
            return  # what ended it is told already
        size = sum(path.stat().st_size for path in self._files(stage))
        spent = record.seconds + time.perf_counter() - began
        results = self._results(stage) if done else None
        self._write(replace(record, results=results, seconds=spent, bytes=size), stage)

    def _inputs(self, stage: Stage) -> str:
        """A fingerprint of what decides a stage's results."""
        needed = {}
        for name in stage.needs:
            record = self.record(self.stages[name])
            if record is None or not self._whole(self.stages[name], record):
                raise WhatwhereError(
                    f"the stage {stage.name} needs {name}, whose results are not all in {self.directory}. "
                    "Leave --only out, or name it too."
                )
            needed[name] = record.results
        return _digest([json.dumps([stage.name, stage.settings, needed], sort_keys=True).encode()])

    def _whole(self, stage: Stage, record: Record) -> bool:
        """Whether the results are there as they were left."""
        return record.results is not None and record.results == self._results(stage)

    def _results(self, stage: Stage) -> str:
        return _digest(
            part
            for path in self._files(stage)
            for part in (path.relative_to(self.directory).as_posix().encode(), _content(path))
        )

    def _files(self, stage: Stage) -> list[Path]:
        return sorted({path for pattern in stage.leaves for path in self.directory.glob(pattern) if path.is_file()})

    def _record_path(self, stage: Stage) -> Path:
        return self.directory / "stages" / f"{stage.name}.json"

    def _write(self, record: Record, stage: Stage) -> None:
        write_json(self._record_path(stage), asdict(record))


def _content(path: Path) -> bytes:
    """A file's content; of safetensors the header and the size, as ours carry a checksum of all else in the header."""
    if path.suffix != ".safetensors":
        return path.read_bytes()
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = opened.read(min(length, 1 << 20))
    with suppress(ValueError):  # damaged: then its bytes tell that it changed
        header = json.dumps(json.loads(header), sort_keys=True).encode()  # its entries come in any order
    return header + str(path.stat().st_size).encode()


def _digest(parts: Iterator[bytes] | Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
