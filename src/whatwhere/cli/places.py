"""Places that a user names: a path, or an address in object storage, which a local directory stands for."""

from __future__ import annotations

from pathlib import Path

from whatwhere.cli.console import note
from whatwhere.errors import WhatwhereError


def name_of_place(text: str) -> str:
    """A path with its ``~`` resolved, or an address as it is.

    Raises:
        WhatwhereError: it is empty or names an unknown user.
    """
    if not text or "\0" in text:
        raise WhatwhereError("expected a directory, got an empty name.")
    try:
        return str(Path(text).expanduser()) if text.startswith("~") else text
    except RuntimeError as error:
        raise WhatwhereError(f"expected a directory, got {text!r:.80}: {error}") from error


def place(text: str) -> Path:
    """The local path of a place; ``s3://bucket/prefix`` is fetched first.

    Raises:
        WhatwhereError: it is empty, names an unknown user, or the address cannot be reached.
    """
    from whatwhere.store.addresses import local

    return Path(local(name_of_place(text), note))
