"""Runs of jobs whose parties hold rows on one machine, whatever they train."""
