"""Speed as ratios against a peer and against a limit, each pair measured in the same run (``make bench``)."""
