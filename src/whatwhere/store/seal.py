"""A line that tells whether a file is as it was written, for which version, and what it belongs to.

    v1:3f0c9a5d21e87b46:9b1d...      format, owner, the first half of a SHA-256 over owner and content

A flipped bit in a number of a table cannot be seen otherwise, nor that a whole and valid table is that of another run.
A seal guards against accidents, not against people: who means a change removes the seal.
"""

from __future__ import annotations

import hashlib
import json
import re

from whatwhere.errors import WhatwhereError

FORMAT = 1
"""Of every file that is written; it grows when an older whatwhere would misread a file."""
_NOBODY = "-"


def owner(description: object) -> str:
    """A short name for what files belong to: equal descriptions (JSON) give equal names."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:16]


def make(content: bytes, owner: str = "") -> str:
    """The seal of a content."""
    name = owner or _NOBODY
    return f"v{FORMAT}:{name}:{hashlib.sha256(name.encode() + content).hexdigest()[:32]}"


def check(found: object, content: bytes, what: str, place: str, owner: str = "") -> None:
    """Refuses a content that is not what was sealed.

    Args:
        found: the seal that the file carries.
        content: what it was made over.
        what: the file, for errors.
        place: where in the file the seal is, for errors.
        owner: whose file it must be; empty if that is not known.

    Raises:
        WhatwhereError: the file is from a newer version, was changed, or belongs to something else.
    """
    parts = re.fullmatch(r"v(\d{1,9}):([0-9a-f]+|-):([0-9a-f]+)", found) if isinstance(found, str) else None
    if parts is None:
        raise WhatwhereError(f"{what} is damaged: its seal cannot be read. Restore it, or make it anew.")
    check_format(parts[1], what)
    if found != make(content, "" if parts[2] == _NOBODY else parts[2]):
        raise WhatwhereError(
            f"{what} is not as it was written: its content does not match its seal. Restore it, or make it anew; "
            f"if you changed it on purpose, remove {place}."
        )
    if owner and parts[2] not in (owner, _NOBODY):
        raise WhatwhereError(
            f"{what} belongs to another run or to other settings than the files beside it, or is another of them. Put "
            "the right one back, or remove it and make it anew."
        )


def check_format(found: str, what: str) -> None:
    """Refuses a file of a format that this version does not know.

    Raises:
        WhatwhereError: it is newer, or no number.
    """
    if not re.fullmatch(r"\d{1,9}", found) or int(found) > FORMAT:
        raise WhatwhereError(
            f"{what} has the format {found}, and this whatwhere reads formats up to {FORMAT}. It was written by a "
            "newer whatwhere: update this one."
        )
