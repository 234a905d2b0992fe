"""Starts the roles of a job: all of them in this process, and what is compared with them there."""
