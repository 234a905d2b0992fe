"""Files that outlast a process: checkpoints, models, durable counters, run folders and their event logs."""

from hekat.atomic_file import replace_file
from hekat.state.checkpoint import (
    CHECKPOINT_FORMAT,
    Checkpoint,
    load_checkpoint,
    read_checkpoint,
    refuse_checkpoint,
    save_checkpoint,
)
from hekat.state.counter import Counter
from hekat.state.event_log import EventLog
from hekat.state.model_file import load_model, save_model
from hekat.state.run_directory import (
    RunDirectory,
    create_named_run_directory,
    create_run_directory,
    cure_of_parent,
    is_run_id,
    new_run_id,
)

__all__ = [
    "CHECKPOINT_FORMAT",
    "Checkpoint",
    "Counter",
    "EventLog",
    "RunDirectory",
    "create_named_run_directory",
    "create_run_directory",
    "cure_of_parent",
    "is_run_id",
    "load_checkpoint",
    "load_model",
    "new_run_id",
    "read_checkpoint",
    "refuse_checkpoint",
    "replace_file",
    "save_checkpoint",
    "save_model",
]
