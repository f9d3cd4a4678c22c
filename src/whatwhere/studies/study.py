"""The contract of a study: one question about a model, a run or the theory, as one object (DESIGN, section 1).

A study defines what it measures, its tables, figures and claims, and its part of the page. Everything else is derived
from it: the command with its options, ``--json``, the terminal summary, the job of the reproduction, the columns of a
sweep, the data of the page, the CSV of each figure, and ``whatwhere.study``.

A study has its own folder::

    length/
      __init__.py    the Study: light, it imports neither torch nor matplotlib
      tables.py      settings and row types
      measure.py     measure(subject, settings, results, progress)
      summary.py     what a person reads in the terminal
      figures.py     one function per figure
      claims.py      the paper's statements that these tables decide
      part.js        its part of the page

Code and row types are given by a reference, ``"whatwhere.studies.length.measure:measure"``, and imported when first
needed, so that ``whatwhere --help`` stays fast; functions and classes are allowed too. A study with a ``folder`` takes
what is not given from the files above, and its references may begin with a dot: ``".summary:outcomes"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whatwhere.errors import WhatwhereError
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.store.documents import parse, plain
from whatwhere.studies.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from rich.console import RenderableType

    from whatwhere.studies.claim import Claim
    from whatwhere.studies.results import Results

Progress = Callable[[str, int, int], None]
"""Callback for progress: what is being done, how much of it is done, and the total."""
Measure = Callable[[Any, Any, "Results", Progress], "bool | None"]
"""``(subject, settings, results, progress)``: measures the subject and writes tables to the results.

It continues from the tables that the results already have. It may return False if its subject still grows (a run in
training): then the results are not complete."""
Summary = Callable[["Results"], "Sequence[RenderableType]"]
Draw = Callable[["Mapping[str, Results]"], "Canvas"]
"""Draws one or several results, by name."""
Data = Callable[["Results"], Mapping[str, Any]]


def no_progress(what: str, done: int, total: int) -> None:
    """Shows nothing."""
    del what, done, total


def resolve(reference: Any) -> Any:
    """Imports a reference ``module:name``; anything else is returned unchanged."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def decisive(settings: Any) -> Any:
    """The settings of a study that go into the manifest: see :attr:`Study.settings`."""
    return settings.decisive() if hasattr(settings, "decisive") else settings


