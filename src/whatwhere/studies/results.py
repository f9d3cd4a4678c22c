"""The results of one study on one subject: tables in memory, or in a directory with a manifest."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import Record, parse
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import from_frame, read_csv, to_frame, write_csv
from whatwhere.studies.study import Study, resolve
from whatwhere.tasks import task_from_dict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas


@contextmanager
def consistent_tables(results: Iterable[Results]) -> Iterator[None]:
    """Turns exceptions while tables from disk are drawn or judged into an error about inconsistent tables.

    Each table may be undamaged and still lack rows, steps or names that others or the program need. For tables that
    were measured just now, an exception is a bug and keeps its traceback.
    """
    try:
        yield
    except WhatwhereError:
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        read = [one for one in results if one.was_read]
        of_tables = not isinstance(error, RuntimeError) or isinstance(error.__cause__, StopIteration)  # in a generator
        if not (read and of_tables):
            raise
        where = ", ".join(str(one.directory) for one in read)
        raise WhatwhereError(
            f"expected tables as this version of whatwhere measures them, got others in {where} "
            f"({type(error).__name__}: {error!s:.100}): rows or values were edited, or another version made them. "
            "Measure again with --force, or remove the directory."
        ) from error


class Results(Mapping[str, Any]):  # of DataFrames; their name would have to be importable at run time
    """The tables of one study, by name: ``results["accuracy"]`` is a DataFrame.

    Args:
        study: the study.
        settings: its settings.
        name: the name of the subject.
        directory: the directory of the tables; None keeps them in memory.
        inputs: fingerprints of the inputs, for results in memory; those on disk have a manifest.
    """

    def __init__(
        self,
        study: Study,
        settings: Any,
        name: str = "",
        directory: Path | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        self.study, self.settings, self.name = study, settings, name
        self._inputs = inputs or {}
        self.manifest = None if directory is None else Manifest(directory)
        self._frames: dict[str, pd.DataFrame] = {}
        self.kept = False
        """Whether they were up to date, so that nothing was measured."""
        self.was_read = False
        """Whether a table came from the disk."""

    @classmethod
    def open(cls, study: Study, directory: Path, name: str = "") -> Results:
        """Results that are on disk.

        Raises:
            WhatwhereError: there are none, they belong to another study, or the manifest is damaged.
        """
        record = Manifest(directory).record
        if record.kind != study.name:
            raise WhatwhereError(f"{directory}: expected results of {study.name!r}, got those of {record.kind!r}.")
        settings = parse(study.settings_type(), record.settings, f"the settings of {directory}")
        if "task" in record.inputs:
            task_from_dict(record.inputs["task"])
        return cls(study, settings, name or str(directory), directory)

    @property
    def directory(self) -> Path:
        """The directory of the tables."""
        assert self.manifest is not None, "results in memory have no directory"
        return self.manifest.directory

    @property
    def short_name(self) -> str:
        """The last part of the name, if it is a path."""
        return Path(self.name).name

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Fingerprints of what they were made from, and the task."""
        return self._inputs if self.manifest is None else self.manifest.record.inputs

    @property
    def task(self) -> str:
        """The name of the task that the model was trained on; ``number`` if nothing says so."""
        return str(self.inputs.get("task", {}).get("name", "number"))

    def has(self, table: str) -> bool:
        """Whether a table exists."""
        return table in self._frames or (self.manifest is not None and self.manifest.has(f"{table}.csv"))

    def write(self, table: str, rows: Sequence[Record]) -> None:
        """Writes or replaces a table."""
        frame = to_frame(self._kind(table), rows)
        if self.manifest is not None:
            self.manifest.put(f"{table}.csv", write_csv(frame))
        self._frames[table] = frame

    def append(self, table: str, rows: Sequence[Record]) -> None:
        """Writes a table with some more rows."""
        kind: type[Record] = self._kind(table)
        self.write(table, [*self.rows(table, kind), *rows] if self.has(table) else list(rows))

    def frame(self, table: str) -> pd.DataFrame:
        """A table as a DataFrame.

        Raises:
            WhatwhereError: there is no such table, or it is damaged.
        """
        kind = self._kind(table)
        if table not in self._frames:
            if not self.has(table) or self.manifest is None:
                raise WhatwhereError(
                    f"{self.name}: the table {table!r} is not there; measure it with: {self._command(table)}"
                )
            what = f"the table {table!r}"
            content = self.manifest.get(f"{table}.csv", what)
            self._frames[table] = read_csv(kind, content, f"{what} at {self.directory / table}.csv")
            self.was_read = True
        return self._frames[table]

    def rows(self, table: str, kind: type[Record]) -> list[Record]:
        """A table as rows of its type; empty if it does not exist yet."""
        assert self._kind(table) is kind, f"{table} holds {self._kind(table).__name__}"
        return from_frame(kind, self.frame(table)) if self.has(table) else []

    def _kind(self, table: str) -> type[Any]:
        if table not in self.study.tables:
            raise WhatwhereError(
                f"study {self.study.name!r}: expected a table of {', '.join(self.study.tables)}, got {table!r}."
            )
        return self.study.row_type(table)

    def _command(self, table: str) -> str:
        subject = f" {self.name}" if self.study.subject.argument else ""
        setting = self.study.on_request.get(table, "").replace("_", "-")
        return f"whatwhere {self.study.name}{subject}{f' --{setting}' if setting else ''}"

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All existing tables."""
        return dict(self)

    @property
    def summary(self) -> str:
        """What the command prints, 100 columns wide."""
        return self.printed(100)

    def printed(self, width: int) -> str:
        """What the command prints in a terminal of this width."""
        from rich.console import Console

        console = Console(width=width, highlight=False, record=True, file=io.StringIO())
        for block in self.blocks():
            console.print(block)
        return console.export_text()

    def blocks(self) -> list[Any]:
        """What the command prints, for rich."""
        with consistent_tables([self]):
            return list(resolve(self.study.summary)(self))

    def figures(self) -> dict[str, Canvas]:
        """The figures of these results, by name, as matplotlib figures."""
        with consistent_tables([self]):
            return {
                figure.name: resolve(figure.draw)({self.name: self})
                for figure in self.study.figures
                if figure.shows != "seeds" and all(self.has(name) for name in figure.tables)
            }

    @property
    def claims(self) -> pd.DataFrame:
        """The verdicts that follow from these results alone."""
        from whatwhere.studies.evidence import Evidence
        from whatwhere.studies.judging import judge, verdicts

        return verdicts(judge([Evidence.of(self)], self.study.all_claims()))

    def __getitem__(self, table: str) -> pd.DataFrame:
        return self.frame(table)

    def __iter__(self) -> Iterator[str]:
        return (table for table in self.study.tables if self.has(table))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{table} ({len(self[table])} rows)" for table in self)
        return f"Results of {self.study.name} on {self.name}: {sizes or 'no tables yet'}"

    def _repr_html_(self) -> str:
        """In a notebook: what the command prints, and the available tables."""
        more = escape(", ".join(f"[{table!r}]" for table in self))
        return f"<pre>{escape(self.summary)}</pre><p>DataFrames: {more}; also .figures(), .claims</p>"
