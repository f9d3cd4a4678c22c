"""``python -m whatwhere`` is the ``whatwhere`` command."""

from whatwhere.cli import main

main()
