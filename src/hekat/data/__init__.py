"""Tables: what one party's rows are, where they are read from, and what is refused before training."""

from hekat.data.check import check_finite, check_for_training, check_has_rows
from hekat.data.csv_file import load_csv
from hekat.data.labels import encode_labels
from hekat.data.load import SOURCE_KINDS, load_table
from hekat.data.npz_file import load_npz
from hekat.data.python_source import load_python
from hekat.data.schema import check_same_schema, describe_schema_difference, schema_digest
from hekat.data.split import split_rows
from hekat.data.table import Table

__all__ = [
    "SOURCE_KINDS",
    "Table",
    "check_finite",
    "check_for_training",
    "check_has_rows",
    "check_same_schema",
    "describe_schema_difference",
    "encode_labels",
    "load_csv",
    "load_npz",
    "load_python",
    "load_table",
    "schema_digest",
    "split_rows",
]
