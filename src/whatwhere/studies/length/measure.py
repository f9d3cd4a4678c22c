"""Accuracy of a trained model against length, and what its margins predict (Section 3.6, Figure 5B).

Longer inputs have extra target tokens before the window, so that no distance on a path changes. Tables are written
after each length; an interrupted study continues from them.

Changes at inference, without training, have length curves too. Closing planes shows which frequencies matter. The next
three change positions: another base, interpolation to the trained range, and none at all (NoPE). Sharpening multiplies
logits by ``log n / log n_0``. It compensates the dispersion of softmax over more keys (Section 3.6) and keeps the sign
of every margin, so it distinguishes the two causes of failure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Int

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import answers, shares_by_hop
from whatwhere.studies.geometry.gating import bands
from whatwhere.studies.length import tables
from whatwhere.studies.length.breaks import break_rows, finer_lengths
from whatwhere.studies.length.hop_strength import HopStrength, chain_rows, hop_rows, measure_hops
from whatwhere.studies.length.prediction import predict_hops
from whatwhere.studies.length.tables import (
    AS_TRAINED,
    MEASURED,
    PREDICTED,
    Accuracy,
    Break,
    Chain,
    Hop,
    LengthSettings,
)
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.task import Task
from whatwhere.trace.interventions import ClosePlanes, Intervention, ScaleAngles, ScaleLogits

MOST_PREDICTED = 256
"""Inputs from which longer lengths are predicted."""
BASE_FACTOR = 10.0


def measure(model: GPTJ, settings: LengthSettings, results: Results, progress: Progress) -> None:
    """Measures every length that the results do not have yet.

    The length that the model was trained on comes first, and shorter ones are left out. Where half of the answers begin
    to fail, by measurement or by prediction, further lengths follow.
    """
    task = model.task
    assert task is not None, "the subject is a model with a task"
    lengths = tables.from_trained(task.length, settings.lengths)
    parts = [(AS_TRAINED, n) for n in lengths]
    for n in tables.from_trained(task.length, settings.varied_lengths) if settings.varied_lengths else ():
        parts += [(name, n) for name in length_variations(model, task.length, n)]
    _measure_parts(model, task, parts, results, progress)
    between = finer_lengths(_break_rows(results, lengths), lengths, settings.finer)
    if between:
        _measure_parts(model, task, [(AS_TRAINED, n) for n in between], results, progress)
    results.write("breaks", _break_rows(results, [*lengths, *between]))


def _break_rows(results: Results, lengths: Collection[int]) -> list[Break]:
    accuracy = [r for r in results.rows("accuracy", Accuracy) if r.variation == AS_TRAINED and r.length in lengths]
    hops = [row for row in results.rows("hops", Hop) if row.length in lengths]
    return break_rows(accuracy, hops, [row for row in results.rows("chain", Chain) if row.length in lengths])


def _measure_parts(
    model: GPTJ, task: Task, parts: Sequence[tuple[str, int]], results: Results, progress: Progress
) -> None:
    """Adds the parts, each a variation at a length, that the tables lack."""
    settings = results.settings
    accuracy = results.rows("accuracy", Accuracy)
    known = {(row.variation, row.length) for row in accuracy}
    missing = [part for part in parts if part not in known]
    total = sum(settings.sequences(n, varied=name != AS_TRAINED) * n for name, n in missing)
    done = 0
    for name, n in missing:
        progress(f"{name}, length {n}", done, total)
        count = settings.sequences(n, varied=name != AS_TRAINED)
        batch = task.sample(count, seed=settings.seed, extra_target=n - task.length)
        if name == AS_TRAINED:
            strength = measure_hops(model, task, batch)
            right = strength.right
            _write_hops(results, model, task, strength, batch.hops, n, [n for name, n in parts if name == AS_TRAINED])
        else:
            change = length_variations(model, task.length, n)[name]
            right = answers(model, batch.tokens, [change]) == batch.answers
        accuracy += [Accuracy(name, n, hop, share) for hop, share in shares_by_hop(right, batch.hops)]
        results.write("accuracy", accuracy)
        done += count * n
    progress("lengths measured", done, total)


def _write_hops(
    results: Results, model: GPTJ, task: Task, strength: HopStrength, hops: Int[np.ndarray, "n"], length: int,
    lengths: Sequence[int],
) -> None:  # fmt: skip
    """Adds the hops of one length to the tables; where predictions are missing, those of all these lengths, too.

    A length counts as measured once its accuracy is written, so incomplete rows of it are replaced.
    """
    first, seed, here = length == task.length, results.settings.seed, (MEASURED, length)
    table = [row for row in results.rows("hops", Hop) if not first and (row.source, row.length) != here]
    chain = [row for row in results.rows("chain", Chain) if not first and (row.source, row.length) != here]
    table += hop_rows(MEASURED, length, strength, seed)
    working = tables.working_cells(table, task.length)
    chain += chain_rows(MEASURED, length, strength, hops, working)
    if working and (PREDICTED, length) not in {(row.source, row.length) for row in chain}:
        batch = task.sample(min(results.settings.inputs, MOST_PREDICTED), seed=seed)
        for n, predicted in predict_hops(model, task, batch, lengths, working, seed).items():
            table += hop_rows(PREDICTED, n, predicted, seed)
            chain += chain_rows(PREDICTED, n, predicted, batch.hops, working)
    results.write("hops", table)
    results.write("chain", chain)


def length_variations(model: GPTJ, trained: int, length: int) -> dict[str, Intervention]:
    """The changes by name, for inputs of one length, of a model that was trained on inputs of another."""
    closed = bands(model, trained)
    return {
        **{f"{band} planes closed": ClosePlanes(closed[band]) for band in ("fast", "slow") if band in closed},
        f"rotary base x {BASE_FACTOR:g}": larger_base(BASE_FACTOR, len(model.rotation.frequencies)),
        "positions interpolated": ScaleAngles(trained / length),
        "no rotation": ScaleAngles(0.0),
        "logits sharpened": ScaleLogits(math.log(length) / math.log(trained)),
    }


def larger_base(factor: float, planes: int) -> ScaleAngles:
    """A rotary base that is larger by a factor: g_k = base^(-(k - 1) / planes), so plane k slows by its power."""
    return ScaleAngles(tuple(factor ** (-plane / planes) for plane in range(planes)))
