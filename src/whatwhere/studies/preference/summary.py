"""The terminal summary of the study ``preference``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.preference.tables import (
    READINGS,
    SYMBOLIC,
    Accuracy,
    Answer,
    HeadScore,
    means_by_length,
    share_of,
)
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, table
from whatwhere.tasks.both import EVERY, LAST, WHERE


def summary(results: Results) -> Sequence[RenderableType]:
    """Which cue the model follows, how far it carries, and its heads."""
    answers, accuracy = results.rows("answers", Answer), results.rows("accuracy", Accuracy)
    trained = min(row.length for row in accuracy)
    note = (
        f"Letters and distances lead to different answers. {LAST}: they part at the last hop; {EVERY}: at the first, "
        "and share nothing but the query. Mean over hop classes: each class has the same weight."
    )
    return [
        f"Letters or distances: {escape(results.name)}",
        f"\nAnswers to inputs of {trained} tokens whose cues disagree (95 %)",
        _conflicts(answers, trained),
        remark(note),
        "\nLonger inputs: right answers where the cues agree, and readings where they disagree on every hop",
        _lengths(accuracy, answers),
        f"\nHeads at {trained} tokens, over the pointers of the path",
        _heads(results.rows("heads", HeadScore)),
    ]


def outcomes(results: Results) -> Mapping[str, float]:
    """Symbolic answers at the training length and at the longest, and accuracy at each length beyond."""
    answers = results.rows("answers", Answer)
    means = means_by_length(results.rows("accuracy", Accuracy))
    trained, longest = min(means), max(means)
    return {
        "symbolic": share_of(answers, SYMBOLIC, trained, EVERY).value,
        "symbolic_last_hop": share_of(answers, SYMBOLIC, trained, LAST).value,
        f"symbolic_{longest}": share_of(answers, SYMBOLIC, longest, EVERY).value,
        **{f"accuracy_{length}": mean.value for length, mean in means.items() if length > trained},
    }


def _conflicts(rows: Sequence[Answer], trained: int) -> Table:
    made = table("disagree", "hops", *READINGS, "inputs", left=("disagree",))
    for where in WHERE:
        for hop in sorted({row.hop for row in rows if row.hop is not None}):
            shares = [share_of(rows, reading, trained, where, hop) for reading in READINGS]
            cells = (f"  {share.value:.2f} {ends(share)}" for share in shares)
            made.add_row(f"{where} hop", str(hop), *cells, str(shares[0].n))
    return made


def _lengths(accuracy: Sequence[Accuracy], answers: Sequence[Answer]) -> Table:
    made = table("tokens", "right", "95 %", *READINGS, "inputs")
    for length, found in means_by_length(accuracy).items():
        cells = (f"{share_of(answers, reading, length, EVERY).value:.2f}" for reading in READINGS)
        made.add_row(str(length), f"{found.value:.2f}", ends(found), *cells, str(found.n))
    return made


def _heads(rows: Sequence[HeadScore]) -> Table:
    cells = ((f"{row.layer}.{row.head}", f"{row.positional.value:.2f}", f"{row.symbolic.value:.2f}") for row in rows)
    return table("head", "positional", "symbolic", rows=cells, left=("head",))
