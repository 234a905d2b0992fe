"""The kinds of files that another process or release reads, with the formats of each that this one reads and writes."""

from __future__ import annotations

from hekat.job.job_head import JOB_FORMAT
from hekat.job.site_file import SITE_FORMAT
from hekat.run.encrypted_model.kept_part import KEPT_FORMAT
from hekat.run.horizontal.trained_model import MODEL_FORMAT
from hekat.run.horizontal_trees.state_file import TREES_CHECKPOINT_FORMAT
from hekat.run.horizontal_trees.trained_trees import TREE_MODEL_FORMAT
from hekat.run.vertical_linear.part_file import PART_FORMAT
from hekat.run.vertical_network.part_file import NETWORK_FORMAT
from hekat.run.vertical_trees.part_file import TREES_FORMAT
from hekat.state import CHECKPOINT_FORMAT
from hekat.summary.result_file import RESULT_FORMAT
from hekat.summary.summary_format import SUMMARY_FORMAT

FORMATS = (
    JOB_FORMAT,
    SITE_FORMAT,
    CHECKPOINT_FORMAT,
    MODEL_FORMAT,
    PART_FORMAT,
    TREES_FORMAT,
    NETWORK_FORMAT,
    KEPT_FORMAT,
    TREES_CHECKPOINT_FORMAT,
    TREE_MODEL_FORMAT,
    RESULT_FORMAT,
    SUMMARY_FORMAT,
)
