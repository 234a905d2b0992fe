"""The kinds of files that outlive a run, with the formats of each that this release reads and writes."""

from __future__ import annotations

from hekat.job.any_job import JOB_FORMAT
from hekat.job.site_file import SITE_FORMAT
from hekat.job.summary_format import SUMMARY_FORMAT
from hekat.job.trained_model import MODEL_FORMAT
from hekat.job.vertical.part_file import PART_FORMAT
from hekat.state import CHECKPOINT_FORMAT

FORMATS = (JOB_FORMAT, SITE_FORMAT, CHECKPOINT_FORMAT, MODEL_FORMAT, PART_FORMAT, SUMMARY_FORMAT)
