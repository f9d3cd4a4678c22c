"""A sweep: many runs or models, measured alike and collected in one table.

    DIR/items/NAME/       a run directory with its analyses
    DIR/items/NAME/result.json   what goes into the tables, once the item is done
    DIR/sweep.csv         one line per item: settings, status, accuracy, scores, what went wrong
    DIR/heads.csv         one line per head of each item: its scores at the end

An item is done when its ``result.json`` is there and was made by the same specification; it is then skipped. So a sweep
that was interrupted, or whose specification grew, goes on with what is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_json, write_csv, write_json
from whatwhere.training.run import Run
from whatwhere.work.sweep_item import prepared
from whatwhere.work.sweep_spec import Item
from whatwhere.work.sweep_workers import Workers

NEEDED = ("items/*/result.json", "items/*/config.json", "sweep.csv", "heads.csv")
"""What the sweep itself reads, of all that its items leave."""
Event = Literal["kept", "done", "again", "failed"]
Observer = Callable[[Item, Event, str], None]
"""Told of each item that was done before, ended, will be tried again or has failed, and why."""


class Sweep:
    """The items of a sweep and the directory that collects them.

    Args:
        items: what to do, each of another name.
        directory: where everything goes; it need not exist yet.
    """

    def __init__(self, items: Sequence[Item], directory: Path) -> None:
        self.items = list(items)
        self.directory = directory
        self.failures: dict[str, str] = {}
        self._known: dict[str, dict[str, Any]] = {}

    def check(self) -> None:
        """Refuses a directory with other runs under the same names, before anything is done.

        Raises:
            WhatwhereError: there is one.
        """
        for item in self.items:
            directory = self._directory(item)
            if item.config is not None and Run(directory).exists:
                prepared(directory, item)

    def waiting(self) -> list[Item]:
        """The items that are not done."""
        return [item for item in self.items if self.result(item) is None]

    def result(self, item: Item) -> dict[str, Any] | None:
        """The results of an item, if it is done as it is now specified; damaged ones are made anew."""
        path = self._directory(item) / "result.json"
        if item.name not in self._known and path.is_file():
            with suppress(WhatwhereError):
                content = read_json(path, "the result of an item")
                if content.get("item") == _fingerprint(item):
                    self._known[item.name] = content
        return self._known.get(item.name)

    def run(self, workers: Workers, retries: int, observer: Observer = lambda _item, _event, _why: None) -> None:
        """Does what is not done; an item that fails is tried again, then reported, and does not stop the others.

        Args:
            workers: who does it.
            retries: how often a failed item is tried again.
            observer: told of each item.
        """
        queue = deque((item, 1) for item in self.items)
        begun: dict[str, int] = {}
        while queue or begun:
            while queue and workers.room > 0:
                item, attempt = queue.popleft()
                if self.result(item) is not None:
                    observer(item, "kept", "")
                    continue
                workers.begin(item, attempt)
                begun[item.name] = attempt
            if not begun:
                break
            item, results, problem = workers.next()
            attempt = begun.pop(item.name)
            if results is not None:
                write_json(self._directory(item) / "result.json", {"item": _fingerprint(item), **results})
                observer(item, "done", "")
            elif attempt <= retries:
                queue.append((item, attempt + 1))
                observer(item, "again", problem)
            else:
                self.failures[item.name] = problem
                observer(item, "failed", problem)
            self.collect()
        self.collect()

    def collect(self) -> list[dict[str, Any]]:
        """Writes both tables from the results that are there, and returns the lines of ``sweep.csv``."""
        rows, heads = [], []
        for item in self.items:
            result = self.result(item)
            status = "failed" if item.name in self.failures else "waiting" if result is None else "done"
            found = {} if result is None else result
            problem = self.failures.get(item.name, "")
            rows.append(
                {"item": item.name, "status": status, **item.settings, **found.get("row", {}), "problem": problem}
            )
            heads += [{"item": item.name, **head} for head in found.get("heads", [])]
        _write_table(self.directory / "sweep.csv", rows)
        if heads:
            _write_table(self.directory / "heads.csv", heads)
        return rows

    def _directory(self, item: Item) -> Path:
        return self.directory / "items" / item.name


def _write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One tidy table; a column that a row lacks is an empty cell there."""
    columns = list(dict.fromkeys(key for row in rows for key in row if key != "problem"))
    columns += ["problem"] * any("problem" in row for row in rows)
    write_csv(path, columns, [[row.get(column, "") for column in columns] for row in rows])


def _fingerprint(item: Item) -> str:
    return hashlib.sha256(json.dumps(item.decisive(), sort_keys=True).encode()).hexdigest()[:16]