@dataclass(frozen=True)
class Figure:
    """One figure of a study, written as PDF and PNG with its data as CSV."""

    name: str
    """Of its files, such as ``figure-5b-length``."""
    draw: Draw | str
    tables: tuple[str, ...]
    """Its data; written next to it as ``NAME.csv``, or ``NAME-TABLE.csv`` if there are several."""
    shows: Literal["one", "models", "seeds"] = "one"
    """What is in it: one result, those of several models (both tasks), or those of several seeds."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a measurement besides time."""

    text: str
    """One line of text."""
    numbers: Mapping[str, float]
    """The same as numbers, for ``--json``."""
    paid: bool
    """Whether it may cost money: the command then asks for confirmation."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One question."""

    name: str
    """The command, the folder of its results, the key in sweeps and on the page."""
    question: str
    paper: str
    """Where the paper treats it."""
    panel: str = "Studies of your own"
    """Its heading in the list of commands."""
    subject: Subject
    """What kind of thing it measures."""
    source: str | None = None
    """The default subject of the command; None if it must be given."""
    settings: type | str
    """A frozen dataclass, or a reference to one: the options of the command, part of the manifest. Help texts are in
    ``Annotated``.

    If it has a method ``decisive()``, the manifest keeps only what that returns: results do not depend on the other
    settings (such as the number of parallel requests). If it has a method ``kept()`` that returns False, the command
    writes nothing to disk without ``--out``.
    """
    tables: Mapping[str, type | str]
    """A row type for each table, or a reference to one."""
    on_request: Mapping[str, str] = field(default_factory=dict)
    """The tables that are measured only on request, with the name of the setting that requests them."""
    folder: str = ""
    """The package of the study, for references that begin with a dot, and for ``measure``, ``summary``, ``claims`` and
    ``page`` where these are not given."""
    second: str = ""
    """The setting that the command takes as an argument after the subject, and not as an option: another model."""
    measure: Measure | str = ""
    summary: Summary | str = ""
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] | str = ()
    page: str | None = None
    """The script of its part of the page, as ``package:file``."""
    page_tables: tuple[str, ...] = ()
    """The tables that this script reads."""
    page_data: Data | str | None = None
    """What the page needs besides the tables."""
    outcomes: Callable[[Results], Mapping[str, float]] | str | None = None
    """The few numbers of a result that a sweep shows, one column each."""
    passes: Callable[[Results], bool] | str | None = None
    """Whether all checks passed; if not, the command ends with exit code 1. None if there are no checks."""
    cost: Callable[[Any, Any, Results], Cost] | str | None = None
    """``(subject, settings, results)`` to the remaining cost; the command then has ``--dry-run`` and ``--yes``."""
    sweep: Path | None = None
    """The specification of a sweep that comes with it: ``whatwhere sweep NAME`` runs it."""
    smoke: Mapping[str, Any] = field(default_factory=dict)
    """Settings with which it takes seconds, for a test of the whole reproduction."""
    short: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the short reproduction, where the defaults would take too long for it."""
    example: str = ""
    """A command line for the help."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise WhatwhereError(f"expected a study name of letters, digits and underscores, got {self.name!r}.")
        if self.folder:
            self._fill_in()
        if not self.measure or not self.summary:
            raise WhatwhereError(f"study {self.name!r}: expected measure and summary, got none; name a folder.")
        for figure in self.figures:
            unknown = set(figure.tables) - set(self.tables)
            if unknown:
                raise WhatwhereError(f"figure {figure.name!r} of study {self.name!r}: no table {sorted(unknown)[0]!r}.")
        if unknown := set(self.page_tables) - set(self.tables):
            raise WhatwhereError(f"the page of study {self.name!r}: no table {sorted(unknown)[0]!r}.")

    def _fill_in(self) -> None:
        """Takes what is not given from the files of the folder, and makes references absolute."""
        files = {path.name for path in Path(str(import_module(self.folder).__file__)).parent.iterdir()}
        usual = {"measure.py": ".measure:measure", "summary.py": ".summary:summary", "claims.py": ".claims:CLAIMS"}
        given = {Path(file).stem: reference for file, reference in usual.items() if file in files}
        given |= {"page": ":part.js"} if "part.js" in files else {}
        for name in ("settings", "measure", "summary", "claims", "page", "page_data", "outcomes", "passes", "cost"):
            object.__setattr__(self, name, self._whole(getattr(self, name) or given.get(name)) or getattr(self, name))
        whole = tuple(replace(figure, draw=self._whole(figure.draw)) for figure in self.figures)
        object.__setattr__(self, "figures", whole)
        object.__setattr__(self, "tables", {name: self._whole(kind) for name, kind in self.tables.items()})

    def _whole(self, reference: Any) -> Any:
        """Adds the folder to a reference that begins with a dot or a colon."""
        return f"{self.folder}{reference}" if isinstance(reference, str) and reference[:1] in (".", ":") else reference

    def settings_type(self) -> type:
        """The dataclass of its settings."""
        return resolve(self.settings)

    def row_type(self, table: str) -> type:
        """The dataclass of a table's rows."""
        return resolve(self.tables[table])

    def all_claims(self) -> tuple[Claim, ...]:
        """The claims that its tables decide."""
        return resolve(self.claims)

    def with_settings(self, **chosen: Any) -> Any:
        """The settings, with some of them chosen.

        Raises:
            WhatwhereError: there is no such setting, or a value is impossible.
        """
        known = [field.name for field in fields(self.settings_type())]
        unknown = sorted(set(chosen) - set(known))
        if unknown:
            raise WhatwhereError(
                f"study {self.name!r}: expected a setting of {', '.join(known) or 'none'}, got {unknown[0]!r}."
            )
        for name, value in chosen.items():
            parts = value if isinstance(value, list | tuple) else [value]
            if any(isinstance(one, float) and not math.isfinite(one) for one in parts):
                raise WhatwhereError(f"study {self.name!r}: expected a finite number for {name}, got {value!r:.80}.")
        made = parse(self.settings_type(), plain(chosen), f"the settings of {self.name}")
        seed = getattr(made, "seed", 0)
        if not 0 <= seed <= LARGEST_SEED:
            raise WhatwhereError(f"study {self.name!r}: expected a seed from 0 to {LARGEST_SEED:,}, got {seed:,}.")
        return made
