"""From a model's reply to its answer: strictly as in the paper, and leniently.

*Strict* is the paper's rule as far as it is given: the trimmed reply is compared exactly, with case.
*Lenient* also reads an answer that is wrapped (quotes, a full stop, other case), that is alone on the first line with
an explanation after it, or that the reply states as its conclusion, if all of these name one token. Neither guesses: a
reply that names none, or several, is *no answer*, which is counted separately from a *wrong* one.

Special cases:

- A truncated reply is no answer: its first letters may be the start of a sentence.
- A refusal, an empty reply, or a reply that only restates the question is no answer.
- A letter in prose ("a", "I") is an English word; in the number task it counts if it is quoted or concludes a phrase.
- A longer reply that negates or corrects anything ("not k7", "wait, no") is no answer, because it is ambiguous.
- A well-formed token that does not occur in the sequence is an answer, and wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

TOKENS = {
    "one_hop_number": "[a-z]",
    "one_hop_letter": "[a-z][1-9]",
    "multi_hop_number": "[a-z]{1,2}",
    "multi_hop_letter": "[a-z][1-9]",
}
"""The pattern of an answer in each task."""

_WRAPPING = " \t\r\n\"'`*_.,:;!()[]{}<>\u201c\u201d\u2018\u2019\xab\xbb"
_OPEN, _CLOSE = "[\"'`*(\\[\u201c\u2018]", "[\"'`*)\\]\u201d\u2019]"
_STATES = r"\b(?:output|answer|target|result|token)\s*(?:is|=|:|->)+"
_WITHDRAWS = re.compile(
    r"\b(?:not?|never|cannot|wait|actually|wrong|mistake|correction|\w+n['\u2019]t)\b", re.IGNORECASE
)


class Verdict(StrEnum):
    """The outcome of one question."""

    RIGHT = "right"
    WRONG = "wrong"
    NO_ANSWER = "no answer"


@dataclass(frozen=True)
class ReadAnswer:
    """The answers read from a reply; None for no answer."""

    strict: str | None
    lenient: str | None

    def verdicts(self, answer: str) -> tuple[Verdict, Verdict]:
        """The strict and the lenient verdict, given the right answer."""
        verdict = {answer: Verdict.RIGHT, None: Verdict.NO_ANSWER}
        return verdict.get(self.strict, Verdict.WRONG), verdict.get(self.lenient, Verdict.WRONG)


def read_answer(task: str, reply: str, *, truncated: bool = False) -> ReadAnswer:
    """Reads the answer of one reply to a task of :data:`TOKENS`, without any separate reasoning.

    ``truncated`` tells that the model was cut off (a token limit, a filter) before it ended.
    """
    if truncated:
        return ReadAnswer(None, None)
    trimmed = reply.strip()
    if re.fullmatch(TOKENS[task], trimmed):
        return ReadAnswer(trimmed, trimmed)
    return ReadAnswer(None, _lenient(TOKENS[task], trimmed))


def _lenient(token: str, reply: str) -> str | None:
    """The one token that a longer reply gives as its answer."""
    first, *explanation = reply.splitlines() or [""]
    alone = first.strip(_WRAPPING)
    named = {alone.lower()} if re.fullmatch(token, alone, re.IGNORECASE) else set()
    if explanation or not named:
        if _WITHDRAWS.search(reply):
            return None
        # A bare token ends its phrase ("the answer is a." but not "the answer is a letter"); a quoted one may continue.
        ends = rf"(?:{_CLOSE}|\s*[.,;!]|\s*$)"
        stated = rf"{_STATES}\s*{_OPEN}*({token}){ends}"
        quoted_last = rf"{_OPEN}({token}){_CLOSE}[{re.escape(_WRAPPING)}]*\Z"
        for pattern in (stated, quoted_last):
            named |= {match.lower() for match in re.findall(pattern, reply, re.IGNORECASE | re.MULTILINE)}
    return named.pop() if len(named) == 1 else None


def is_single_token(reply: str) -> bool:
    """Whether a reply is one word, as the prompts ask; a chain of thought is not (the paper's second criterion)."""
    return len(reply.split()) == 1
