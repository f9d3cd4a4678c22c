"""What inspect-ai finds by name: the tasks and the offline solvers."""
