"""Token ids and what people read: ``c`` and ``16`` in the number task, ``c2`` and ``gk`` in the letter task."""

from whatwhere.tasks.vocabulary.numbers import NumberVocabulary
from whatwhere.tasks.vocabulary.pairs import MOST_LETTERS, LetterVocabulary
from whatwhere.tasks.vocabulary.tokens import Vocabulary

__all__ = ["MOST_LETTERS", "LetterVocabulary", "NumberVocabulary", "Vocabulary"]
