"""The prompts, read from ``prompts.toml``: the paper's for one hop, ours for several."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from whatwhere.errors import WhatwhereError

_INPUT = re.compile(r'Input: "([^"]*)"')


@cache
def _stored() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("whatwhere.studies.chat").joinpath("prompts.toml").read_text(encoding="utf-8"))


def prompt(kind: str, task: str, sequence: str) -> str:
    """The prompt for one sequence.

    Args:
        kind: ``one_hop`` (the paper's words) or ``multi_hop`` (ours).
        task: ``number`` or ``letter``.
        sequence: tokens with spaces between them; the query is the last.
    """
    return _stored()[kind][task].replace("{sequence}", sequence)


def sequences_in(text: str) -> list[str]:
    """Every sequence that a prompt gives as input, in order; the last is the one that is asked for."""
    return _INPUT.findall(text)


def asked_sequence(text: str) -> str:
    """The sequence that a prompt asks about, for models that read sequences and no prose.

    Raises:
        WhatwhereError: there is none.
    """
    found = sequences_in(text)
    if not found:
        raise WhatwhereError(f'a prompt with a line such as Input: "a b 2" was expected, and {text[:80]!r} arrived.')
    return found[-1]
