"""Types and shapes are checked at run time, by jaxtyping's import hook; this makes it cheap where no shape is named.

jaxtyping's own decorator binds and checks the arguments of each call twice, for the sake of its messages. Here beartype
checks them once, and the result; where hints name axes, in a context of jaxtyping, in which one name has one length. A
function inside another one is made again at each call; decorating it takes longer than most of them run, so only the
outer one is checked. The check of a function is made when it is first called: a worker calls some of them, and imports
all.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import jaxtyping

_jaxtyped = jaxtyping.jaxtyped
_unchecked = False


def install() -> None:
    """What the import hook decorates with; to be called before the package is imported."""
    jaxtyping.jaxtyped = lambda *, typechecker: lambda made: _checked(made, typechecker)


def _axes() -> Any:
    """The context in which lengths are bound to the names of axes: a new one at each entry, of one object."""
    # jaxtyping hides itself in JAX's tracebacks, and loads all of JAX to do so: seconds, and its threads.
    sys.modules.setdefault("jax", None)  # pyright: ignore[reportArgumentType]
    try:
        return _jaxtyped("context")
    finally:
        if sys.modules["jax"] is None:
            del sys.modules["jax"]


_AXES = _axes()


@contextmanager
def unchecked() -> Iterator[None]:
    """Calls are not checked here, as at a user's: what the package itself says of a wrong argument can be tested."""
    global _unchecked
    _unchecked = True
    try:
        yield
    finally:
        _unchecked = False


def _checked(made: Any, typechecker: Callable[[Any], Any]) -> Any:
    if inspect.isclass(made):
        if dataclasses.is_dataclass(made) and "__init__" in vars(made) and not hasattr(made.__init__, "__wrapped__"):
            made.__init__ = _checked(made.__init__, typechecker)
        return made
    if not inspect.isfunction(made) or inspect.isgeneratorfunction(made) or inspect.iscoroutinefunction(made):
        return _jaxtyped(made, typechecker=typechecker)
    if "<locals>" in made.__qualname__:
        return made
    checking, axes = None, False

    @wraps(made)
    def checked(*arguments: Any, **named: Any) -> Any:
        nonlocal checking, axes
        if _unchecked:
            return made(*arguments, **named)
        if checking is None:
            checking, axes = _with_checks(made, typechecker)
        if not axes:
            return checking(*arguments, **named)
        with _AXES:
            return checking(*arguments, **named)

    return checked


def _with_checks(made: types.FunctionType, typechecker: Callable[[Any], Any]) -> tuple[Callable[..., Any], bool]:
    """A function that is checked, and whether its hints name axes."""
    hints = {name: _resolved(hint, made.__globals__) for name, hint in made.__annotations__.items()}
    copy = types.FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, made.__closure__)
    copy.__kwdefaults__, copy.__annotations__ = made.__kwdefaults__, hints
    copy.__module__, copy.__qualname__ = made.__module__, made.__qualname__
    return typechecker(copy), any(map(_names_axes, hints.values()))


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
