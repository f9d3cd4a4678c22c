"""The page: one self-contained HTML file that shows a reproduction, to look at and to play with."""

from whatwhere.page.build import write_page

__all__ = ["write_page"]
