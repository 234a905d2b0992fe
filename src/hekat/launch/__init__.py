"""Starts the roles of a job and carries their bytes: all in this process, or each in a process of its own."""
