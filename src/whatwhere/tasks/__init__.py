"""What must be solved: the number and the letter task, with oracles, balanced data and a check for shortcuts."""
