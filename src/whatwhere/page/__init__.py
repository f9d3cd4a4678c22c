"""The page: one self-contained HTML file with interactive results."""

from whatwhere.page.writing import build, write_page

__all__ = ["build", "write_page"]
