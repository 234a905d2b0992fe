"""What the rows of a source show of its columns, for whoever writes a job about them.

There is no job yet: profiles read sources cell by cell, however these are written, and keep what is no number. The
findings of `data/columns/findings.py` are of tables that were read as a job says, and tell only what it lacks.
"""
