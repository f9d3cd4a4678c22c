"""A model's answers where letters and distances disagree, and its accuracy at longer lengths where they agree.

Longer inputs have extra target tokens before the window: no distance changes, and no pointer has the letter of an extra
token. So both answers of a conflict input stay the same at any length. Tables are written after each length; an
interrupted study continues from them.
"""

from __future__ import annotations

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import score
from whatwhere.heads.summary import estimates
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import shares_by_hop
from whatwhere.studies.length.tables import from_trained
from whatwhere.studies.preference.tables import READINGS, Accuracy, Answer, HeadScore, PreferenceSettings
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.both import WHERE, BothTask
from whatwhere.trace.traceable import trace

MOST_SCORED = 256
"""Inputs on which heads are scored."""


def measure(model: GPTJ, settings: PreferenceSettings, results: Results, progress: Progress) -> None:
    """Measures every length that the results do not have yet, and the heads, of a model trained on the task both.

    Its own length comes first, and shorter ones are left out.

    Raises:
        WhatwhereError: the model was trained on another task.
    """
    task = model.task
    if not isinstance(task, BothTask):
        name = "no task" if task is None else f"the {task.name} task"
        raise WhatwhereError(
            f"expected a model of the both task, got one of {name}. Train one with: whatwhere train both --out RUN"
        )
    if not results.has("heads"):
        progress("heads", 0, 1)
        results.write("heads", _heads(model, task, settings))
    known = {row.length for row in results.rows("accuracy", Accuracy)}
    missing = [length for length in from_trained(task.length, settings.lengths) if length not in known]
    total, done = sum(settings.sequences(n) * n for n in missing), 0
    for length in missing:
        progress(f"length {length}", done, total)
        answers = [row for row in results.rows("answers", Answer) if row.length != length]  # of an interrupted session
        results.write("answers", answers + _answers(model, task, settings, length))
        results.append("accuracy", _accuracy(model, task, settings, length))
        done += settings.sequences(length) * length
    progress("lengths measured", done, total)


def _accuracy(model: GPTJ, task: BothTask, settings: PreferenceSettings, length: int) -> list[Accuracy]:
    batch = task.sample(settings.sequences(length), seed=settings.seed, extra_target=length - task.length)
    right = model.predict(batch.tokens) == batch.answers
    return [Accuracy(length, hop, share) for hop, share in shares_by_hop(right, batch.hops)]


def _answers(model: GPTJ, task: BothTask, settings: PreferenceSettings, length: int) -> list[Answer]:
    """The readings of the answers to conflict inputs of one length."""
    rows = []
    for where in WHERE:
        extra = length - task.length
        inputs = task.conflicts(settings.sequences(length), None, settings.seed, extra, where)
        found = model.predict(inputs.batch.tokens)
        symbolic, positional = found == inputs.batch.answers, found == inputs.positional
        for reading, given in zip(READINGS, (symbolic, positional, ~symbolic & ~positional), strict=True):
            shares = shares_by_hop(given, inputs.batch.hops)
            rows += [Answer(where, length, hop, reading, share) for hop, share in shares]
    return rows


def _heads(model: GPTJ, task: BothTask, settings: PreferenceSettings) -> list[HeadScore]:
    batch = task.sample(min(settings.inputs, MOST_SCORED), seed=settings.seed)
    traced = trace(model, batch.tokens, queries=range(task.target, task.length))
    by_layer = zip(*estimates(score(traced, reading="path", paths=batch.paths), settings.seed), strict=True)
    return [
        HeadScore(layer, head, *both)
        for layer, heads in enumerate(by_layer)
        for head, both in enumerate(zip(*heads, strict=True))
    ]
