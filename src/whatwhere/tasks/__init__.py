"""The number, letter and both tasks, with oracles, balanced data and a check for shortcuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.both import BothTask
from whatwhere.tasks.letter import LetterTask
from whatwhere.tasks.number import NumberTask
from whatwhere.tasks.task import Task

__all__ = ["TASKS", "BothTask", "LetterTask", "NumberTask", "Task", "make_task", "task_from_dict"]

AnyTask = NumberTask | LetterTask | BothTask
TASKS: dict[str, type[AnyTask]] = {kind.name: kind for kind in (NumberTask, LetterTask, BothTask)}


def make_task(name: str, **parameters: Any) -> AnyTask:
    """A task by name (``number``, ``letter`` or ``both``); parameters default to the paper's.

    Raises:
        WhatwhereError: there is no such task or parameter, or a value has the wrong type or is not allowed.
    """
    if name not in TASKS:
        raise WhatwhereError(f"expected a task of {', '.join(TASKS)}, got {name!r}.")
    known = {field.name: type(field.default) for field in fields(TASKS[name])}
    for key, value in parameters.items():
        if key not in known:
            raise WhatwhereError(f"expected parameters of the {name} task ({', '.join(known)}), got {key!r}.")
        if type(value) is not known[key]:
            raise WhatwhereError(f"expected {key} of the {name} task as {known[key].__name__}, got {value!r}.")
    return TASKS[name](**parameters)


def task_from_dict(description: object) -> AnyTask:
    """The task that :meth:`Task.to_dict` described."""
    if not isinstance(description, Mapping):
        raise WhatwhereError(f"expected a task as its name and parameters, got {description!r:.80}.")
    parameters = {str(name): value for name, value in description.items()}
    return make_task(str(parameters.pop("name", None)), **parameters)
