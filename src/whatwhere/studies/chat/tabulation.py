"""From logs to tables: accuracy per model, task and size, positional profiles, the paper's screening.

The screening requires that a model can do the base task (letter accuracy of 0.85 at size 16), and that it answers with
a single token at longer sizes, not with a chain of thought. The paper gives no threshold for the second; here 95 % of
the replies at sizes from 100 on must be one word, without reasoning before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby, pairwise
from math import nan
from statistics import fmean, stdev

from whatwhere.heads.estimate import Estimate, share
from whatwhere.store.tables import from_frame, read_csv
from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Logged
from whatwhere.studies.chat.one_hop import floors
from whatwhere.studies.chat.plan import BASE_SIZE, LONG
from whatwhere.studies.chat.tables import Cell, Profile, Quoted, Sample, Screening

BINS = 8
"""Ranges of distance in a positional profile, of equal width."""
BASE_ACCURACY = 0.85
SINGLE = 0.95


def quoted() -> list[Quoted]:
    """The paper's table of accuracies (Appendix "Generalization on LLMs"), as printed."""
    content = files("whatwhere.studies.chat").joinpath("published.csv").read_bytes()
    return from_frame(Quoted, read_csv(Quoted, content, "the paper's table"))


def cells(logs: Sequence[Logged]) -> list[Cell]:
    """One row for each model, task and size with replies; ``logs`` come sorted, as ``read_logs`` gives them."""
    rows = []
    asked = [log for log in logs if log.samples]
    for (model, task, size), group in groupby(asked, lambda log: (log.model, log.block.task, log.block.size)):
        runs = list(group)
        samples = [sample for run in runs for sample in run.samples]
        shares = [fmean(map(_is_right, run.samples)) for run in runs]
        tokens = [sample.output_tokens for sample in samples if sample.output_tokens is not None]
        rows.append(
            Cell(
                model, task, size, len(runs), sum(run.wanted for run in runs), _share(map(_is_right, samples)),
                stdev(shares) if len(shares) > 1 else nan,
                fmean(sample.lenient == Verdict.RIGHT for sample in samples),
                fmean(sample.strict == Verdict.NO_ANSWER for sample in samples),
                fmean(sample.reasoned for sample in samples), fmean(tokens) if tokens else nan, *floors(task, size),
            )
        )  # fmt: skip
    return rows


def profile(logs: Sequence[Logged]) -> list[Profile]:
    """Accuracy against the distance of the answer: flat for a model that finds contents, falling if it counts."""
    rows = []
    for (model, task, size), group in groupby(logs, lambda log: (log.model, log.block.task, log.block.size)):
        samples = [sample for run in group for sample in run.samples]
        edges = [round(size * i / min(BINS, size)) for i in range(min(BINS, size) + 1)]
        for near, far in pairwise(edges):
            here = [_is_right(sample) for sample in samples if near < sample.distance <= far]
            rows.append(Profile(model, task, size, near + 1, far, _share(here)))
    return rows


def screening(logs: Sequence[Logged]) -> list[Screening]:
    """Applies both criteria of the paper to every model that was asked for one hop."""
    asked = [log for log in logs if log.block.task.startswith("one_hop")]
    return [
        _screen(model, [sample for log in group for sample in log.samples])
        for model, group in groupby(asked, lambda log: log.model)
    ]


def _screen(model: str, samples: Sequence[Sample]) -> Screening:
    base = [sample for sample in samples if (sample.task, sample.size) == ("one_hop_letter", BASE_SIZE)]
    long = [sample for sample in samples if sample.size >= LONG]
    letter = _share(map(_is_right, base))
    single = _share(sample.single_token for sample in long)
    reasoned = fmean(sample.reasoned for sample in long) if long else nan
    why = []
    if letter.value < BASE_ACCURACY:
        why.append(f"letter accuracy {letter.value:.2f} at size {BASE_SIZE}, below {BASE_ACCURACY}")
    if single.value < SINGLE:
        why.append(f"one word in {single.value:.0%} of the replies at sizes from {LONG} on, below {SINGLE:.0%}")
    if reasoned > 1 - SINGLE:
        why.append(f"reasoning before {reasoned:.0%} of the replies at sizes from {LONG} on")
    status = "screened out" if why else "passed"
    missing = [] if base else [f"letters at size {BASE_SIZE}"]
    missing += [] if long else [f"sizes from {LONG} on"]
    if missing and not why:
        status, why = "not measured", [f"no replies at {' and '.join(missing)}"]
    return Screening(model, status, "; ".join(why), letter, single, reasoned)


def _is_right(sample: Sample) -> bool:
    return sample.strict == Verdict.RIGHT


def _share(marks: Iterable[bool]) -> Estimate:
    found = list(marks)
    return share(sum(found), len(found))
