"""The page: one self-contained HTML file that shows a reproduction (``whatwhere.report.page.write_page``)."""
