"""A job whose parties hold rows with the same columns, whatever it trains."""

from __future__ import annotations

from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings

RowsJob = Job | RowTreesJob
RowsSettings = HorizontalSettings | HorizontalTreesSettings
