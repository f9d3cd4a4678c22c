"""Inputs near valid ones, for hypothesis: documents with odd values, damaged bytes, tables, TOML."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from damage import HOSTILE, OTHER_KINDS
from hypothesis import strategies as st

ODD_WORDS = (
    "", "nan", "-inf", "1e999", "-1", "0", "00", "1.5", "9" * 30, "9" * 5000, "true", "None", "\"", "\"\"", ",", "\r",
    "\\", "\0", "\x1b[2J", "../..", "\u202e", "é" * 50, "=1+1", "1_000", "0x10", "¹",
)  # fmt: skip
_NUMBERS = (0, 1, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
_leaves = st.sampled_from(HOSTILE) | st.sampled_from(ODD_WORDS) | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
"""Anything that JSON can hold."""


@st.composite
def documents(draw: st.DrawFn, whole: Any) -> Any:
    """A document in which one to three values are changed, dropped or added."""
    made = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(made))
        if not places:
            return draw(values)
        within, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(["change", "change", "change", "drop", "add"]))
        if change == "drop":
            del within[key]
        elif change == "add" and isinstance(within, dict):
            within[draw(st.text(max_size=4))] = copy.deepcopy(draw(values))  # a later change must not reach hypothesis
        else:
            within[key] = copy.deepcopy(draw(values))
    return made


def _places(value: Any) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in pairs for place in ((value, key), *_places(item))]


def json_bytes(whole: Any) -> st.SearchStrategy[bytes]:
    """JSON of such a document, or damaged JSON."""
    text = json.dumps(whole).encode()
    return documents(whole).map(lambda made: json.dumps(made).encode()) | damaged([text])


@st.composite
def damaged(draw: st.DrawFn, wholes: Sequence[bytes]) -> bytes:
    """Bytes that were cut, flipped, overwritten, doubled, or replaced by something else."""
    content = bytearray(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        match draw(st.sampled_from(["cut", "flip", "number", "word", "repeat", "drop", "other"])):
            case "cut":
                del content[at:]
            case "flip" if at < len(content):
                content[at] ^= 1 << draw(st.integers(0, 7))
            case "number":
                number = draw(st.sampled_from(_NUMBERS))
                size = draw(st.sampled_from([4, 8]))
                content[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
            case "word":
                content[at:at] = draw(st.sampled_from(ODD_WORDS)).encode() or draw(st.binary(max_size=6))
            case "repeat":
                content[at:at] = content[max(0, at - 20) : at] * draw(st.integers(1, 3))
            case "drop":
                del content[at : at + draw(st.integers(1, 20))]
            case _:
                if draw(st.integers(0, 5)) == 0:
                    return draw(st.sampled_from(OTHER_KINDS) | st.binary(max_size=60))
    return bytes(content)


@st.composite
def tables(draw: st.DrawFn, whole: bytes) -> bytes:
    """A CSV file with odd cells or columns, or a damaged one."""
    if draw(st.integers(0, 2)) == 0:
        return draw(damaged([whole]))
    lines = [line.split(",") for line in whole.decode().splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(min(1, len(lines) - 1), len(lines) - 1))
        cell = draw(st.sampled_from(ODD_WORDS) | st.integers().map(str) | st.floats().map(str) | st.text(max_size=4))
        lines[row][draw(st.integers(0, len(lines[row]) - 1))] = cell
    if draw(st.integers(0, 4)) == 0:
        place = draw(st.integers(0, len(lines[0]) - 1))
        lines = [line[:place] + line[place + 1 :] for line in lines]
    return "\n".join(map(",".join, lines)).encode("utf-8", "replace") + b"\n"


_toml_values = st.sampled_from(
    ["1", "-1", "0", "1.5", "nan", "inf", "true", '"number"', '"letter"', '"x"', '""', "[]", "[1, 2]", "{}", "{a = 1}",
     "1979-05-27", "9" * 30, "[[1]]", '["number", "letter"]', '["*"]', '["a**b/*"]', "[nan]", "'''\n'''", "1e400",
     '["/"]', '["..", "\\u0000"]', '["~nosuch"]', '"smoke"', '"' + "x" * 400 + '"']
)  # fmt: skip


@st.composite
def toml(draw: st.DrawFn, keys: Sequence[str]) -> bytes:
    """A specification of a sweep, with keys that it knows and values that it may not."""
    key = st.sampled_from(keys) | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6)
    pairs = draw(st.lists(st.tuples(key, _toml_values), max_size=5))
    lines = ['task = "number"', 'preset = "smoke"'] if draw(st.booleans()) else []
    lines += [f"{name} = {value}" for name, value in pairs]
    if draw(st.booleans()):
        heading = draw(
            st.sampled_from(["[[grid]]", "[measure.heads]", "[measure.length]", "[measure]", "[grid]", "[x"])
        )
        lines += [
            heading,
            *(f"{name} = {value}" for name, value in draw(st.lists(st.tuples(key, _toml_values), max_size=3))),
        ]
    text = "\n".join(lines).encode()
    return draw(damaged([text])) if draw(st.integers(0, 3)) == 0 else text
