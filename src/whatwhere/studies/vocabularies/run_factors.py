"""What distinguishes the runs of a sweep: their sizes, against those that are most frequent in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from whatwhere.errors import WhatwhereError
from whatwhere.studies.atlas.factors import condition_text, flat
from whatwhere.studies.vocabularies.tables import FACTORS, HOPS, LENGTH, SIZE, SPELLED
from whatwhere.tasks.task import Task
from whatwhere.training.config import TrainingConfig

Sizes = Mapping[str, int]
"""By factor."""
_SIZES = ("target", "context", "max_hops", "parts", "letters", "integers", "symbols", "vocab_size")
_NOT_COMPARED = (*_SIZES, "seed", "preset", "validation", "spacing")
"""Settings that may differ between the runs of a task: sizes, seeds, and when a run is evaluated."""


def sizes_of(task: Task) -> Sizes:
    """The factors of a task."""
    return {
        LENGTH: task.target + task.context + 1,
        HOPS: task.max_hops,
        SIZE: len(task.vocabulary.whole),
        SPELLED: task.parts,
    }


def conditions_of(configs: Mapping[str, TrainingConfig]) -> dict[str, str]:
    """The condition of each run: which of its sizes are not the most frequent of its task in the sweep.

    Raises:
        WhatwhereError: runs of one task differ in something else, or two have the same sizes and seed.
    """
    found: dict[str, str] = {}
    for task in dict.fromkeys(config.task.name for config in configs.values()):
        mine = {name: config for name, config in configs.items() if config.task.name == task}
        _require_equal_settings(mine)
        sizes = {name: sizes_of(config.task) for name, config in mine.items()}
        usual = {factor: Counter(one[factor] for one in sizes.values()).most_common(1)[0][0] for factor in FACTORS}
        known: dict[tuple[str, int], str] = {}
        for name, one in sizes.items():
            changes = {factor: str(size) for factor, size in one.items() if size != usual[factor]}
            found[name] = condition_text(changes)
            other = known.setdefault((found[name], mine[name].seed), name)
            if other != name:
                raise WhatwhereError(
                    f"expected one run for each condition and seed, got {other} and {name}, which share "
                    f"{found[name]!r} and seed {mine[name].seed}; leave one out of the sweep."
                )
    return found


def _require_equal_settings(configs: Mapping[str, TrainingConfig]) -> None:
    (first, usual), *others = (
        (name, {key: value for key, value in flat(config.decisive()).items() if key not in _NOT_COMPARED})
        for name, config in configs.items()
    )
    for name, mine in others:
        differing = [key for key in {**usual, **mine} if mine.get(key) != usual.get(key)]
        if differing:
            key = differing[0]
            raise WhatwhereError(
                f"expected runs of a task that differ in sizes and seed alone, got {first} with {key} "
                f"{usual.get(key)!r} and {name} with {mine.get(key)!r}; sweep that setting apart."
            )
