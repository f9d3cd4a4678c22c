"""The page: one self-contained HTML file that shows results, to look at and to play with."""

from whatwhere.page.writing import build, write_page

__all__ = ["build", "write_page"]
