"""Tables: what one party's rows are, where they are read from, and what is refused before training."""

from hekat.data.check import (
    check_finite,
    check_for_training,
    check_has_columns,
    check_has_ids,
    check_has_labels,
    check_has_no_labels,
    check_has_rows,
    find_constant_columns,
    has_one_class,
)
from hekat.data.columns.choose import id_column_names
from hekat.data.columns.encode import check_all_used
from hekat.data.columns.schema import arrange_columns, check_same_schema, describe_schema_difference, schema_digest
from hekat.data.columns.specs import ColumnSpec, ColumnSpecs
from hekat.data.features import Features, is_dense
from hekat.data.id_texts import IdKind
from hekat.data.ids import Ids, make_ids
from hekat.data.labels import encode_labels
from hekat.data.load import SOURCE_KINDS, load_table, load_vertical_table, named_columns
from hekat.data.load_ids import load_ids
from hekat.data.sources.csv_dialect import DECIMALS, SEPARATORS, CsvDialect
from hekat.data.sources.csv_file import load_csv
from hekat.data.sources.dataframe import FrameColumns, is_dataframe, read_dataframe, table_from_dataframe
from hekat.data.sources.excel_file import load_excel
from hekat.data.sources.libsvm_file import load_libsvm
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.npy_file import load_npy
from hekat.data.sources.npz_file import load_npz
from hekat.data.sources.parquet_file import load_parquet
from hekat.data.sources.python_source import load_python
from hekat.data.sources.sql_source import SqlSource, load_sql
from hekat.data.split import fold_rows, hold_out_rows
from hekat.data.table import Table

__all__ = [
    "DECIMALS",
    "SEPARATORS",
    "SOURCE_KINDS",
    "ColumnSpec",
    "ColumnSpecs",
    "CsvDialect",
    "Features",
    "FrameColumns",
    "IdKind",
    "Ids",
    "NamedColumns",
    "SqlSource",
    "Table",
    "arrange_columns",
    "check_all_used",
    "check_finite",
    "check_for_training",
    "check_has_columns",
    "check_has_ids",
    "check_has_labels",
    "check_has_no_labels",
    "check_has_rows",
    "check_same_schema",
    "describe_schema_difference",
    "encode_labels",
    "find_constant_columns",
    "fold_rows",
    "has_one_class",
    "hold_out_rows",
    "id_column_names",
    "is_dataframe",
    "is_dense",
    "load_csv",
    "load_excel",
    "load_ids",
    "load_libsvm",
    "load_npy",
    "load_npz",
    "load_parquet",
    "load_python",
    "load_sql",
    "load_table",
    "load_vertical_table",
    "make_ids",
    "named_columns",
    "read_dataframe",
    "schema_digest",
    "table_from_dataframe",
]
