"""The paper's two criteria for a model (Appendix "Generalization on LLMs"), applied to what was measured.

A model must be able to do the base task, or its generalisation says nothing: letter accuracy of 0.85 at size 16. And
it must answer with a single token at longer sizes, not with a chain of thought. The paper gives no threshold for the
second; here 95 % of the replies at sizes from 100 on must be one word, without reasoning before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import nan

from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Logged
from whatwhere.studies.chat.plan import Cell, Plan

BASE_SIZE = 16
BASE_ACCURACY = 0.85
LONG = 100
SINGLE = 0.95


@dataclass(frozen=True)
class ScreeningRow:
    """Whether a model passes, and why not."""

    model: str
    status: str
    """``passed``, ``screened out`` or ``not measured``."""
    why: str
    letter: float
    """Strict letter accuracy at :data:`BASE_SIZE`; NaN where not measured."""
    letter_samples: int
    single_token: float
    """Share of one-word replies at sizes from :data:`LONG` on."""
    reasoned: float
    """Share of replies, at these sizes, that came after reasoning."""
    long_samples: int


def screen(logs: Sequence[Logged]) -> list[ScreeningRow]:
    """Applies both criteria to every model; ``logs`` come sorted by model, as :func:`read_logs` gives them."""
    return [_screen(model, list(group)) for model, group in groupby(logs, lambda logged: logged.model)]


def screening_cells(plan: Plan) -> list[Cell]:
    """The cells of a plan that decide the screening: letters at the base size, and the shortest long size, one run."""
    long = [size for size in plan.sizes if size >= LONG][:1]
    first = min(plan.runs)
    return [
        cell
        for cell in plan.cells
        if cell.run == first
        and ((cell.task == "one_hop_letter" and cell.size == BASE_SIZE) or cell.size in long)
    ]  # fmt: skip


def _screen(model: str, logs: list[Logged]) -> ScreeningRow:
    base = [a for log in logs if (log.cell.task, log.cell.size) == ("one_hop_letter", BASE_SIZE) for a in log.answers]
    long = [answer for log in logs if log.cell.size >= LONG for answer in log.answers]
    letter = _share([answer.strict is Verdict.RIGHT for answer in base])
    single = _share([answer.single_token for answer in long])
    reasoned = _share([answer.reasoned for answer in long])
    why = []
    if letter < BASE_ACCURACY:
        why.append(f"letter accuracy {letter:.2f} at size {BASE_SIZE}, below {BASE_ACCURACY}")
    if single < SINGLE:
        why.append(f"one word in {single:.0%} of the replies at sizes from {LONG} on, below {SINGLE:.0%}")
    if reasoned > 1 - SINGLE:
        why.append(f"reasoning before {reasoned:.0%} of the replies at sizes from {LONG} on")
    missing = [
        name for name, found in ((f"letters at size {BASE_SIZE}", base), (f"sizes from {LONG} on", long)) if not found
    ]
    status = "screened out" if why else "not measured" if missing else "passed"
    if not why and missing:
        why.append(f"no replies at {' and '.join(missing)}")
    return ScreeningRow(model, status, "; ".join(why), letter, len(base), single, reasoned, len(long))


def _share(marks: Sequence[bool]) -> float:
    return sum(marks) / len(marks) if marks else nan
