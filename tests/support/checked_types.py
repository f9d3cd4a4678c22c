"""Types and shapes are checked at run time, by jaxtyping's import hook; this makes it cheap where no shape is named.

jaxtyping binds the arguments of each call to the names of axes and checks them twice. A function whose hints name no
axis is checked by beartype alone: the same hints, at a hundredth of the time. A function inside another one is made
again at each call; decorating it takes longer than most of them run, so only the outer one is checked.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from functools import wraps
from typing import Any

import jaxtyping

_jaxtyped = jaxtyping.jaxtyped


def install() -> None:
    """What the import hook decorates with; to be called before the package is imported."""
    jaxtyping.jaxtyped = lambda *, typechecker: lambda made: _checked(made, typechecker)


def _checked(made: Any, typechecker: Callable[[Any], Any]) -> Any:
    if inspect.isclass(made):
        if dataclasses.is_dataclass(made) and "__init__" in vars(made) and not hasattr(made.__init__, "__wrapped__"):
            made.__init__ = _checked(made.__init__, typechecker)
        return made
    if not inspect.isfunction(made) or inspect.isgeneratorfunction(made) or inspect.iscoroutinefunction(made):
        return _jaxtyped(made, typechecker=typechecker)
    if "<locals>" in made.__qualname__:
        return made
    hints = {name: _resolved(hint, made.__globals__) for name, hint in made.__annotations__.items()}
    if any(map(_names_axes, hints.values())):
        return _jaxtyped(made, typechecker=typechecker)
    copy = types.FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, made.__closure__)
    copy.__kwdefaults__, copy.__annotations__ = made.__kwdefaults__, hints
    copy.__module__, copy.__qualname__ = made.__module__, made.__qualname__
    return wraps(made)(typechecker(copy))


def _resolved(hint: Any, names: dict[str, Any]) -> Any:
    """A hint as an object; anything, where its names are there for the type checker alone."""
    try:
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": hint}), names, include_extras=True)[
            "it"
        ]
    except Exception:
        return Any


def _names_axes(hint: Any) -> bool:
    return (inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray)) or any(
        map(_names_axes, typing.get_args(hint))
    )
