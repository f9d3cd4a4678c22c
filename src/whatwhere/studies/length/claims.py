"""Longer inputs: Section 3.6, Figures 5A and 5B."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.length.tables import ACCURACY, AS_TRAINED, MASS, MEASURED, PREDICTED, Accuracy, Break
from whatwhere.studies.terminal import ends
from whatwhere.theory.discrepancy import index_printed_bound, retrieval_printed_bound
from whatwhere.theory.printed import INDEX_THETA, LETTERS, RETRIEVAL_THETA

LONGEST = 850
HALF = 0.5
CEILING = 0.95
"""Two models above this accuracy are not compared."""
FIGURE = 100
"""Figure 5A ends there, with an Index bound of 0.002."""


def accuracies(evidence: Evidence, model: str) -> dict[int, Estimate]:
    """Mean accuracy by length of a model as it was trained, from the training length on."""
    rows = [r for r in evidence.rows("length", model, "accuracy", Accuracy) if r.variation == AS_TRAINED]
    trained = min((row.length for row in rows), default=0)
    require_learned(model, [r.accuracy.value for r in rows if r.length == trained and r.hop is not None])
    return {row.length: row.accuracy for row in sorted(rows, key=lambda row: row.length) if row.hop is None}


def letter_beats_number(evidence: Evidence) -> Finding:
    """The smallest lead of the letter model over the number model, beyond the training length."""
    number, letter = accuracies(evidence, "number"), accuracies(evidence, "letter")
    longer = sorted(set(number) & set(letter))[1:]
    longer = [n for n in longer if min(letter[n].value, number[n].value) < CEILING]
    if not longer:
        raise NotTested(f"neither model falls below {CEILING} at a length that was measured for both.")
    n = min(longer, key=lambda at: letter[at].low - number[at].high)
    interval = letter[n].low - number[n].high, letter[n].high - number[n].low
    some = longer[:: max(1, len(longer) // 5)]
    listed = ", ".join(f"{at}: {letter[at].value:.2f} against {number[at].value:.2f}" for at in some)
    why = f"The least sure lead is at {n} tokens. Letter against number at {listed}."
    return Finding(letter[n].value - number[n].value, why, interval, min(letter[n].n, number[n].n))


def letter_to_850(evidence: Evidence) -> Finding:
    """The lowest accuracy of the letter model at any length up to 850."""
    rows = {n: row for n, row in accuracies(evidence, "letter").items() if n <= LONGEST}
    end = max(rows)
    if end < LONGEST:
        raise NotTested(f"the letter model was measured up to {end} tokens, not up to {LONGEST}.")
    worst = min(rows, key=lambda n: rows[n].value)
    at_end = f"{rows[end].value:.3f} ({ends(rows[end], '.3f', ' to ')}, {rows[end].n} inputs)"
    why = f"The lowest is at {worst} tokens; at {end} it is {at_end}."
    return Finding(rows[worst].value, why, rows[worst].interval, rows[worst].n)


def number_barely(evidence: Evidence) -> Finding:
    """The length at which the number model falls below one half."""
    row = _breaks(evidence).get((ACCURACY, MEASURED))
    if row is None or (row.longest < FIGURE and math.isnan(row.length.value)):
        raise NotTested(f"the number model was not measured up to {FIGURE} tokens.")
    length = row.length
    if math.isnan(length.value):
        return Finding(math.inf, f"Accuracy stays above {HALF} up to {row.longest} tokens.", None, length.n)
    low, high = _interval(length)
    end = f"beyond {row.longest}" if math.isinf(high) else f"{high:.0f}"
    why = f"Accuracy falls below {HALF} at {length.value:.0f} tokens ({low:.0f} to {end}), interpolated."
    return Finding(length.value, why, (low, high), length.n)


def _breaks(evidence: Evidence) -> dict[tuple[str, str], Break]:
    """Where half of the number model's inputs fail, over all hop classes, by quantity and source."""
    accuracies(evidence, "number")  # it has learned its task
    rows = evidence.rows("length", "number", "breaks", Break)
    return {(row.what, row.source): row for row in rows if (row.hop, row.threshold) == (None, HALF)}


def _interval(length: Estimate) -> tuple[float, float]:
    """Of a break; it has no end if accuracy may stay above at the longest inputs measured."""
    return length.low, math.inf if math.isnan(length.high) else length.high


def forecast(evidence: Evidence) -> Finding:
    """How far the break that inputs of the training length predict is from the measured one, in powers of two."""
    found, wanted = _breaks(evidence), ((ACCURACY, MEASURED), (f"chain {MASS}", PREDICTED))
    if not all(key in found for key in wanted):
        raise NotTested("the number model has no measured or no predicted break.")
    measured, predicted = (found[key].length for key in wanted)
    if math.isnan(measured.value) or math.isnan(predicted.value):
        raise NotTested("the number model does not break within the lengths measured, or is not predicted to.")
    lengths = (measured.value, *_interval(measured))
    off, most, least = (math.log2(predicted.value) - math.log2(length) for length in lengths)
    why = f"Half of the answers are wrong from {measured.value:.0f} tokens on; predicted: {predicted.value:.0f}."
    return Finding(abs(off), why, (max(0.0, least, -most), max(abs(least), abs(most))), measured.n)


def decay_in_order(evidence: Evidence) -> Finding:
    """Of the pairs of model and length that differ in accuracy, the share that the bound puts in the same order."""
    points = [(index_printed_bound(n, INDEX_THETA), row) for n, row in _in_figure(evidence, "number")]
    points += [(retrieval_printed_bound(n, RETRIEVAL_THETA, LETTERS), row) for n, row in _in_figure(evidence, "letter")]
    pairs = [(a, b) for a, b in combinations(points, 2) if a[1].low > b[1].high or b[1].low > a[1].high]
    if not pairs:
        raise NotTested(f"no two accuracies up to {FIGURE} tokens differ surely, so there is no decay to compare.")
    same = sum((a[0] > b[0]) == (a[1].value > b[1].value) for a, b in pairs)
    why = f"{same} of {len(pairs)} pairs whose accuracies surely differ; {len(points)} points up to {FIGURE} tokens."
    return Finding(same / len(pairs), why, None, min(row.n for _, row in points))


def _in_figure(evidence: Evidence, model: str) -> list[tuple[int, Estimate]]:
    return [(n, row) for n, row in accuracies(evidence, model).items() if n <= FIGURE]


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
