"""Conditions by what they change: a run against the preset ``short`` of its task, setting by setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whatwhere.studies.atlas.tables import Item
from whatwhere.tasks import make_task
from whatwhere.training.config import TrainingConfig
from whatwhere.training.presets import preset

BASE = "base"
RECIPE = "short"
AUTHORS = "paper"
OTHER_RECIPE = "recipe"
"""The factor of runs by another recipe: they are on the map, and answer no question."""
DATA = "data"
_NAMES = {"generator": DATA, "distractors": DATA, "peak": "rate"}
"""Settings with another name here."""
_RATIOS = ("rate", "steps")
"""Given as a multiple of the preset's, so that both tasks have the same conditions."""
_NOT_FACTORS = ("seed", "preset", "name", "validation", "spacing")
"""The last two affect only when a run is evaluated, not its weights."""


def condition_of(config: TrainingConfig) -> str:
    """What differs from the preset, as ``decoy, rate x2``; ``base`` if only the seed may differ."""
    mine, usual = (flat(one.decisive()) for one in (config, preset(config.preset, make_task(config.task.name))))
    found = {} if config.preset == RECIPE else {OTHER_RECIPE: config.preset}
    for name, value in mine.items():
        if name not in _NOT_FACTORS and value != usual.get(name):
            factor = _NAMES.get(name, name.replace("_", " "))
            ratio, suffix = factor in _RATIOS, "-integers" * (name == "distractors")
            found[factor] = f"x{value / usual[name]:g}" if ratio else _level(value) + suffix
    return condition_text(found)


def condition_text(changes: Mapping[str, str]) -> str:
    """The name of a condition, data first."""
    order = sorted(changes, key=lambda factor: (factor != DATA, factor))
    return ", ".join(changes[name] if name == DATA else f"{name} {changes[name]}" for name in order) or BASE


def changes_of(condition: str) -> dict[str, str]:
    """The factors that a condition changes, with their levels; the inverse of :func:`condition_text`."""
    parts = [] if condition == BASE else condition.split(", ")
    split = (part.rpartition(" ") for part in parts)
    return {factor or DATA: level for factor, _, level in split}


def without(condition: str, factor: str) -> str:
    """The same condition with one factor as it is in the preset."""
    return condition_text({name: level for name, level in changes_of(condition).items() if name != factor})


def item_of(name: str, config: TrainingConfig, learned: bool) -> Item:
    """The row of a run."""
    data = str(getattr(config.task, "generator", None) or getattr(config.task, "distractors", ""))
    return Item(
        name, config.task.name, config.seed, condition_of(config), data, config.schedule.peak, config.schedule.steps,
        config.model.attention_dropout, config.model.heads, config.model.layers, config.weight_decay, learned,
    )  # fmt: skip


def flat(content: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a run by their own names; no two parts of a configuration share one."""
    found: dict[str, Any] = {}
    for name, value in content.items():
        found |= flat(value) if isinstance(value, Mapping) else {name: value}
    return found


def _level(value: object) -> str:
    """A value without commas and spaces, which separate conditions."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace(", ", "+").replace(" ", "-")
