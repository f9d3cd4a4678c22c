"""The error for mistakes that a user can make and fix.

A message says what was expected, what was given and what to do. The command line prints it and ends with exit code 2;
any other exception is a defect of ours and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class WhatwhereError(ValueError):
    """A user's mistake, or a state of the machine that the user can fix (a full disk, a damaged file)."""


class WhatwhereWarning(UserWarning):
    """Something is wrong, but the program can continue; the command line prints it as a note."""


class MissingExtraError(WhatwhereError):
    """An optional dependency is not installed.

    Args:
        package: the module that could not be imported.
        extra: the extra of this package that brings it.
        purpose: what it is needed for, as the end of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{package} is needed {purpose}, and it is not installed. Install it with: pip install 'whatwhere[{extra}]'"
        )


def check_least(record: object, **least: int) -> None:
    """Raises an error if a field of a record is below its least value; None passes."""
    for name, value in least.items():
        found = getattr(record, name)
        if found is not None and found < value:
            raise WhatwhereError(f"expected {name} of {value} or more, got {found}; raise {name}.")


@contextmanager
def extra_for(purpose: str, package: str, extra: str) -> Iterator[None]:
    """Turns a failed import in the ``with`` block into an error that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(package, extra, purpose) from error
