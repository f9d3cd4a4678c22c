"""The page of a head map: every head of a language model on a text, to look through."""

from whatwhere.studies.language_models.page.build import write_heads_page

__all__ = ["write_heads_page"]
