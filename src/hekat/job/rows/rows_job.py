"""Jobs whose parties hold rows with the same columns: those that sum updates of parties, and all of them."""

from __future__ import annotations

from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings

RowsJob = Job | RowTreesJob
"""Those in which parties sum updates."""
TabledJob = RowsJob | EncryptedModelJob
RowsSettings = HorizontalSettings | HorizontalTreesSettings
